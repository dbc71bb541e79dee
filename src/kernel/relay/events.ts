import { CR } from '../../core/ascii.js'
import { type ResponseStart, streamErrorFrame } from '../../core/error-bodies.js'
import { type ErrorDetails, GatewayError } from '../../core/errors.js'
import { isObject, parseJson } from '../../core/json.js'
import type { Transform } from '../../core/transform.js'
import { EventUsage, usageOfEvent } from '../../wire/event-usage.js'
import { PendingBytes } from '../../wire/pending-bytes.js'
import { decodeSse, encodeSse, SseDecoder } from '../../wire/sse.js'
import { SseRelay } from '../../wire/sse-relay.js'
import { Tail } from '../../wire/tail.js'
import { sumOfUsage } from '../../wire/usage.js'
import { InnerExchange } from '../inner.js'
import { upstreamMessage } from '../upstream-words.js'
import { endsInError, errorData, reportsFailure } from './error-events.js'
import { changedFrames } from './frames.js'
import { type Relay, type Source, STEP_BYTES } from './relay.js'
import { containsSecret } from './secrets.js'

const LINE_END = Buffer.from('\n')
const BLANK_LINE = Buffer.from('\n\n')
/** Most bytes of comments and pings that wait for the first event with content. */
const MAX_PRELUDE_BYTES = 16 * 1024

/**
 * Relays an event stream in whole events, each as soon as it is complete. The stream ends in one of two ways: by
 * the protocol's own last event, or by an error event of the client's family; it never just stops.
 */
export class EventRelay implements Relay {
  /** Set if each event is rewritten, or becomes its own message. */
  readonly step: number | undefined
  readonly #attempt: Source
  readonly #status: number
  readonly #headers: string[]
  readonly #stream: SseRelay
  readonly #tail = new Tail()
  readonly #usage: EventUsage | undefined
  /** Comments and pings before the first event, while another target may still answer instead. */
  readonly #prelude = new PendingBytes()
  #begun = false
  /** The client has the whole answer. */
  #done = false
  /** The upstream has reported an error. */
  #failed = false
  #content = 0

