import type { Secret } from './secret.js'

/** What is sent to a collector of OpenTelemetry. */
export interface TelemetryConfig {
  readonly otlp: OtlpConfig
  /** `service.name` of all of it. */
  readonly service: string
  /** Whether metrics are sent. */
  readonly metrics: boolean
  /** Whether lines of the log are sent. */
  readonly logs: boolean
  /** Absent: no spans. */
  readonly traces?: TracesConfig
}

/** Where the collector is. Durations in milliseconds. */
export interface OtlpConfig {
  /** Without a slash at its end. */
  readonly endpoint: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, Secret>>
  /** Time between two exports of all metrics. */
  readonly interval: number
  /** Time for one sending. */
  readonly timeout: number
}

/** What the spans of a key's requests hold of their content. */
export interface TraceContentConfig {
  readonly content: 'masked' | 'full'
  /** Further texts that are masked. */
  readonly words: readonly string[]
  /** Most bytes of a body, and of an answer. */
  readonly size: number
}

export interface TracesConfig {
  readonly sample: SampleConfig
  /** Whether the flag of a caller's `traceparent` decides. */
  readonly parent: 'follow' | 'ignore'
  /** Whether spans of some key's requests hold content. */
  readonly hasContent: boolean
}

/** Shares from 0 to 1. */
interface SampleConfig {
  readonly errors: number
  readonly slow: number
  /** Milliseconds. */
  readonly slow_after: number
  readonly rest: number
}
