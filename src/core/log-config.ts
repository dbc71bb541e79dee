export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** `auto`: text on a terminal, else JSON. */
export const LOG_FORMATS = ['auto', 'json', 'text', 'ecs', 'otel'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/** How requests end, as their lines say it. */
type Ended = 'ok' | 'client_error' | 'upstream_error' | 'client_abort' | 'gateway_error'

/** What is written to the log, how, and where. */
export interface LogConfig {
  readonly level: LogLevel
  readonly format: LogFormat
  /** Absent: standard error. */
  readonly to?: LogFile
  /** Which share of the lines of requests is written, by how they ended. Absent: all. */
  readonly sample?: Partial<Readonly<Record<Ended, number>>>
  /** The only fields of the lines of requests, beside those that each line has. Absent: all. */
  readonly fields?: readonly string[]
}

export interface LogFile {
  /** Absolute. */
  readonly file: string
  /** Bytes after which another file is begun. */
  readonly size: number
  /** How long one file is written to, milliseconds. */
  readonly age: number
  /** How many former files are kept. */
  readonly keep: number
}
