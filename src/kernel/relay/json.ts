import { OPEN_BRACE, OPEN_BRACKET } from '../../core/ascii.js'
import { GatewayError } from '../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { UsagePaths } from '../../core/plan.js'
import { asBuffer } from '../../wire/bytes.js'
import { PassingUsage, usageAtEnd, usageOf } from '../../wire/usage.js'
import { answerDocument, answerLease, malformedAnswer } from '../answer-document.js'
import { slot } from '../slot.js'
import { joined, jsonBytes, parsed } from '../translate/steps.js'
import { errorOfStatus } from '../upstream-errors.js'
import { upstreamMessage } from '../upstream-words.js'
import { isOtherForm, rewriteVectors, VECTORS } from '../vectors.js'
import { endDrained, mayBeError, statusOfError } from './error-document.js'
import { abandonAttempt } from './refusal.js'
import type { Relay, Source } from './relay.js'

/** Answers up to this size are buffered, checked whole and sent at once; larger ones are streamed. */
const MAX_WHOLE_ANSWER_BYTES = 16 * 1024

const NO_USAGE: UsagePaths = {}

/** Set to true if the client waits for a whole answer: one that says it is not finished is an error. */
export const MUST_FINISH = slot<boolean>('must finish')

/**
 * Relays a JSON answer. A small one is checked before a byte is sent, so that another target may be tried if it
 * is not JSON, or an error with a success status; if no other target is left, only its beginning and end are checked. For a
 * large one only the nesting is tracked, and it is cut if that does not close.
 */
export class JsonRelay implements Relay {
  readonly #attempt: Source
  readonly #status: number
  readonly #headers: string[]
  readonly #length: number | undefined
  /** Reads values of a large answer as it passes. */
  #passing: PassingUsage | undefined
  #buffered: Buffer[] | undefined = []
  #size = 0
  /** Whether the whole answer is buffered, of any size. */
  #isRewritten: boolean

  constructor(attempt: Source, status: number, headers: string[], length: number | undefined) {
    this.#attempt = attempt
    this.#status = status
    this.#headers = headers
    this.#length = length
    this.#isRewritten = attempt.exchange.response !== undefined
  }