  constructor(attempt: Source, status: number, headers: string[]) {
    this.#attempt = attempt
    this.#status = status
    this.#headers = headers
    const { route } = attempt
    const { line, event } = route.limits
    if (attempt.exchange.response !== undefined || attempt.call.request instanceof InnerExchange) this.step = STEP_BYTES
    const paths = route.protocol?.usage
    this.#usage = paths && new EventUsage(paths)
    this.#stream = new SseRelay({
      line,
      event,
      end: route.protocol?.end,
      onRepeated: last => this.count(last),
      onLarge: data => this.#usage?.large(data),
    })
  }

  data(chunk: Buffer): void {
    const stream = this.#stream
    if (this.#done) {
      stream.push(chunk)
      this.#attempt.call.tally.trailing = stream.trailing
      return
    }
    const bytes = stream.push(chunk)
    if (stream.content !== this.#content) {
      this.#content = stream.content
      this.#attempt.content()
    }
    if (bytes !== undefined && !this.forward(bytes)) return
    if (stream.fault !== undefined) this.refuse(stream.fault)
    // The line feed of a last CR LF may still arrive.
    else if (stream.ended && bytes?.at(-1) !== CR) this.complete(false)
  }

  end(): void {
    const stream = this.#stream
    if (this.#done) return
    const held = stream.held
    // Some servers omit the last blank line: the end of the transfer replaces it.
    const rest = held > 0 ? (stream.push(LINE_END) ?? stream.push(LINE_END)) : undefined
    const whole = rest === undefined ? held === 0 : this.isWhole(rest)
    const isEndKnown = stream.whole || stream.failure !== undefined || this.#attempt.route.protocol?.end === undefined
    // With it, since readers ignore an event that nothing ends.
    if (rest !== undefined && whole && isEndKnown && !this.forward(rest)) return
    if (whole && isEndKnown && this.#begun && stream.content > 0) {
      this.complete(true)
      return
    }
    if (this.#begun) {
      this.breakOff(truncated({ phase: 'fin' }))
      return
    }
    const message = 'The upstream ended its stream without an event.'
    this.#attempt.failed('bad_response', new GatewayError('bad_upstream_response', message, { phase: 'fin' }))
  }

  /** Whether the last event is complete although no blank line ended it. */
  private isWhole(rest: Buffer): boolean {
    const data = decodeSse(rest).at(-1)?.data
    return data !== undefined && (data === this.#attempt.route.protocol?.end?.data || parseJson(data) !== undefined)
  }

  broken(error: GatewayError): boolean {
    if (!this.#begun) return false
    if (this.#done) return true
    if (this.#stream.ended) {
      this.complete(true)
      return true
    }
    const { phase = 'reset', cause } = error.details
    const isOurs = error.code === 'upstream_timeout' || error.code === 'unavailable'
    this.breakOff(isOurs ? error : truncated({ phase, cause }))
    return true
  }

  settle(): void {
    const { call } = this.#attempt
    call.tally.trailing = this.#stream.trailing
    // Some protocols report the usage of the input in the first event.
    this.#attempt.usage ??= this.#usage?.usage(this.#tail, this.#stream.first)
  }

  /** If an answer has several last events, each reports its own part of the usage. */
  private count(last: Buffer): void {
    const { route } = this.#attempt
    const usage = route.protocol?.usage && usageOfEvent(last, route.protocol.usage)
    if (usage !== undefined) this.#attempt.usage = sumOfUsage(this.#attempt.usage, usage)
  }

  /** False if the attempt was abandoned for another one. */
  private forward(bytes: Buffer): boolean {
    const lastWords = this.lastWords(bytes)
    const failure = this.#stream.failure ?? lastWords
    if (failure !== undefined && containsSecret(failure, this.#attempt)) return this.conceal(failure)
    this.#failed = this.#stream.failure !== undefined || (lastWords !== undefined && reportsFailure(lastWords))
    if (!this.#begun) {
      this.#failed ||= this.#stream.content <= 1 && endsInError(bytes)
      if (this.#failed && this.#stream.content <= 1) return this.failedAtOnce(bytes)
      if (this.waits(bytes)) return true
    }
    const { exchange, isDraining, route } = this.#attempt
    if (exchange.response === undefined || isDraining) return this.pass(bytes, bytes)
    const { changed, fault } = rewrite(bytes, exchange.response, route.limits)
    if (fault === undefined) return this.pass(bytes, changed)
    if (changed.length > 0) this.pass(bytes, changed)
    this.refuse('json', fault)
    return false
  }

  /** `bytes`: as the upstream sent them. */
  private pass(bytes: Buffer, changed: Buffer): boolean {
    if (!this.#begun) this.begin()
    this.#tail.push(bytes)
    if (this.#attempt.isDraining) return true
    this.#attempt.call.tally.events = this.#stream.content
    this.#attempt.write(changed)
    return true
  }

  /** The stream begins with an error: another target may succeed; else the error is passed on. */
  private failedAtOnce(bytes: Buffer): boolean {
    const said = errorData(bytes)
    const cause = upstreamMessage(said, this.#attempt)
    const error = new GatewayError('upstream_failed', 'The upstream failed to answer.', {
      phase: 'stream_error',
      cause,
    })
    this.#attempt.failed(500, error, { status: this.#status, headers: this.#headers, body: bytes }, said)
    return false
  }

  /** The stream's own last event, for protocols in which it may report a failure. */
  private lastWords(bytes: Buffer): Buffer | undefined {
    return this.#stream.ended && this.#attempt.route.protocol?.streamError === 'responses' ? bytes : undefined
  }

  /** The upstream's error contains one of the gateway's credentials: the client gets an error without it. */
  private conceal(failure: Uint8Array): boolean {
    const cause = upstreamMessage(errorData(failure), this.#attempt)
    const error = new GatewayError('upstream_failed', 'The upstream failed.', { phase: 'stream_error', cause })
    this.#done = true
    if (this.#begun) this.breakOff(error)
    else this.#attempt.failed(500, error)
    return false
  }

  /** Whether these bytes were set aside: they have no content, and while nothing is sent another target may answer. */
  private waits(bytes: Buffer): boolean {
    const { content, ended } = this.#stream
    if (content > 0 || ended || !this.#attempt.mayYield) return false
    if (this.#prelude.length + bytes.length > MAX_PRELUDE_BYTES) return false
    this.#prelude.append(bytes)
    return true
  }

  private begin(): void {
    this.#begun = true
    this.#attempt.call.begin(this.#status, this.#headers)
    if (this.#prelude.length > 0) this.#attempt.write(this.#prelude.take())
  }

  private complete(upstreamEnded: boolean): void {
    const { call } = this.#attempt
    this.settle()
    // Of a call whose client has left it is known how it ended.
    if (!this.#attempt.isDraining && (this.#failed || endsInError(this.#tail.bytes()))) {
      const cause = upstreamMessage(errorData(this.#stream.failure ?? this.#tail.bytes()), this.#attempt)
      call.error = new GatewayError('upstream_failed', 'The upstream reported an error.', {
        phase: 'stream_error',
        cause,
      })
    }
    this.#done = true
    this.#attempt.complete(upstreamEnded)
    call.end()
  }

  private refuse(fault: 'line' | 'event' | 'json', cause?: Error): void {
    const details = fault === 'json' ? { phase: 'event', cause } : { phase: 'event', limit: `sse_${fault}` }
    const error = new GatewayError('bad_upstream_response', 'The upstream sent a malformed event.', details)
    if (this.#begun) this.breakOff(error)
    else this.#attempt.failed('bad_response', error)
  }

  private breakOff(error: GatewayError): void {
    const { call, route } = this.#attempt
    this.settle()
    this.#attempt.brokeOff(error)
    const shape = route.protocol?.streamError === 'responses' ? 'responses' : route.errors
    call.end(streamErrorFrame(error, shape, call.id, this.started()))
  }

  /** The response object of the first event, for protocols whose failures must repeat it. */
  private started(): ResponseStart | undefined {
    const { first } = this.#stream
    if (first === undefined || this.#attempt.route.protocol?.streamError !== 'responses') return undefined
    try {
      const event: unknown = JSON.parse(decodeSse(Buffer.concat([first, BLANK_LINE]))[0]?.data ?? '')
      if (!isObject(event) || !isObject(event.response)) return undefined
      return { response: event.response, sequence: this.#stream.events }
    } catch {
      return undefined
    }
  }
}

function truncated(details: ErrorDetails): GatewayError {
  return new GatewayError('upstream_truncated', "The upstream's answer ended early.", details)
}

/**
 * Applies a declared transform to each JSON event of some whole events, up to one that it cannot read. Comments pass only if they
 * are alone.
 */
function rewrite(
  bytes: Buffer,
  transform: Transform,
  limits: { readonly line: number; readonly event: number },
): { readonly changed: Buffer; readonly fault: Error | undefined } {
  const frames = new SseDecoder({ line: limits.line, event: limits.event }).push(bytes)
  if (frames.length === 0) return { changed: bytes, fault: undefined }
  const { changed, fault } = changedFrames(frames, transform)
  return { changed: Buffer.from(changed.map(frame => encodeSse(frame)).join('')), fault }
}
