import { HttpParser } from '../llhttp.js'
import { type AnswerHead, answerHead, type IdleTimes, invalid } from './answer-head.js'
import { type ExchangeHandler, TransportFault, type UpstreamController } from './handler.js'

/** A larger response head is an error of the upstream. */
const MAX_HEAD_BYTES = 64 * 1024
/** Informational answers (1xx) before the answer. */
const MAX_INFORMATIONAL = 8
const SWITCHING_PROTOCOLS = 101
/** Every answer begins with `HTTP/`. The parser would also accept RTSP, and blank lines before. */
const FIRST_BYTE = 0x48

/** What is read next: the head, or of the body so many bytes, chunks, or all until the end. `whole`: nothing is. */
type Reading = 'head' | 'length' | 'chunked' | 'until-close' | 'whole'

/** Reads the answers of one connection, and hands them over piece by piece. */
export class AnswerReader {
  readonly #parser = new HttpParser('response', MAX_HEAD_BYTES)
  readonly #idle: IdleTimes
  #method = ''
  #reading: Reading = 'head'
  #isFirstByte = true
  #informational = 0
  /** Bytes of the body that are still to come. */
  #left = 0
  /** How long the connection may be idle after this answer, milliseconds; 0 where it is over with it. */
  idleMs = 0

  constructor(idle: IdleTimes) {
    this.#idle = idle
  }

  /** The next answer is to a request of this method. */
  start(method: string): void {
    this.#parser.next()
    this.#method = method
    this.#reading = 'head'
    this.#isFirstByte = true
    this.#informational = 0
    this.idleMs = 0
  }

  get isWhole(): boolean {
    return this.#reading === 'whole'
  }

  /** The connection has ended. False where the answer has not. */
  end(): boolean {
    if (this.#reading === 'until-close') this.#reading = 'whole'
    return this.isWhole
  }

  free(): void {
    this.#parser.free()
  }

  /**
   * One step: hands over a head, or what the bytes from `at` to `end` hold of a body, in a copy. Returns the offset of the
   * first byte that it did not take. Throws where the answer is not valid.
   */
  step(bytes: Buffer, at: number, end: number, handler: ExchangeHandler, controller: UpstreamController): number {
    switch (this.#reading) {
      case 'head':
        return this.#readHead(bytes, at, end, handler, controller)
      case 'chunked':
        return this.#readChunks(bytes, at, end, handler, controller)
      case 'length':
        return this.#readCounted(bytes, at, end, handler, controller)
      case 'until-close':
        handler.onResponseData(controller, copied(bytes, at, end))
        return end
      case 'whole':
        return at
    }
  }

  #readHead(bytes: Buffer, at: number, end: number, handler: ExchangeHandler, controller: UpstreamController): number {
    const parser = this.#parser
    if (this.#isFirstByte && bytes[at] !== FIRST_BYTE) throw invalid('it does not begin with HTTP/')
    this.#isFirstByte = false
    const step = parser.execute(bytes, at, end)
    if (step === 'failed') throw this.#failed()
    if (step !== 'head') return parser.position
    const head = answerHead(parser, this.#method, this.#idle)
    if (head.status < 200) this.#skip(head.status)
    else {
      this.#reading = readingOf(head)
      this.#left = head.length
      this.idleMs = head.idleMs
      handler.onResponseStart(controller, head.status, head.headers)
    }
    return parser.position
  }

  #skip(status: number): void {
    if (!this.#parser.keepsAlive) throw invalid('an informational answer that ends the connection')
    if (status === SWITCHING_PROTOCOLS) throw invalid('it changes to a protocol that no one asked for')
    if (++this.#informational > MAX_INFORMATIONAL) throw invalid('too many informational answers')
    this.#parser.next()
    this.#isFirstByte = true
  }

  #readCounted(
    bytes: Buffer,
    at: number,
    end: number,
    handler: ExchangeHandler,
    controller: UpstreamController,
  ): number {
    const until = Math.min(end, at + this.#left)
    this.#left -= until - at
    if (this.#left === 0) this.#reading = 'whole'
    handler.onResponseData(controller, copied(bytes, at, until))
    return until
  }

  #readChunks(
    bytes: Buffer,
    at: number,
    end: number,
    handler: ExchangeHandler,
    controller: UpstreamController,
  ): number {
    const parser = this.#parser
    const step = parser.execute(bytes, at, end)
    // Chunks before the one that is not valid are content.
    if (step === 'end') this.#reading = 'whole'
    if (parser.body.length > 0) handler.onResponseData(controller, joined(bytes, parser.body))
    if (step === 'failed') throw this.#failed()
    return parser.position
  }

  #failed(): TransportFault {
    const { code, reason } = this.#parser.error
    return new TransportFault(code as `HPE_${string}`, `The upstream sent a malformed answer: ${reason}.`)
  }
}

function readingOf({ framing, length }: AnswerHead): Reading {
  return framing === 'none' || (framing === 'length' && length === 0) ? 'whole' : framing
}

function copied(bytes: Buffer, at: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - at)
  bytes.copy(copy, 0, at, end)
  return copy
}

/** Pieces that arrived together, as one: `spans` is a flat list of their begins and ends. */
function joined(bytes: Buffer, spans: readonly number[]): Buffer {
  let size = 0
  for (let i = 0; i < spans.length; i += 2) size += (spans[i + 1] ?? 0) - (spans[i] ?? 0)
  const whole = Buffer.allocUnsafe(size)
  let at = 0
  for (let i = 0; i < spans.length; i += 2) at += bytes.copy(whole, at, spans[i], spans[i + 1])
  return whole
}
