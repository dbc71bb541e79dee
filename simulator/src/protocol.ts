import type { Family, SimulatorError } from './errors.js'
import type { Faults } from './faults/table.js'
import type { FormFile } from './form.js'
import type { Json, JsonObject } from './json.js'
import type { Memory } from './memory.js'
import type { Seed } from './seed.js'
import type { Tasks } from './tasks/tasks.js'

/** One operation of one protocol. A new protocol is a file or a folder that makes these by {@link endpoint}, and a line in `routes.ts`. */
export interface Protocol {
  readonly method: string
  /** An exact path, or one with a `{parameter}` that takes any text, slashes included; of several, `parameter` is the last. */
  readonly path: string
  /** For paths that several share: whether a request with these headers, query and parameter is meant for this one. */
  readonly serves?: (headers: RequestHeaders, query: URLSearchParams, parameter: string) => boolean
  /** What the seed begins with; the path, where nothing else is said. Two ways to the same answer have it in common. */
  readonly operation?: string
  /** JSON, a multipart form, either, or any bytes; nothing is read if nothing is said. */
  readonly body?: 'json' | 'form' | 'form-or-json' | 'bytes'
  readonly family: Family
  /** Names to list as models of this operation, if any; any other name serves as well. */
  readonly models?: readonly string[]
  /** Faults that neither the model's name nor a header brings: those of the task that is asked for. */
  readonly recall?: (asked: Pick<Call, 'parameter' | 'body'>) => Recalled | undefined
  /** Throws {@link SimulatorError} to refuse. */
  readonly answer: (call: Call) => Answer
}

type Options = Omit<Protocol, 'method' | 'path' | 'family' | 'answer'>
type Answers = Protocol['answer']

/** Declares one operation by its method and path: `endpoint(native, 'GET /v1beta/batches/{id}', call => …)`. */
export function endpoint(
  family: Family,
  target: string,
  ...rest: readonly [Answers] | readonly [Options, Answers]
): Protocol {
  const [method = '', path = ''] = target.split(' ')
  const [options, answer] = rest.length === 1 ? [{}, rest[0]] : rest
  return { method, path, family, ...options, answer }
}

/** By lower-case name. */
export type RequestHeaders = Readonly<Record<string, string>>

export interface Recalled {
  readonly faults: Faults
  /** What their strikes are counted for. */
  readonly scope: string
}

/** A request, read and taken apart. */
export interface Call {
  /** The decoded path parameter; empty where the path has none. */
  readonly parameter: string
  readonly query: URLSearchParams
  /** The JSON body, or the text fields of a form, without the faults in the model's name; empty without a body. */
  readonly body: JsonObject
  /** The unchanged body, for operations that take bytes; else empty. */
  readonly bytes: Buffer
  readonly headers: RequestHeaders
  /** Where the client believes that we are: `http://127.0.0.1:8080`. */
  readonly origin: string
  /** Files of a form; `undefined` where the body was none. */
  readonly files: readonly FormFile[] | undefined
  /** What the header and the model's name ask of the simulator, written as a query. */
  readonly asked: string
  readonly faults: Faults
  readonly seed: Seed
  readonly requestId: string
  /** Every model that the family lists. */
  readonly models: readonly string[]
  readonly memory: Memory
  readonly tasks: Tasks
  /** Milliseconds since the epoch. Only tasks look at it. */
  readonly now: number
  /** Answers one request of a batch. */
  readonly inner: (path: string, body: Json) => InnerAnswer
}

/** The answer to one request of a batch, as it would have been by itself. */
export interface InnerAnswer {
  readonly status: number
  readonly requestId: string
  readonly body: Json
}

export type Answer = Document | EventStream | ByteStream

/** An answer that is sent whole. */
export interface Document {
  readonly kind: 'document'
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
}

/** An answer that is sent event by event. */
export interface EventStream {
  readonly kind: 'events'
  readonly headers: Headers
  /** How events are written: with line feeds, with CRLF, as their `data` alone, or in binary. Line feeds if nothing is said. */
  readonly writing?: Writing
  readonly events: Iterable<StreamEvent>
  /** What this protocol sends when it fails in the middle of a stream. */
  readonly failure: (error: SimulatorError) => readonly StreamEvent[]
}

/** An answer of bytes that are sent as they are made. */
export interface ByteStream {
  readonly kind: 'bytes'
  /** 200, if nothing is said. */
  readonly status?: number
  readonly headers: Headers
  /** Bytes of all pieces together, which the head tells; left out, the answer goes out in chunks. */
  readonly length?: number
  readonly pieces: Iterable<Uint8Array>
}

export type Writing = 'lf' | 'crlf' | 'bare' | 'eventstream'

export interface StreamEvent {
  readonly event?: string
  readonly data: string
  /** Ends the stream. */
  readonly terminal?: true
}

export type Headers = Readonly<Record<string, string>>

/** A JSON document; members that are `undefined` are left out. */
export function json(value: object, status = 200, headers: Headers = {}): Document {
  const body = Buffer.from(JSON.stringify(value))
  return { kind: 'document', status, headers: { 'content-type': 'application/json', ...headers }, body }
}

const EVENT_STREAM: Headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

/** Server-sent events; `failure` is what this protocol sends when it fails in the middle of them. */
export function eventStream(events: Iterable<StreamEvent>, failure: EventStream['failure']): EventStream {
  return { kind: 'events', headers: EVENT_STREAM, events, failure }
}

/** An event that is named for the `type` in its data. */
export function namedEvent(type: string, fields: object): StreamEvent {
  return { event: type, data: JSON.stringify({ type, ...fields }) }
}

/** An event without a name. */
export function dataEvent(data: object): StreamEvent {
  return { data: JSON.stringify(data) }
}

/** The event that ends most streams of the compatible family. */
export const DONE: StreamEvent = { data: '[DONE]', terminal: true }