  data(chunk: Buffer): void {
    this.#attempt.content()
    this.#size += chunk.length
    if (this.#buffered === undefined) {
      this.#passing?.push(chunk)
      // Without the last byte, the client sees that an answer which does not close is broken.
      if (!this.isCut()) this.#attempt.write(chunk)
      return
    }
    this.#buffered.push(chunk)
    this.#isRewritten ||= this.#size > MAX_WHOLE_ANSWER_BYTES && this.hasOtherVectors(this.#buffered)
    if (this.#isRewritten) {
      const { response } = this.#attempt.route.limits
      if (this.#size > response) this.refuse('It is too large to be rewritten.', 'response')
    } else if (this.#size > MAX_WHOLE_ANSWER_BYTES) {
      this.stream(this.#buffered)
    }
  }

  /** Whether its vectors are not in the form that the client requested. */
  private hasOtherVectors(pieces: readonly Buffer[]): boolean {
    const { call, route } = this.#attempt
    const rule = route.protocol?.vectors
    const wanted = call.get(VECTORS)
    return rule !== undefined && wanted !== undefined && isOtherForm(rule, wanted, pieces)
  }

  end(): void {
    const { call } = this.#attempt
    if (this.#buffered === undefined) {
      if (this.#passing?.isWhole !== true) {
        this.broken(new GatewayError('upstream_truncated', "The upstream's answer ended early.", { phase: 'json' }))
        return
      }
      this.settle()
      this.#attempt.complete(true)
      call.end()
      return
    }
    if (this.#attempt.isDraining) {
      this.settle()
      endDrained(this.#attempt, this.#buffered)
      return
    }
    if (this.#size > MAX_WHOLE_ANSWER_BYTES || this.mayHaveOtherVectors(this.#buffered)) {
      this.rewrite(this.#buffered).catch((cause: unknown) => this.fail(cause))
      return
    }
    const [first] = this.#buffered
    const held = this.#buffered.length === 1 && first !== undefined ? first : Buffer.concat(this.#buffered)
    const body = this.whole(held)
    if (body !== undefined) this.send(body, held)
  }

  /** Declared verbs must be applied before the answer can be examined. */
  private mayHaveOtherVectors(held: readonly Buffer[]): boolean {
    const { call, exchange } = this.#attempt
    return call.get(VECTORS) !== undefined && (exchange.response !== undefined || this.hasOtherVectors(held))
  }

  /** `raw`: the bytes of a body in a string. */
  private send(body: Uint8Array | string, raw: Uint8Array): void {
    const { call } = this.#attempt
    this.#attempt.complete(true, body.length)
    this.#headers.push('content-length', String(body.length))
    call.begin(this.#status, this.#headers)
    // A Latin-1 string is sent with the head in one write; a buffer would need a second one.
    if (typeof body === 'string') call.endLatin1(body, raw)
    else call.end(body)
  }

  /** Rewrites a large answer, or one with vectors: parses it in steps, after memory for its objects was reserved. */
  private async rewrite(held: readonly Buffer[]): Promise<void> {
    const { exchange } = this.#attempt
    const memory = answerLease(this.#attempt)
    try {
      const body = await joined(held, this.#size)
      const document = await answerDocument(body, this.#attempt, memory)
      if (!this.judge(document, body)) return
      const changed = asBuffer(exchange.response?.(body) ?? body)
      const after = changed === body ? document : await parsed(changed)
      if (changed !== body && !this.judge(after, changed)) return
      const rewritten = this.hasOtherVectors([changed]) ? await this.withVectors(after, changed.length) : changed
      this.send(rewritten, rewritten)
    } finally {
      memory.end()
    }
  }

  private async withVectors(document: Json, size: number): Promise<Buffer> {
    const { call, route } = this.#attempt
    const rule = route.protocol?.vectors
    const wanted = call.get(VECTORS)
    if (rule !== undefined && wanted !== undefined) await rewriteVectors(document, rule, wanted)
    return jsonBytes(document, size)
  }

  private fail(cause: unknown): void {
    const isTheirs = cause instanceof GatewayError && cause.code === 'bad_upstream_response'
    if (isTheirs) this.#attempt.failed('bad_response', cause)
    else this.#attempt.call.fail(cause)
  }

  broken(error: GatewayError): boolean {
    if (this.#buffered !== undefined) return false
    this.settle()
    this.#attempt.brokeOff(error)
    this.#attempt.call.breakOff()
    return true
  }

  settle(): void {
    if (this.#attempt.isDraining && this.#buffered !== undefined) this.#passing ??= this.passing(this.#buffered)
    this.#attempt.usage ??= this.#passing?.usage()
  }

  /**
   * The checked body: if unchanged, its bytes in a Latin-1 string; if rewritten, bytes. Undefined if it must not be sent.
   */
  private whole(body: Buffer): Uint8Array | string | undefined {
    try {
      // In Latin-1 every byte is one character: enough to check the grammar, and several times cheaper than UTF-8.
      const text = body.toString('latin1')
      if (this.passesUnparsed(text, body)) return text
      if (!this.judge(JSON.parse(text), body)) return undefined
      const changed = this.#attempt.exchange.response?.(body)
      if (changed === undefined || changed === body) return text
      const bytes = asBuffer(changed)
      return this.judge(JSON.parse(bytes.toString('latin1')), bytes) ? bytes : undefined
    } catch (cause) {
      this.refuse(body.length === 0 ? 'It is empty.' : 'It is not JSON.', undefined, cause)
      return undefined
    }
  }

  /**
   * Whether no other target can be tried, and the answer is not an error and has its usage at its end, intact to the last
   * byte: then the rest is not parsed.
   */
  private passesUnparsed(text: string, body: Buffer): boolean {
    const { call, route, exchange, mayYield } = this.#attempt
    const { usage: paths, streamError } = route.protocol ?? {}
    if (mayYield || exchange.response !== undefined || call.taps.areReading) return false
    if (paths === undefined || streamError === 'responses' || mayBeError(text)) return false
    const usage = usageAtEnd(body, paths)
    if (usage === undefined) return false
    this.#attempt.usage = usage
    return true
  }

  /**
   * Reads the answer's status and usage; false if it is an error, which was reported. Declared changes may be what makes them
   * readable, or remove them: then both forms are read.
   */
  private judge(document: unknown, body: Buffer): boolean {
    const { route } = this.#attempt
    const { binary, usage: paths, streamError } = route.protocol ?? {}
    // If the protocol declares nothing about its answers, errors in them cannot be recognized.
    const status = binary === false ? statusOfError(document) : undefined
    if (status !== undefined) {
      this.report(status, body)
      return false
    }
    if (paths !== undefined) this.#attempt.usage = usageOf(document, paths) ?? this.#attempt.usage
    if (streamError === 'responses' && isObject(document)) this.judgeStatus(document)
    return true
  }

  /** A response that failed, or is not finished, passes unchanged: it exists, and says so itself. */
  private judgeStatus({ status, error }: JsonObject): void {
    const { call } = this.#attempt
    if (status === 'failed') {
      const cause = upstreamMessage(JSON.stringify(error ?? null), this.#attempt)
      call.error = new GatewayError('upstream_failed', 'The upstream reported an error.', { phase: 'content', cause })
    } else if (call.get(MUST_FINISH) === true && (status === 'in_progress' || status === 'queued')) {
      call.error = new GatewayError('bad_upstream_response', 'The upstream sent a response that is not finished.', {
        phase: 'content',
      })
    }
  }

  private stream(held: readonly Buffer[]): void {
    const first = held[0]?.find(byte => byte > 0x20)
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
      this.refuse('It is not JSON.')
      return
    }
    this.#passing = this.passing(held)
    if (this.isCut()) {
      this.refuse('It is not JSON.')
      return
    }
    this.#buffered = undefined
    if (this.#length !== undefined) this.#headers.push('content-length', String(this.#length))
    this.#attempt.call.begin(this.#status, this.#headers)
    for (const chunk of held) this.#attempt.write(chunk)
  }

  private passing(held: readonly Buffer[]): PassingUsage {
    const passing = new PassingUsage(this.#attempt.route.protocol?.usage ?? NO_USAGE)
    for (const chunk of held) passing.push(chunk)
    return passing
  }

  /** Whether all announced bytes have arrived, and the JSON does not close. */
  private isCut(): boolean {
    return this.#size === this.#length && this.#passing?.isWhole === false
  }

  /** The upstream reports an error: it is counted, and passed on, as if it had arrived with its status. */
  private report(status: number, body: Buffer): void {
    const error = errorOfStatus(status, {}, upstreamMessage(body, this.#attempt))
    abandonAttempt(this.#attempt, status, error, { status, headers: this.#headers, body })
  }

  private refuse(why: string, limit?: string, cause?: unknown): void {
    this.#attempt.failed('bad_response', malformedAnswer(why, limit, cause))
  }
}
