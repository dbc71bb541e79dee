import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2'
import type { Readable } from 'node:stream'
import { CONNECTION_HEADERS } from '../core/connection-headers.js'
import {
  type AnswerHeaders,
  type ExchangeHandler,
  TransportFault,
  type UpstreamController,
  type UpstreamRequest,
} from '../transport/client/handler.js'

/** A request that so many connections have refused fails. */
const MAX_REFUSALS = 32

/** One request and its answer on a stream of HTTP/2. */
export class Http2Exchange implements UpstreamController {
  readonly request: UpstreamRequest
  readonly handler: ExchangeHandler
  #stream: ClientHttp2Stream | undefined
  #isOver = false
  #hasAnswer = false
  /** The upstream has ended its answer itself (END_STREAM). */
  #isWhole = false
  #isBegun = false
  #refusals = 0
  /** Its stream has ended, for any reason. `isRefused`: the request must be sent on another connection. */
  onEnd: (isRefused: boolean) => void = () => undefined
  /** It fails, or was given up: its handler hears of it next, and may send another request at once. */
  onFailure: () => void = () => undefined

  constructor(request: UpstreamRequest, handler: ExchangeHandler) {
    this.request = request
    this.handler = handler
  }

  get paused(): boolean {
    return this.#stream?.isPaused() === true
  }

  pause(): void {
    this.#stream?.pause()
  }

  resume(): void {
    if (this.paused) this.#stream?.resume()
  }

  abort(reason: Error): void {
    this.#fail(reason)
  }

  /** Ends before there was a connection. */
  fail(cause: Error): void {
    this.#fail(cause)
  }

  /** Sends the request. Its stream ends in any case: `onEnd` is called then, within this call if nothing is sent. */
  begin(session: ClientHttp2Session, origin: URL): void {
    if (!this.#isBegun) this.#guarded(() => this.handler.onRequestStart(this))
    this.#isBegun = true
    if (this.#isOver) {
      this.onEnd(false)
      return
    }
    const { body } = this.request
    const isEmpty = body === null || (body instanceof Uint8Array && body.length === 0)
    let stream: ClientHttp2Stream
    try {
      stream = session.request(headersOf(this.request, origin), { endStream: isEmpty })
    } catch (cause) {
      this.#fail(cause as Error)
      this.onEnd(false)
      return
    }
    this.#stream = stream
    this.#listen(stream)
    if (body instanceof Uint8Array) {
      if (!isEmpty) stream.end(body)
    } else if (body !== null) {
      body.on('error', (cause: Error) => this.#fail(cause))
      ;(body as Readable).pipe(stream)
    }
  }

  #listen(stream: ClientHttp2Stream): void {
    const push = stream.push.bind(stream)
    // Node ends what is read of a stream in either case; at a reset, also one without an error, the stream is closed by then.
    stream.push = (chunk, encoding) => {
      if (chunk === null && !stream.closed) this.#isWhole = true
      return push(chunk, encoding)
    }
    stream.on('response', headers => {
      this.#hasAnswer = true
      this.#guarded(() => this.handler.onResponseStart(this, headers[':status'] ?? 0, answerHeaders(headers)))
    })
    stream.on('data', (chunk: Buffer) => this.#guarded(() => this.handler.onResponseData(this, chunk)))
    stream.on('end', () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR || !this.#isWhole || !this.#hasAnswer) return
      this.#guarded(() => {
        this.#isOver = true
        this.handler.onResponseEnd(this)
      })
      // An upstream may leave it at that (RFC 9113 §8.1): its stream would stay open for the rest of the request.
      if (!stream.writableFinished) this.#cutOff()
    })
    stream.on('error', cause => {
      if (!this.#isRefused(stream)) this.#fail(cause)
    })
    stream.on('close', () => {
      const isRefused = this.#isRefused(stream)
      if (isRefused) this.#refusals++
      else
        this.#fail(new TransportFault('CONNECTION_CLOSED', `The upstream ended the stream (code ${stream.rstCode}).`))
      this.onEnd(isRefused)
    })
  }

  /** The upstream guarantees that it has not looked at the request, which may be sent again (RFC 9113 §8.7). */
  #isRefused(stream: ClientHttp2Stream): boolean {
    const { body } = this.request
    const isHeld = body === null || body instanceof Uint8Array
    const isRefused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM && isHeld
    return isRefused && !this.#isOver && !this.#hasAnswer && this.#refusals < MAX_REFUSALS
  }

  /** What the handler throws ends the exchange. */
  #guarded(call: () => void): void {
    if (this.#isOver) return
    try {
      call()
    } catch (cause) {
      this.#isOver = false
      this.#fail(cause as Error)
    }
  }

  #fail(cause: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cutOff()
    this.onFailure()
    this.handler.onResponseError(this, cause)
  }

  /** Sends nothing more of the request. */
  #cutOff(): void {
    const stream = this.#stream
    const { body } = this.request
    if (body !== null && !(body instanceof Uint8Array)) (body as Readable).unpipe()
    if (stream === undefined) return
    // Node would end it in order before the reset (END_STREAM): to the upstream, what was sent would be all of the request.
    stream.end = () => stream
    stream.close(constants.NGHTTP2_CANCEL)
  }
}

function headersOf(
  { method, path, headers, body }: UpstreamRequest,
  { protocol, host }: URL,
): Record<string, string | string[]> {
  const sent: Record<string, string | string[]> = Object.create(null)
  sent[':method'] = method
  sent[':path'] = path
  sent[':scheme'] = protocol.slice(0, -1)
  sent[':authority'] = host
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] ?? '').toLowerCase()
    const value = headers[i + 1] ?? ''
    if (name === 'host') sent[':authority'] = value
    if (name === 'host' || CONNECTION_HEADERS.has(name)) continue
    const earlier = sent[name]
    sent[name] = earlier === undefined ? value : [...[earlier].flat(), value]
  }
  if (body instanceof Uint8Array && sent['content-length'] === undefined) sent['content-length'] = String(body.length)
  return sent
}

function answerHeaders(headers: IncomingHttpHeaders): AnswerHeaders {
  const answer: AnswerHeaders = Object.create(null)
  for (const [name, value] of Object.entries(headers)) if (!name.startsWith(':')) answer[name] = value
  return answer
}
