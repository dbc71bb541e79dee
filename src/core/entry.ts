import type { ErrorCode } from './errors.js'
import type { LogRecord } from './log-record.js'
import type { Usage } from './plan.js'

/** How a request ended, for its one log line and its one usage entry. */
export type Outcome = 'ok' | 'client_error' | 'upstream_error' | 'client_abort' | 'gateway_error'

/** One try at one target. */
export interface AttemptNote {
  readonly upstream: string
  readonly model: string
  /** `ok`, or the phase that failed: `queue`, `connect`, `first_byte`, `reset`, `status`, `bad_response`, `idle`, `total`, … */
  readonly phase: string
  /** The upstream's status, where it gave one. */
  readonly status: number | undefined
  readonly milliseconds: number
  /** It was made beside another one that had not answered in its time. */
  readonly hedge?: true
  /** Why it failed, unless its answer had begun: then the entry alone has it. */
  readonly cause?: string | undefined
}

/** What is known of one settled request. Durations in milliseconds. Holds no body, no header value and no secret. */
export interface RequestEntry {
  /** Letters, digits and a few marks: it needs no escaping. */
  readonly id: string
  /** The request's trace (W3C Trace Context), 32 hexadecimal digits. */
  readonly trace: string
  /** Of a copy that a mirror got: the id of the client's request. */
  readonly copyOf?: string | undefined
  /** A method that Node knows. */
  readonly method: string
  readonly route: string | undefined
  /** What was asked for where no route has it: the path, cut, without its query. */
  readonly path?: string | undefined
  /** Address that the request came from. */
  readonly client?: string | undefined
  readonly key: string | undefined
  readonly model: string | undefined
  readonly upstream: string | undefined
  readonly status: number
  readonly outcome: Outcome
  readonly stream: boolean
  readonly error: ErrorCode | undefined
  readonly cause: string | undefined
  readonly phase: string | undefined
  readonly limit: string | undefined
  /** Which field or header of the request was refused, cut, and by which rule (`required`, `type`, `range`, …). */
  readonly param?: string | undefined
  readonly rule?: string | undefined
  readonly attempts: readonly AttemptNote[]
  readonly milliseconds: { readonly first: number | undefined; readonly total: number }
  readonly bytes: { readonly in: number; readonly out: number }
  readonly events: number
  /** Bytes that an upstream sent after its stream had ended; dropped. */
  readonly trailing: number
  readonly truncated: boolean
  /** The answer began before all of an upload had come. */
  readonly early: boolean
  readonly usage: Usage | undefined
  /** Millionths of a USD, as the ledger has it. Absent: nothing was charged, or nothing is counted. */
  readonly cost?: number | undefined
  /** How a WebSocket that was passed through ended: its close code (RFC 6455 §7.1.5), and who ended it. */
  readonly closed: { readonly code: number; readonly by: 'client' | 'upstream' | 'gateway' } | undefined
  /** What translation to the upstream's protocol left out, by the client's names. */
  readonly dropped: readonly string[]
  /** Why a URL of the client's was not fetched. */
  readonly blocked: string | undefined
  readonly generation: number
}

/** The parts of a line that are the same for all good requests of one method, route, key, model and target. */
export interface CommonParts {
  /** `,"method":` up to the client. */
  readonly route: string
  /** After the client, up to the status. */
  readonly names: string
  readonly isAscii: boolean
  /** What the parts were made of. */
  readonly named: Pick<RequestEntry, 'method' | 'route' | 'key' | 'model' | 'upstream'> & { readonly target: string }
}

/** A request that one attempt answered well: {@link RequestEntry} without what only others have. Times as `performance.now()`. */
export interface GoodRequest {
  readonly id: string
  readonly trace: { readonly id: string }
  readonly client: string | undefined
  readonly status: number
  readonly stream: boolean
  /** As `performance.now()`. */
  readonly started: number
  readonly ended: number
  readonly tally: {
    readonly firstByte: number | undefined
    readonly bytesIn: number
    readonly bytesOut: number
    readonly events: number
  }
  readonly usage: Usage | undefined
  readonly generation: { readonly number: number }
}

/** Where settled requests go. `record` and `recordGood` never throw and never wait. */
export interface Sink {
  record(entry: RequestEntry): void
  /** The same line, without an entry in between. `cost`: as {@link RequestEntry.cost}. */
  recordGood(request: GoodRequest, parts: CommonParts, cost?: number): void
  /** Whether lines of these levels are written: what goes into them is gathered only then. */
  readonly debugs: boolean
  readonly traces: boolean
  debug(fields: object, message: string): void
  trace(fields: object, message: string): void
  /** Also gets each line that is written: an exporter's place. It must not throw, and must not keep the caller waiting. */
  onRecord?: ((record: LogRecord) => void) | undefined
  /** Lines that were lost, because their reader or disk was too slow or full. */
  readonly dropped?: number
}
