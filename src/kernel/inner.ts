import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { markWritten } from './mark-written.js'
import type { Conversation } from './responses/conversations.js'
import type { ResponseTurn } from './responses/response-turn.js'

/** What a request from inside the process says beyond its bytes. */
export interface Inside {
  /** The id that its response has to have. */
  readonly responseId?: string
  /** What only the connection that it came by remembers. */
  readonly local?: LocalMemory
  /** Address of the other end of the connection that it came by. */
  readonly connected?: string | undefined
}

/** Address of the other end of the connection that a request came by; undefined where the connection is gone. */
export function connectedFrom(request: IncomingMessage): string | undefined {
  return request instanceof InnerRequest ? request.inside.connected : request.socket.remoteAddress
}

/** A conversation that lives only in its connection. */
export interface LocalMemory {
  /** The conversation that ends with the response of that id. */
  find(id: string): Conversation | undefined
  /** Passes the current turn. */
  began(turn: ResponseTurn): void
}

/**
 * A request that no client's connection carries: a turn that came in a message, or one that runs on when its client has
 * gone. It goes the way of every other request, with the head of the one that it came from.
 */
export class InnerRequest extends IncomingMessage {
  readonly inside: Inside

  /** `rawHeaders` is a flat name, value list. */
  constructor(method: string, url: string, rawHeaders: readonly string[], body: Uint8Array, inside: Inside) {
    super(new Socket())
    this.inside = inside
    this.method = method
    this.url = url
    this.httpVersion = '1.1'
    this.rawHeaders = [...rawHeaders]
    this.headers = headersOf(rawHeaders)
    this.complete = true
    this.push(body)
    this.push(null)
  }
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

/** Takes an answer inside the process. */
export interface Receiver {
  /** `headers` is a flat name, value list. */
  head(status: number, headers: readonly string[]): void
  /** False asks the writer to pause until {@link InnerResponse.resume}. */
  data(bytes: Buffer): boolean
  /** The answer is whole. */
  end(): void
  /** It broke off. */
  broken(): void
}

/**
 * The response to an {@link InnerRequest}. It has no socket: everything that is written goes to its receiver at once.
 * It keeps the head in the base class, so that code that checks whether the head was sent gets the right answer.
 */
export class InnerResponse extends ServerResponse {
  readonly #receiver: Receiver
  #over = false

  constructor(request: IncomingMessage, receiver: Receiver) {
    super(request)
    this.#receiver = receiver
  }

  override writeHead(status: number, ...rest: unknown[]): this {
    super.writeHead(status, ...(rest as [string[]]))
    const headers = rest.find(one => Array.isArray(one)) as readonly string[] | undefined
    this.#receiver.head(status, headers ?? [])
    return this
  }

  override write(chunk: unknown): boolean {
    return this.#over || this.#receiver.data(bytesOf(chunk, 'utf8'))
  }

  override end(chunk?: unknown, encoding?: unknown): this {
    if (this.#over) return this
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) {
      this.#receiver.data(bytesOf(chunk, encoding === 'latin1' ? 'latin1' : 'utf8'))
    }
    this.#over = true
    markWritten(this)
    this.#receiver.end()
    queueMicrotask(() => this.emit('close'))
    return this
  }

  override destroy(): this {
    if (this.#over) return this
    this.#over = true
    this.destroyed = true
    this.#receiver.broken()
    queueMicrotask(() => this.emit('close'))
    return this
  }

  /** The receiver can take more. */
  resumed(): void {
    this.emit('drain')
  }
}

function bytesOf(chunk: unknown, encoding: 'utf8' | 'latin1'): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk, encoding)
  return chunk instanceof Uint8Array ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.alloc(0)
}
