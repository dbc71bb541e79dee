import type { Upstream } from '../core/plan.js'
import { type TraceMark, traceparentOf } from '../core/trace.js'
import type { ExchangeObserver, UpstreamRequest } from '../net/pools.js'
import type { Generation } from './generation.js'

/** A call that follows from a request, and is made outside of it: about its task, or to notify its client. */
export interface OutsideCall {
  /** What it does: `retrieve`, `webhook`. */
  readonly name: string
  readonly task: string
  /** Of the request. */
  readonly trace: TraceMark
  readonly method: string
  /** Absent: it is not an upstream that is called. */
  readonly upstream?: string
  /** Of who is called: `https://host:port`. */
  readonly origin: string
}

export interface WatchedCall {
  /** The header to send. */
  readonly traceparent: string
  /** Without a status there was no answer. */
  ended(status: number | undefined): void
}

/** A call about a task, as it is sent. */
export interface TaskCallSent {
  readonly generation: Generation
  readonly upstream: Upstream
  /** The route that began the task, the caller's key, and the model as clients and the upstream name it. */
  readonly route: string
  readonly key: string
  readonly model: string
  readonly target: string
  readonly request: UpstreamRequest
}

/** Looks on at the exchange of a call about a task, if it wants to. */
export type TaskObserver = (call: TaskCallSent) => ExchangeObserver | undefined

/** Looks on at such calls. */
export type CallWatcher = (call: OutsideCall) => WatchedCall

/** Who is called is in the trace of the request, also if no spans are sent. */
export const unwatched: CallWatcher = ({ trace: { id, span, sampled = false } }) => ({
  traceparent: traceparentOf(id, span, sampled),
  ended: () => undefined,
})
