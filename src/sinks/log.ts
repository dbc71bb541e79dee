import type { Writable } from 'node:stream'
import { LOG_LEVELS, type LogLevel } from '../core/config.js'
import type { CommonParts, GoodRequest, RequestEntry, Sink } from '../core/entry.js'
import { LineWriter } from './line-writer.js'
import { goodLine, requestLine } from './request-line.js'

type Severity = Exclude<LogLevel, 'fatal' | 'silent'>

/** Where lines go. */
interface Lines {
  write(line: string): unknown
  /** The same for a line of ASCII. */
  writeAscii(line: string): unknown
  close?(): Promise<void>
}

/** Opens the log on a stream, or on standard error in batches. `worker`: its number, in each line. */
export function openLog(level: LogLevel, stream?: Writable, worker?: number): Log {
  const lines = linesTo(stream, worker !== undefined)
  return new Log(level, worker === undefined ? lines : marked(lines, `{"worker":${worker},`))
}

function linesTo(stream: Writable | undefined, isShared: boolean): Lines {
  if (stream === undefined) return new LineWriter(2, isShared ? ATOMIC_BYTES : undefined)
  const write = (line: string): boolean => stream.write(line)
  return { write, writeAscii: write }
}

/** What the system writes to a pipe as one piece (PIPE_BUF of Linux): other workers write to it as well. */
const ATOMIC_BYTES = 4096

/** Lines that begin with this instead of a brace. */
function marked(lines: Lines, mark: string): Lines {
  return {
    write: line => lines.write(mark + line.slice(1)),
    writeAscii: line => lines.writeAscii(mark + line.slice(1)),
    close: async () => await lines.close?.(),
  }
}

/** The structured log: one JSON line an event, one line a request. Fields hold names and numbers, never bodies or secrets. */
export class Log implements Sink {
  readonly #lines: Lines
  #least = 0
  #infos = false
  debugs = false
  traces = false

  constructor(level: LogLevel, lines: Lines) {
    this.#lines = lines
    this.level(level)
  }

  /** Writes lines of this level and above from now on. */
  level(level: LogLevel): void {
    this.#least = LOG_LEVELS.indexOf(level)
    this.#infos = this.#wants('info')
    this.debugs = this.#wants('debug')
    this.traces = this.#wants('trace')
  }

  record(entry: RequestEntry): void {
    const severity = entry.outcome === 'upstream_error' || entry.outcome === 'gateway_error' ? 'warn' : 'info'
    if (this.#wants(severity)) this.#lines.write(requestLine(entry, severity, time()))
  }

  recordGood(request: GoodRequest, parts: CommonParts, ended: number): void {
    if (!this.#infos) return
    const line = goodLine(request, parts, ended, time())
    if (parts.isAscii) this.#lines.writeAscii(line)
    else this.#lines.write(line)
  }

  trace(fields: object, message: string): void {
    this.#event('trace', fields, message)
  }

  debug(fields: object, message: string): void {
    this.#event('debug', fields, message)
  }

  info(fields: object, message: string): void {
    this.#event('info', fields, message)
  }

  warn(fields: object, message: string): void {
    this.#event('warn', fields, message)
  }

  error(fields: object, message: string): void {
    this.#event('error', fields, message)
  }

  /** Writes the rest of the batch. */
  async close(): Promise<void> {
    await this.#lines.close?.()
  }

  #event(level: Severity, fields: object, msg: string): void {
    if (this.#wants(level)) this.#lines.write(`${JSON.stringify({ level, time: time(), msg, ...fields })}\n`)
  }

  #wants(severity: Severity): boolean {
    return LOG_LEVELS.indexOf(severity) >= this.#least
  }
}

const SECOND_MS = 1000

let stampedAt = 0
let stamp = ''
/** The current second without its fraction, and when it began. */
let second = ''
let secondAt = Number.NaN

/** The time in ISO 8601; all but the milliseconds is formatted once a second. */
function time(): string {
  const now = Date.now()
  if (now === stampedAt) return stamp
  const milliseconds = now % SECOND_MS
  if (now - milliseconds !== secondAt) {
    secondAt = now - milliseconds
    second = new Date(secondAt).toISOString().slice(0, -'000Z'.length)
  }
  stampedAt = now
  stamp = `${second}${String(SECOND_MS + milliseconds).slice(1)}Z`
  return stamp
}
