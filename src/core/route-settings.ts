import type { Family } from './errors.js'

/** What the gateway answers by itself. */
export type Answer =
  | 'models'
  | 'model'
  | 'response'
  | 'response.delete'
  | 'response.input_items'
  | 'response.cancel'
  | 'response.compact'
  | 'conversation.create'
  | 'conversation'
  | 'conversation.update'
  | 'conversation.delete'
  | 'conversation.items'
  | 'conversation.items.create'
  | 'conversation.item'
  | 'conversation.item.delete'
  | 'completions'
  | 'completion'
  | 'completion.update'
  | 'completion.delete'
  | 'completion.messages'
  | 'client_secret'
  | 'usage'
  | 'openapi'

/** `json`: JSON, which is read; `multipart`: a form, which is read; `raw`: bytes that no one looks at; `none`: no body. */
export type RouteBody = 'json' | 'multipart' | 'raw' | 'none'

/** Limits that can differ for a route. */
export type RouteLimit =
  | 'body'
  | 'line'
  | 'event'
  | 'response'
  | 'depth'
  | 'members'
  | 'values'
  | 'parts'
  | 'field'
  | 'fields'

/** Clients of another family that share a route: a header that only they send tells them, and they are answered in its shape. */
export interface FamilyMark {
  readonly family: Family
  /** Lower case. */
  readonly header: string
}

export type Tunnel = 'raw' | 'framed'

export interface Pointer {
  /** `form`: a text field; where JSON is sent in place of the form, a member of it. */
  readonly from: 'body' | 'form' | 'path' | 'query' | 'header'
  /** Of a header in lower case. */
  readonly name: string
}

/** Where requests say whether they want a stream. */
export interface StreamPointer extends Pointer {
  /** What words there mean; any other word is refused. */
  readonly values?: Readonly<Record<string, boolean>>
  /** Of requests that say nothing; absent: false. */
  readonly byDefault?: boolean
}

/** Where requests name their model. */
export interface ModelPointer extends Pointer {
  /** Models by the words that stand for them there; any other word is a model's own name. */
  readonly values?: Readonly<Record<string, string>>
  /** The model of requests without a name there. */
  readonly byDefault?: string
}

/** The framing of a route's streams: one, unless the client's query names another. */
export interface RouteFraming {
  readonly byDefault: Framing
  /** The query parameter that chooses, and what its values mean. */
  readonly parameter: string | undefined
  readonly values: Readonly<Record<string, Framing>>
}

/** How a stream is cut into messages: events with LF or CRLF, a JSON document a line, one JSON array, or messages in binary. */
export type Framing = 'sse' | 'sse-crlf' | 'ndjson' | 'array' | 'aws-eventstream'

/** Paths that the gateway always answers itself, without a key. */
export const HEALTH_PATHS: readonly string[] = ['/livez', '/readyz']
