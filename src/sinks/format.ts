import type { Fields, LogRecord } from '../core/log-record.js'

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
