import type { IncomingHttpHeaders } from 'node:http'
import type { BodyReceiver, HttpExchange, HttpRequest } from '../transport/exchange.js'
import type { Conversation } from './responses/conversations.js'
import type { ResponseTurn } from './responses/response-turn.js'

/** What a request from inside the process says beyond its bytes. */
export interface Inside {
  /** The id that its response has to have. */
  readonly responseId?: string
  /** What only the connection that it came by remembers. */
  readonly local?: LocalMemory
}

/** A conversation that lives only in its connection. */
export interface LocalMemory {
  /** The conversation that ends with the response of that id. */
  find(id: string): Conversation | undefined
  /** Passes the current turn. */
  began(turn: ResponseTurn): void
}

/** Serves a request, one from inside the process included. */
export type Serve = (request: HttpExchange) => void

/** What a request that the gateway makes to itself has of its own. */
export interface InnerRequest {
  readonly method: string
  readonly target: string
  readonly body: Uint8Array
  readonly inside?: Inside
}

/** Takes an answer inside the process. */
export interface Receiver {
  /** `headers` is a flat name, value list. */
  head(status: number, headers: readonly string[]): void
  /** False asks the writer to pause until {@link InnerExchange.resumed}. */
  data(bytes: Buffer): boolean
  /** The answer is whole. */
  end(): void
  /** It broke off. */
  broken(): void
}

/**
 * A request that no client's connection carries, and its answer: a turn that came in a message, or one that runs on when its
 * client has gone. It goes the way of every other request, with the head of the one that it is made of, and its answer goes
 * to the receiver at once.
 */
export class InnerExchange implements HttpExchange {
  readonly method: string
  readonly target: string
  readonly httpVersion = '1.1'
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly remoteAddress: string | undefined
  readonly isEncrypted = false
  readonly connection = this
  readonly inside: Inside
  readonly complete = true
  readonly whole: Buffer
  onDrain: (() => void) | undefined
  onClose: (() => void) | undefined
  readonly #receiver: Receiver
  // All of the request is here, and no part of the answer is held back.
  readonly pause = nothing
  readonly resume = nothing
  readonly invite = nothing
  readonly linger = nothing
  readonly flush = nothing
  #begun = false
  #state: 'open' | 'finished' | 'broken' = 'open'

  constructor({ rawHeaders, remoteAddress }: HttpRequest, request: InnerRequest, receiver: Receiver) {
    this.method = request.method
    this.target = request.target
    this.rawHeaders = innerHeaders(rawHeaders)
    this.headers = headersOf(this.rawHeaders)
    this.remoteAddress = remoteAddress
    this.inside = request.inside ?? {}
    this.whole = bufferOf(request.body)
    this.#receiver = receiver
  }

  receive(receiver: BodyReceiver): void {
    if (this.whole.length > 0) receiver.data(this.whole)
    receiver.end()
  }

  get begun(): boolean {
    return this.#begun
  }

  get finished(): boolean {
    return this.#state === 'finished'
  }

  head(status: number, headers: string[]): void {
    this.#begun = true
    this.#receiver.head(status, headers)
  }

  write(bytes: Uint8Array): boolean {
    return this.#state !== 'open' || this.#receiver.data(bufferOf(bytes))
  }

  end(bytes?: Uint8Array | string, encoding: 'latin1' | 'utf8' = 'utf8'): void {
    if (this.#state !== 'open') return
    if (bytes !== undefined)
      this.#receiver.data(typeof bytes === 'string' ? Buffer.from(bytes, encoding) : bufferOf(bytes))
    this.#state = 'finished'
    this.#receiver.end()
    queueMicrotask(() => this.onClose?.())
  }

  destroy(): void {
    if (this.#state !== 'open') return
    this.#state = 'broken'
    this.#receiver.broken()
    queueMicrotask(() => this.onClose?.())
  }

  /** The receiver can take more. */
  resumed(): void {
    this.onDrain?.()
  }
}

function nothing(): void {}

/** Headers that belong to the connection or to the bytes that came by it, and not to the request that is made of them. */
const LEFT =
  /^(connection|upgrade|keep-alive|te|trailer|transfer-encoding|content-length|content-type|expect|accept-encoding|x-request-id|sec-websocket-.*)$/i

/** The head of a request for one that is made of it. Flat name, value lists. */
function innerHeaders(rawHeaders: readonly string[]): string[] {
  const kept: string[] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    if (!LEFT.test(name)) kept.push(name, value)
  }
  kept.push('content-type', 'application/json')
  return kept
}

/** By lower-case name. Repeated headers are joined; the raw ones are in `rawHeaders`. */
function headersOf(rawHeaders: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null)
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    const known = headers[name.toLowerCase()]
    headers[name.toLowerCase()] = known === undefined ? value : `${known}, ${value}`
  }
  return headers
}

/** The same bytes. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
