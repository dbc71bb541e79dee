import type { Frame } from '../../core/codec.js'
import { errorBody, exceptionName } from '../../core/error-bodies.js'
import { GatewayError } from '../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { UsagePaths } from '../../core/plan.js'
import type { Framing } from '../../core/route-settings.js'
import { type EndMembers, endMembers } from '../../wire/end-members.js'
import { isException } from '../../wire/eventstream-frame.js'
import { contentType, FrameWriter } from '../../wire/framing.js'
import { type Numbers, usagePlaces } from '../../wire/usage.js'
import { upstreamMessage } from '../upstream-words.js'
import type { Frames } from './frames.js'
import { type Relay, type Source, STEP_BYTES } from './relay.js'
import { containsSecret } from './secrets.js'

/**
 * Relays a stream whose messages are unchanged but framed differently: the client asked for one document per line,
 * and the upstream sends events, or the other way round.
 */
export class ReframeRelay implements Relay {
  readonly step = STEP_BYTES
  readonly #attempt: Source
  readonly #status: number
  readonly #headers: string[]
  readonly #frames: Frames
  readonly #framing: Framing
  readonly #out: FrameWriter
  /** The stream is incomplete without one of these; undefined once one was read. */
  #members: EndMembers | undefined
  #events: readonly string[] | undefined
  #first = true
  #done = false
  /** The last reported value of each count. */
  #numbers: Numbers = []

  constructor(attempt: Source, status: number, headers: string[], frames: Frames, framing: Framing) {
    this.#attempt = attempt
    this.#status = status
    this.#headers = headers
    this.#frames = frames
    this.#framing = framing
    this.#out = new FrameWriter(framing)
    const { events = [] } = attempt.route.protocol?.end ?? {}
    this.#events = events.length === 0 ? undefined : events
    this.#members = endMembers(attempt.route.protocol?.end)
  }

  data(chunk: Buffer): void {
    if (this.#done) return
    this.guarded(() => this.pass(this.#frames.push(chunk)))
  }

  end(): void {
    this.guarded(() => this.finish())
  }

  private finish(): void {
    if (this.#done) return
    const rest = this.#frames.end()
    if (rest === 'cut') {
      this.fail(truncated('fin'))
      return
    }
    this.pass(rest)
    if (this.#done) return
    if (this.#first) {
      const message = 'The upstream ended its stream without an event.'
      this.fail(new GatewayError('bad_upstream_response', message, { phase: 'fin' }))
      return
    }
    if (this.#members !== undefined || this.#events !== undefined) {
      this.fail(truncated('fin'))
      return
    }
    this.complete(true)
  }

  private complete(upstreamEnded: boolean): void {
    this.settle()
    this.#done = true
    this.#attempt.complete(upstreamEnded)
    this.#out.close()
    this.#attempt.call.end(this.#out.take())
  }

  broken(error: GatewayError): boolean {
    if (!this.#attempt.call.begun) return false
    const isOurs = error.code === 'upstream_timeout' || error.code === 'unavailable'
    if (!this.#done) this.fail(isOurs ? error : truncated(error.details.phase ?? 'reset', error.details.cause))
    return true
  }

  settle(): void {
    const paths = this.#attempt.route.protocol?.usage
    if (paths !== undefined) this.#attempt.usage ??= usagePlaces(paths).total(this.#numbers)
  }

  private guarded(step: () => void): void {
    try {
      step()
    } catch (cause) {
      this.fail(cause instanceof GatewayError ? cause : new GatewayError('internal', 'The gateway failed.', { cause }))
    }
  }

  private pass(frames: ReturnType<Frames['push']>): void {
    const { usage: paths, end } = this.#attempt.route.protocol ?? {}
    for (const frame of frames) {
      const message = parse(frame.data)
      if (message === undefined || isObject(message.error) || isException(frame.event)) {
        this.send()
        this.refuse(frame, message)
        return
      }
      this.#out.add(frame)
      this.#first = false
      // Counts are cumulative, and not every message has them.
      if (paths !== undefined) this.count(message, paths)
      if (this.#members?.standAt(message) === true) this.#members = undefined
      if (!this.#attempt.isDraining) this.#attempt.call.tally.events++
      if (frame.event === undefined || this.#events?.includes(frame.event) !== true) continue
      this.#events = undefined
      if (end?.repeats === true) continue
      // What follows the last event is dropped, and a transfer that does not end holds no client.
      this.send()
      this.complete(false)
      return
    }
    this.send()
  }

  private count(message: JsonObject, paths: UsagePaths): void {
    const numbers: Numbers = []
    if (usagePlaces(paths).fill(numbers, message) === 0) return
    for (const [index, count] of this.#numbers.entries()) numbers[index] ??= count
    this.#numbers = numbers
  }

  private send(): void {
    if (this.#out.isEmpty) return
    this.#attempt.content()
    this.begin()
    this.#attempt.write(this.#out.take())
  }

  /** A message that is not an object, or that reports an error: the upstream's own words pass if they contain no secret. */
  private refuse(frame: Frame, message: JsonObject | undefined): void {
    if (message === undefined) throw new GatewayError('bad_upstream_response', MALFORMED, { phase: 'event' })
    const cause = upstreamMessage(frame.data, this.#attempt)
    const error = new GatewayError('upstream_failed', 'The upstream failed.', { phase: 'stream_error', cause })
    if (containsSecret(frame.data, this.#attempt)) {
      this.fail(error, 500)
      return
    }
    this.#done = true
    this.#out.add(frame)
    this.#out.close()
    const body = this.#out.take()
    if (this.#first) {
      this.#attempt.failed(500, error, { status: this.#status, headers: this.headers(), body })
      return
    }
    this.settle()
    this.#attempt.brokeOff(error)
    this.#attempt.call.end(body)
  }

  private begin(): void {
    const { call } = this.#attempt
    if (!call.begun) call.begin(this.#status, this.headers())
  }

  private headers(): string[] {
    const kept: string[] = []
    for (let i = 0; i + 1 < this.#headers.length; i += 2) {
      if (this.#headers[i] !== 'content-type') kept.push(this.#headers[i] ?? '', this.#headers[i + 1] ?? '')
    }
    return [...kept, 'content-type', contentType(this.#framing)]
  }

  private fail(error: GatewayError, condition: 'bad_response' | 500 = 'bad_response'): void {
    this.#done = true
    // While nothing was sent, no array is open: then the error is an answer by itself.
    if (!this.#attempt.call.begun) {
      this.#attempt.failed(condition, error)
      return
    }
    this.settle()
    const { call, route } = this.#attempt
    this.#attempt.brokeOff(error)
    const data = JSON.stringify(errorBody(error, route.errors, call.id))
    this.#out.add(this.#framing === 'aws-eventstream' ? { event: exceptionName(error), data } : { data })
    this.#out.close()
    call.end(this.#out.take())
  }
}

const MALFORMED = 'The upstream sent a malformed event.'

function parse(data: string): JsonObject | undefined {
  try {
    const value = JSON.parse(data) as Json
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function truncated(phase: string, cause?: unknown): GatewayError {
  return new GatewayError('upstream_truncated', "The upstream's answer ended early.", {
    phase,
    cause,
  })
}
