import type { Frame, StreamEncoder } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { Framing } from '../../core/route-settings.js'
import type { TextEvent } from '../../core/text.js'
import type { OverflowFile } from '../../stores/overflow.js'
import { SealGatherer } from '../../translate/seals.js'
import { usageOf } from '../../translate/text.js'
import type { TextTranslator } from '../../translate/translator.js'
import { contentType, FrameWriter } from '../../wire/framing.js'
import type { Call } from '../call.js'
import type { Source } from '../relay/relay.js'
import { slot } from '../slot.js'
import { hooksOf } from './hooks.js'
import { mapUpstreamError } from './map-upstream-error.js'

/** Text of a translated stream that waits for its end. */
const OVERFLOW = slot<OverflowFile>('text of a stream')

/** One for all attempts of a call; released when the call ends. */
function overflowOf(call: Call): OverflowFile {
  const known = call.get(OVERFLOW)
  if (known !== undefined) return known
  const overflow = call.kernel.spooler.overflow(call.key)
  call.set(OVERFLOW, overflow)
  call.cancellation.add({ cancel: () => overflow.close() })
  return overflow
}

/**
 * The client's side of a translated stream: takes canonical events and sends frames of the client's protocol, those
 * of one chunk of the upstream's stream in one write. Ends once: with the protocol's last frame, or with its error.
 */
export class ClientStream {
  readonly #attempt: Source
  readonly #translator: TextTranslator
  readonly #encoder: StreamEncoder
  readonly #framing: Framing
  readonly #headers: string[]
  readonly #out: FrameWriter
  #state: 'open' | 'finishing' | 'breaking' | 'over' = 'open'
  #error: GatewayError | undefined
  /** The last event, if it is sent later. */
  #last: Promise<Frame> | undefined
  /** Set if the client's protocol cannot send seals back. */
  readonly #seals: SealGatherer | undefined

  constructor(attempt: Source, translator: TextTranslator, framing: Framing, headers: string[]) {
    this.#attempt = attempt
    this.#translator = translator
    const { call } = attempt
    const overflow = overflowOf(call)
    this.#encoder = translator.encoder(overflow)
    this.#framing = framing
    this.#out = new FrameWriter(framing)
    this.#headers = headers
    this.#seals = translator.server.server.returnsSeals ? undefined : new SealGatherer(overflow)
  }

  get over(): boolean {
    return this.#state !== 'open'
  }

  /** Frames are collected until {@link flush}. */
  event(event: TextEvent): void {
    if (this.#state !== 'open') return
    const { call, isDraining } = this.#attempt
    switch (event.type) {
      case 'error':
        this.#error = mapUpstreamError(event.error, this.#attempt, call.begun ? [] : this.#headers)
        this.#state = 'breaking'
        // The stream begins with an error: nothing was sent, so another target may succeed.
        if (!call.begun && this.#out.isEmpty) return
        break
      case 'finish':
        this.#attempt.usage = usageOf(event.usage) ?? this.#attempt.usage
        this.#state = 'finishing'
        break
      case 'start':
        this.#attempt.usage = usageOf(event.usage)
        break
      case 'ping':
        break
      default:
        if (!isDraining) call.tally.events++
        this.#attempt.content()
    }
    if (isDraining) return
    this.#seals?.event(event)
    const shown: TextEvent =
      event.type === 'error' && this.#error !== undefined ? { ...event, error: this.#error } : event
    for (const frame of this.#encoder.push(shown)) {
      const last = event.type === 'finish' ? hooksOf(call).onLastEvent?.(frame) : undefined
      if (last === undefined) this.add(frame)
      else this.#last = last
    }
  }

  /** Sends the collected bytes, and ends the answer if it is complete. */
  flush(): void {
    const { call } = this.#attempt
    if (this.#state === 'over') return
    if (this.#state === 'breaking' && !call.begun && this.#out.isEmpty) {
      this.#state = 'over'
      this.#attempt.failed(
        conditionOf(this.#error),
        this.#error ?? new GatewayError('upstream_failed', 'The upstream failed.'),
      )
      return
    }
    if (this.#attempt.isDraining) {
      this.endDrain()
      return
    }
    if (this.#last !== undefined) {
      if (!this.#out.isEmpty) this.send()
      this.finishAfter(this.#last.then(frame => this.add(frame)))
      return
    }
    // Before the end is sent: the next turn may follow at once.
    if (this.#state === 'finishing' && this.#seals?.isSealed === true) {
      this.finishAfter(this.#seals.remember(call.kernel.sealMemory, call.caller?.name))
      return
    }
    if (this.#state !== 'open') this.#out.close()
    if (!this.#out.isEmpty) this.send()
    if (this.#state === 'finishing') {
      this.#attempt.complete(false)
      call.end()
    } else if (this.#state === 'breaking' && this.#error !== undefined) {
      this.#attempt.brokeOff(this.#error)
      call.end()
    } else return
    this.#state = 'over'
  }

  private endDrain(): void {
    if (this.#state === 'open') return
    if (this.#state === 'breaking' && this.#error !== undefined) this.#attempt.brokeOff(this.#error)
    else this.#attempt.complete(false)
    this.#state = 'over'
  }

  /** Sends the end after `done`. */
  private finishAfter(done: Promise<void>): void {
    const { call } = this.#attempt
    this.#state = 'over'
    const finish = (): void => {
      this.#out.close()
      this.send()
      this.#attempt.complete(false)
      call.end()
    }
    done.then(finish).catch((cause: unknown) => call.fail(cause))
  }

  private add(frame: Frame): void {
    this.#out.add(frame)
  }

  private send(): void {
    const { call } = this.#attempt
    if (!call.begun) {
      const lines = ['content-type', contentType(this.#framing), 'cache-control', 'no-cache']
      call.begin(200, [...this.#headers, ...lines, ...this.#translator.losses.headers()])
    }
    this.#attempt.write(this.#out.take())
  }
}

/** The retry condition of a stream that failed before it had content. */
export function conditionOf(error: GatewayError | undefined): 'bad_response' | number {
  switch (error?.code) {
    case 'bad_upstream_response':
    case 'upstream_truncated':
      return 'bad_response'
    case 'rate_limited':
      return 429
    case 'upstream_rejected':
      return error.status
    default:
      return 500
  }
}
