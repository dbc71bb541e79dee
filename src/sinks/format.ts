import type { LogLevel } from '../core/log-config.js'
import type { Fields } from './request-fields.js'

export type Severity = Exclude<LogLevel, 'fatal' | 'silent'>

/** One line of the log before it has a form. An exporter gets the same (`Log.onRecord`). */
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

/** Makes a line of a record, newline included. */
export type Format = (record: LogRecord) => string

/** What is there, under other names: `undefined` values are left out. */
export function renamed(fields: Fields, names: Readonly<Record<string, string>>): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined) result[names[name] ?? `gateway.${name}`] = value
  }
  return result
}
