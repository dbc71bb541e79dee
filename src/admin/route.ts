import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../core/json.js'
import type { Session } from './console/session.js'
import type { AdminHost } from './host.js'

/** JSON Schema, as OpenAPI 3.1 has it. */
export type Schema = JsonObject

/** One endpoint: the table of these is what the router serves, and what the OpenAPI document describes. */
export interface AdminRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `/admin/keys/{name}` */
  readonly path: string
  /** One line, for the document. */
  readonly summary: string
  /** Parameters of the query; all are optional, and others are refused. */
  readonly query?: Readonly<Record<string, Schema>>
  /** Of a JSON body; members that it does not name are refused. */
  readonly body?: Schema
  readonly status: number
  readonly answer: Schema
  /** The answer is a {@link TextAnswer}, and requests that are answered well are not logged: there is one every few seconds. */
  readonly isText?: true
  /** The answer is a {@link StreamAnswer} of this media type. */
  readonly stream?: 'text/event-stream' | 'application/json' | 'text/plain'
  /** Although it is not a GET, it changes nothing: sessions that may only look may use it. */
  readonly isReading?: true
  /** Browsers come here from other pages, and what it does needs no session. */
  readonly isNavigation?: true
  /** Largest body, bytes; absent: the usual bound. */
  readonly maxBytes?: number
  /** Whether no key is asked for now. */
  isOpen?(host: AdminHost): boolean
  /** Throws {@link AdminError}. */
  handle(request: AdminRequest, host: AdminHost): Promise<unknown>
}

export interface TextAnswer {
  readonly type: string
  readonly text: string
}

/** An answer that is sent in pieces, as fast as its client reads them; it ends with the client. */
export interface StreamAnswer {
  readonly pieces: AsyncIterable<string | Uint8Array> | readonly string[]
  /** The name under which clients store it. */
  readonly file?: string
  /** Absent: 200, and the type of the route. */
  readonly status?: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface AdminRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Empty where there is none. */
  readonly body: JsonObject
  readonly headers: IncomingHttpHeaders
  /** The `accept` header. */
  readonly accept: string | undefined
  /** Address that it came from. */
  readonly client: string | undefined
  readonly isEncrypted: boolean
  /** That of the console; absent: the request has the admin key. */
  readonly session: Session | undefined
  /** Aborted once the client has gone, or has its answer. */
  readonly gone: AbortSignal
  /** For the answer. */
  setCookie(cookie: string): void
}

/** What a client of the admin API gets: `{ "error": { "type", "message" } }`. */
export class AdminError extends Error {
  override readonly name = 'AdminError'
  readonly status: number
  readonly type: string
  /** Further members of the error. */
  readonly more: object

  constructor(status: number, type: string, message: string, more: object = {}) {
    super(message)
    this.status = status
    this.type = type
    this.more = more
  }
}

/** What is logged where no one waits for the answer. */
export const clientGone = (): AdminError => new AdminError(499, 'client_gone', 'the client has gone away')

export const TEXT: Schema = { type: 'string' }
export const FLAG: Schema = { type: 'boolean' }
export const COUNT: Schema = { type: 'integer', minimum: 0 }
/** Milliseconds since the epoch. */
export const MOMENT: Schema = { type: 'integer', description: 'Milliseconds since the epoch.' }

export function objectOf(properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema {
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required: [...required] }) }
}
