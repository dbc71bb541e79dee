import type { Frame } from '../../core/codec.js'
import { errorBody } from '../../core/error-bodies.js'
import { GatewayError } from '../../core/errors.js'
import { isObject, parseJson } from '../../core/json.js'
import type { Framing } from '../../core/route-settings.js'
import { isException } from '../../wire/eventstream-frame.js'
import { contentType, FrameWriter } from '../../wire/framing.js'
import { EventRelay } from './events.js'
import type { Frames } from './frames.js'
import { type Relay, type Source, STEP_BYTES } from './relay.js'

/** Relays events that the upstream wraps into binary messages: from here on they are an event stream. */
export class UnwrappedRelay implements Relay {
  readonly step = STEP_BYTES
  readonly #attempt: Source
  readonly #frames: Frames
  readonly #out: FrameWriter
  readonly #events: EventRelay
  #isOver = false

  constructor(attempt: Source, status: number, headers: string[], frames: Frames, framing: Framing) {
    this.#attempt = attempt
    this.#frames = frames
    this.#out = new FrameWriter(framing)
    const kept: string[] = ['content-type', contentType(framing)]
    for (let i = 0; i + 1 < headers.length; i += 2) {
      if (headers[i] !== 'content-type') kept.push(headers[i] ?? '', headers[i + 1] ?? '')
    }
    this.#events = new EventRelay(attempt, status, kept)
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return
    this.#guarded(() => {
      for (const frame of this.#frames.push(chunk))
        this.#out.add(isException(frame.event) ? this.#asError(frame) : frame)
      if (!this.#out.isEmpty) this.#events.data(this.#out.take())
    })
  }

  end(): void {
    if (this.#isOver) return
    this.#guarded(() => {
      if (this.#frames.end() === 'cut') {
        throw new GatewayError('upstream_truncated', "The upstream's answer ended early.", { phase: 'fin' })
      }
      this.#events.end()
    })
  }

  broken(error: GatewayError): boolean {
    return this.#events.broken(error)
  }

  settle(): void {
    this.#events.settle()
  }

  /** An exception does not belong to the protocol inside: its words come as an error of the client's family. */
  #asError({ event = '', data }: Frame): Frame {
    const said = parseJson(data)
    const words = isObject(said) && typeof said.message === 'string' ? said.message : 'The upstream failed.'
    const error = new GatewayError(event.startsWith('throttling') ? 'rate_limited' : 'upstream_failed', words)
    const { route, call } = this.#attempt
    return { event: 'error', data: JSON.stringify(errorBody(error, route.errors, call.id)) }
  }

  /** A malformed message ends the stream with an error event, or the attempt if nothing was sent. */
  #guarded(step: () => void): void {
    try {
      step()
    } catch (cause) {
      this.#isOver = true
      const error =
        cause instanceof GatewayError ? cause : new GatewayError('internal', 'The gateway failed.', { cause })
      if (!this.#events.broken(error)) this.#attempt.failed('bad_response', error)
    }
  }
}
