import type { IncomingHttpHeaders } from 'node:http'
import { CONNECTION_HEADERS } from '../core/connection-headers.js'
import { type TraceContext, traceContextOf } from '../core/trace.js'
import type { ClientCertificate } from '../transport/client-certificate.js'
import type { BodyReceiver, HttpExchange, HttpRequest } from '../transport/exchange.js'
import type { Generation } from './generation.js'
import type { Slots } from './slot.js'

/** What a request from inside the process carries beside its bytes. */
interface Inside {
  /** The request that it is made for is counted instead. */
  readonly isCounted?: true
  /** A copy of a request, whose answer no one reads. */
  readonly copy?: Copied
  /** What a feature that makes the request passes to the one that serves it. */
  readonly slots?: Slots
  /** That of the request from which it is made. Absent: its headers say which. */
  readonly trace?: TraceContext
  /** That of the request from which it is made. Absent: it is chosen as for a client's. */
  readonly generation?: Generation
}

/** Origin and target of a copied request. */
interface Copied {
  /** The id of the request. */
  readonly of: string
  readonly model: string
}

/** Serves a request, from a client or from inside the process. */
export type Serve = (request: HttpExchange) => void

/** The parts of a request that the gateway makes to itself. */
export interface InnerRequest {
  readonly method: string
  readonly target: string
  readonly body: Uint8Array
  /** Media type of the body; JSON where it is absent. */
  readonly type?: string
  readonly inside?: Inside
}

/** Receives an answer inside the process. */
export interface Receiver {
  /** `headers` is a flat name, value list. */
  head(status: number, headers: readonly string[]): void
  /** False asks the writer to pause until {@link InnerExchange.resumed}. */
  data(bytes: Buffer): boolean
  /** The answer is complete. */
  end(): void
  /** The answer broke off. */
  broken(): void
}

/**
 * A request that no client's connection carries, with its answer: a turn that arrived in a message, or one that continues
 * after its client has gone. It passes the same stages as every request, with the headers of the one it is made from, and its
 * answer goes to the receiver at once.
 */
export class InnerExchange implements HttpExchange {
  readonly method: string
  readonly target: string
  readonly httpVersion = '1.1'
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly remoteAddress: string | undefined
  readonly isEncrypted = false
  readonly certificate: ClientCertificate | undefined
  readonly connection = this
  readonly inside: Inside
  readonly complete = true
  readonly whole: Buffer
  onDrain: (() => void) | undefined
  onClose: (() => void) | undefined
  readonly #receiver: Receiver
  // The request is complete, and no part of the answer is held back.
  readonly pause = nothing
  readonly resume = nothing
  readonly invite = nothing
  readonly linger = nothing
  readonly flush = nothing
  #begun = false
  #state: 'open' | 'finished' | 'broken' = 'open'

  constructor({ rawHeaders, remoteAddress, certificate }: HttpRequest, request: InnerRequest, receiver: Receiver) {
    this.method = request.method
    this.target = request.target
    this.rawHeaders = innerHeaders(rawHeaders, request.type ?? 'application/json')
    this.headers = headersOf(this.rawHeaders)
    this.remoteAddress = remoteAddress
    this.certificate = certificate
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

/**
 * Headers of the connection, of its bytes or of that request alone, which the new one does not have. Subprotocols stay: one may be
 * the key.
 */
const LEFT =
  /^(content-length|content-type|expect|accept-encoding|x-request-id|idempotency-key|sec-websocket-(?!protocol$).*)$/

/** The headers of the new request. Flat name, value lists. */
function innerHeaders(rawHeaders: readonly string[], type: string): string[] {
  const kept: string[] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    const lower = name.toLowerCase()
    if (!LEFT.test(lower) && !CONNECTION_HEADERS.has(lower)) kept.push(name, value)
  }
  kept.push('content-type', type)
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

/** A view of the same bytes. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** The origin of a request that the gateway copied for another model: its key pays nothing, and no one reads the answer. */
export function copied(request: HttpRequest): Copied | undefined {
  return request instanceof InnerExchange ? request.inside.copy : undefined
}

/** Whether the gateway makes the request for another one, which is counted and checked instead. */
export function isCountedElsewhere(request: HttpRequest): boolean {
  return request instanceof InnerExchange && request.inside.isCounted === true
}

/** A request's place in its trace: in that of the request from which it was made, or as its headers say, or in a new trace. */
export function traceOf(request: HttpRequest): TraceContext {
  const outer = request instanceof InnerExchange ? request.inside.trace : undefined
  return outer?.inner() ?? traceContextOf(request.headers.traceparent)
}
