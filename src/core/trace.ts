import { randomHex } from './random-hex.js'

const TRACE_BYTES = 16
const SPAN_BYTES = 8

/** Version, trace, parent and flags; only versions after 00 may be longer than 55 characters. Source: W3C Trace Context, §3.2. */
const TRACEPARENT = /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/
/** The flag of a sampled trace. Source: W3C Trace Context, §3.2.2.5.1. */
const SAMPLED = 1

/** The place of a request, or of a task, in its trace (W3C Trace Context). Ids in lower-case hex. */
export class TraceContext {
  /** 32 digits. */
  readonly id: string
  /** The span in which it was made, 16 digits; undefined: it begins the trace. */
  readonly parent: string | undefined
  /** Whether who made it records the trace; undefined: it begins the trace. */
  readonly isSampled: boolean | undefined
  #span: string | undefined

  constructor(id: string, parent?: string, isSampled?: boolean) {
    this.id = id
    this.parent = parent
    this.isSampled = isSampled
  }

  /** The id of its own span. */
  get span(): string {
    this.#span ??= newSpanId()
    return this.#span
  }

  /** What is made within it. */
  inner(isSampled = this.isSampled): TraceContext {
    return new TraceContext(this.id, this.span, isSampled)
  }
}

/** What a `traceparent` says; a new trace if it is absent or invalid. */
export function traceContextOf(traceparent: unknown): TraceContext {
  const parts = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null
  if (parts === null) return new TraceContext(randomHex(TRACE_BYTES))
  const [, id = '', parent, flags = ''] = parts
  return new TraceContext(id, parent, (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED)
}

/** The place of a request in its trace, as it is kept for what follows from it. */
export interface TraceMark {
  readonly id: string
  /** The span of the request. */
  readonly span: string
  /** As of {@link TraceContext.isSampled}. */
  readonly sampled?: boolean
}

export function markOf({ id, span, isSampled }: TraceContext): TraceMark {
  return { id, span, ...(isSampled === undefined ? {} : { sampled: isSampled }) }
}

export function newSpanId(): string {
  return randomHex(SPAN_BYTES)
}

export function traceparentOf(trace: string, span: string, isSampled: boolean): string {
  return `00-${trace}-${span}-${isSampled ? '01' : '00'}`
}
