import { Fold } from '../../codecs/fold.js'
import type { StreamDecoder } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { TextEvent } from '../../core/text.js'
import { usageOf } from '../../translate/text.js'
import type { TextTranslator } from '../../translate/translator.js'
import type { Frames } from '../relay/frames.js'
import { type Relay, type Source, STEP_BYTES } from '../relay/relay.js'
import { type ClientStream, conditionOf } from './client-stream.js'
import { sendDocument } from './document.js'
import { mapUpstreamError } from './map-upstream-error.js'
import { StreamMemory } from './stream-memory.js'

/**
 * Sends an upstream's stream in the client's protocol as it arrives; or assembles it, if the client asked for
 * a whole answer and the upstream only sends streams.
 */
export class TranslatedStream implements Relay {
  readonly step = STEP_BYTES
  readonly #attempt: Source
  readonly #frames: Frames
  readonly #decoder: StreamDecoder
  readonly #out: ClientStream | Sum
  readonly #memory: StreamMemory

  constructor(
    attempt: Source,
    translator: TextTranslator,
    frames: Frames,
    out: ClientStream | undefined,
    headers: string[],
  ) {
    this.#attempt = attempt
    this.#frames = frames
    this.#decoder = translator.decoder()
    this.#out = out ?? new Sum(attempt, translator, headers)
    this.#memory = new StreamMemory(attempt.call.answerMemory, out === undefined || translator.repeats)
  }

  data(chunk: Buffer): void {
    const out = this.#out
    if (out.over) {
      this.#attempt.call.tally.trailing += chunk.length
      return
    }
    this.guarded(() => {
      const { isDraining } = this.#attempt
      if (!isDraining) this.#memory.chunk(chunk.length)
      for (const frame of this.#frames.push(chunk)) {
        for (const event of this.#decoder.push(frame)) {
          if (!isDraining) this.#memory.event(event)
          out.event(event)
        }
        if (out.over) break
      }
      if (!out.over && !isDraining) this.reserve()
    })
    out.flush()
  }

  /** Pauses the upstream while there is no memory for the collected answer. */
  private reserve(): void {
    const room = this.#memory.reserve()
    if (room === undefined) return
    this.#attempt.pause()
    room.then(this.#attempt.resume, (cause: unknown) => {
      this.guarded(() => {
        throw cause
      })
      this.#out.flush()
      this.#attempt.resume()
    })
  }

  end(): void {
    const out = this.#out
    if (out.over) return
    this.guarded(() => {
      const rest = this.#frames.end()
      if (rest === 'cut') this.report(truncated('fin'))
      else for (const frame of rest) for (const event of this.#decoder.push(frame)) out.event(event)
      for (const event of this.#decoder.end()) out.event(event)
    })
    out.flush()
  }

  broken(error: GatewayError): boolean {
    const out = this.#out
    if (!this.#attempt.call.begun) return false
    if (out.over) return true
    const isOurs = error.code === 'upstream_timeout' || error.code === 'unavailable'
    this.report(isOurs ? error : truncated(error.details.phase ?? 'reset', error.details.cause))
    out.flush()
    return true
  }

  settle(): void {}

  private report(error: GatewayError): void {
    this.#out.event({ type: 'error', error })
  }

  /** An upstream can send anything: its fault, or one of this code, ends this stream only. */
  private guarded(step: () => void): void {
    try {
      step()
    } catch (cause) {
      this.report(
        cause instanceof GatewayError ? cause : new GatewayError('internal', 'The gateway failed.', { cause }),
      )
    }
  }
}

/** Assembles events into one answer. */
class Sum {
  readonly #attempt: Source
  readonly #translator: TextTranslator
  readonly #headers: string[]
  readonly #fold = new Fold()
  #state: 'open' | 'whole' | 'failed' | 'over' = 'open'
  #error: GatewayError | undefined

  constructor(attempt: Source, translator: TextTranslator, headers: string[]) {
    this.#attempt = attempt
    this.#translator = translator
    this.#headers = headers
  }

  get over(): boolean {
    return this.#state !== 'open'
  }

  event(event: TextEvent): void {
    if (this.#state !== 'open') return
    if (event.type === 'error') {
      this.#error = event.error
      this.#state = 'failed'
      return
    }
    if (event.type !== 'ping') this.#attempt.content()
    if (event.type === 'start' || event.type === 'finish') {
      this.#attempt.usage = usageOf(event.usage) ?? this.#attempt.usage
    }
    if (!this.#attempt.isDraining) this.#fold.push(event)
    if (event.type === 'finish') this.#state = 'whole'
  }

  flush(): void {
    if (this.#state === 'failed' && this.#error !== undefined) {
      this.#state = 'over'
      const { call } = this.#attempt
      // Another target would have no more memory.
      if (this.#error.code === 'unavailable' && this.#error.details.limit === 'memory') call.fail(this.#error)
      else this.#attempt.failed(conditionOf(this.#error), mapUpstreamError(this.#error, this.#attempt, this.#headers))
    } else if (this.#state === 'whole') {
      this.#state = 'over'
      if (this.#attempt.isDraining) {
        this.#attempt.complete(false)
        return
      }
      const shown = this.#translator.show(this.#fold.result())
      sendDocument(this.#attempt, this.#translator, shown, this.#headers, 0).catch((cause: unknown) =>
        this.#attempt.call.fail(cause),
      )
    }
  }
}

function truncated(phase: string, cause?: unknown): GatewayError {
  return new GatewayError('upstream_truncated', "The upstream's answer ended early.", {
    phase,
    cause,
  })
}
