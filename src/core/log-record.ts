import type { LogLevel } from './log-config.js'

export type Severity = Exclude<LogLevel, 'fatal' | 'silent'>

/** What a line says, by the names of the JSON format. Values are plain JSON, or absent. */
export type Fields = Readonly<Record<string, unknown>>

/** One line of the log before it has a form. */
export interface LogRecord {
  readonly severity: Severity
  /** Milliseconds since the epoch. */
  readonly at: number
  /** `request` for the one line of each request. */
  readonly message: string
  readonly fields: Fields
  /** Number of the process; undefined: it is the only one. */
  readonly worker: number | undefined
}
