import type { Writable } from 'node:stream'
import { isatty } from 'node:tty'
import type { CommonParts, GoodRequest, Outcome, RequestEntry, Sink } from '../core/entry.js'
import { LOG_LEVELS, type LogConfig, type LogFile, type LogLevel } from '../core/log-config.js'
import type { Fields, LogRecord, Severity } from '../core/log-record.js'
import { ecsFormat } from './ecs-format.js'
import type { Format } from './format.js'
import { jsonFormat } from './json-format.js'
import { LineWriter } from './line-writer.js'
import { type FileFault, RotatedFile } from './log-file.js'
import { nextStep } from './next-steps.js'
import { otelFormat } from './otel-format.js'
import { goodFields, requestFields } from './request-fields.js'
import { goodLine, requestLine } from './request-line.js'
import { textFormat } from './text-format.js'

/** Where lines go. */
interface Lines {
  write(line: string): unknown
  /** The same for a line of ASCII. */
  writeAscii(line: string): unknown
  close?(): Promise<void>
  readonly isTerminal: boolean
  readonly dropped?: number
}

/** What the admin API shows of the log. */
export interface LogState {
  readonly level: LogLevel
  /** The level of the file. */
  readonly configured: LogLevel
  readonly format: LogConfig['format']
  readonly to: string
  /** Lines that were lost, because their reader or disk was too slow or full. */
  readonly dropped: number
}

/**
 * Opens the log where its settings say; `stream` is in place of standard error. `worker`: the number of the process, in each line.
 * Throws the system's error where its file cannot be opened.
 */
export function openLog(config: LogConfig, stream?: Writable, worker?: number): Log {
  return new Log(config, stream, worker)
}

/** What the system writes to a pipe as one piece (PIPE_BUF of Linux): other workers write to it as well. */
const ATOMIC_BYTES = 4096

/** Fields of each line of a request, also where `fields` does not list them. */
const ALWAYS: readonly string[] = ['id', 'trace']

/** The structured log: one line an event, one line a request. Fields hold names and numbers, never bodies or secrets. */
export class Log implements Sink {
  readonly #stream: Writable | undefined
  readonly #worker: number | undefined
  /** What the lines of this process have in place of their brace, in JSON. */
  readonly #mark: string
  #config: LogConfig
  #lines: Lines
  /** Lines that were lost at former places. */
  #droppedBefore = 0
  #format: Format = jsonFormat
  /** Lines of requests are JSON, and nothing is left out of them. */
  #isQuick = true
  #onRecord: ((record: LogRecord) => void) | undefined
  #level: LogLevel
  #least = 0
  #infos = false
  debugs = false
  traces = false

  constructor(config: LogConfig, stream?: Writable, worker?: number) {
    this.#stream = stream
    this.#worker = worker
    this.#mark = worker === undefined ? '{' : `{"worker":${worker},`
    this.#config = config
    this.#level = config.level
    this.#lines = this.#open(config)
    this.#adopt(config)
    this.level(config.level)
  }

  /** Takes over the settings of a plan. The level stays that of {@link level} unless the settings have another one than before. */
  configure(config: LogConfig): void {
    const before = this.#config
    if (config === before) return
    if (JSON.stringify(config.to) !== JSON.stringify(before.to) && !this.#move(config)) {
      this.#config = { ...config, ...(before.to === undefined ? {} : { to: before.to }) }
    } else this.#config = config
    this.#adopt(config)
    if (config.level !== before.level) this.level(config.level)
  }

  /** Writes lines of this level and above from now on. */
  level(level: LogLevel): void {
    this.#level = level
    this.#least = LOG_LEVELS.indexOf(level)
    this.#infos = this.#wants('info')
    this.debugs = this.#wants('debug')
    this.traces = this.#wants('trace')
  }

  set onRecord(onRecord: ((record: LogRecord) => void) | undefined) {
    this.#onRecord = onRecord
    this.#adopt(this.#config)
  }

  get state(): LogState {
    const { level: configured, format, to } = this.#config
    return { level: this.#level, configured, format, to: to?.file ?? 'stderr', dropped: this.dropped }
  }

  get dropped(): number {
    return this.#droppedBefore + (this.#lines.dropped ?? 0)
  }

  record(entry: RequestEntry): void {
    const severity = entry.outcome === 'upstream_error' || entry.outcome === 'gateway_error' ? 'warn' : 'info'
    if (!this.#wants(severity)) return
    if (this.#isQuick) this.#lines.write(this.#marked(requestLine(entry, severity, time())))
    else this.#request(severity, entry.outcome, () => requestFields(entry))
  }

  recordGood(request: GoodRequest, parts: CommonParts, cost?: number): void {
    if (!this.#infos) return
    if (!this.#isQuick) {
      this.#request('info', 'ok', () => goodFields(request, parts, cost))
      return
    }
    const line = this.#marked(goodLine(request, parts, time(), cost))
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

  #open({ to }: LogConfig): Lines {
    if (to === undefined && this.#stream !== undefined) return linesOf(this.#stream)
    const isShared = this.#worker !== undefined
    const writer =
      to === undefined ? new LineWriter(2, isShared ? ATOMIC_BYTES : undefined) : new LineWriter(this.#fileAt(to))
    writer.onDropped = dropped => this.warn({ dropped, next: DROPPED }, 'lines of the log were lost')
    return Object.assign(writer, { isTerminal: to === undefined && isatty(2) })
  }

  #fileAt(to: LogFile): RotatedFile {
    const file = new RotatedFile(to)
    file.onFault = (fault, { message: error }) => {
      const fields = { file: to.file, error, next: NEXT_OF_FILES }
      this.warn(fields, FAULTS_OF_FILES[fault])
      if (fault === 'grows') return
      const record = { severity: 'warn', at: Date.now(), message: FAULTS_OF_FILES[fault], fields } as const
      const stream = this.#stream ?? process.stderr
      stream.write(this.#format({ ...record, worker: this.#worker }))
    }
    return file
  }

  /** False: the new place cannot be opened, so the old one stays. */
  #move(config: LogConfig): boolean {
    const before = this.#lines
    try {
      this.#lines = this.#open(config)
    } catch (cause) {
      const next = 'check that the folder exists and that the process may write to it, then reload'
      this.error(
        { file: config.to?.file, error: String(cause), next },
        'the file of the log cannot be opened; the old place stays',
      )
      return false
    }
    this.#droppedBefore += before.dropped ?? 0
    void before.close?.()
    return true
  }

  #adopt({ format, fields, sample }: LogConfig): void {
    const { isTerminal } = this.#lines
    const word = format === 'auto' ? (isTerminal ? 'text' : 'json') : format
    this.#format = word === 'text' ? textFormat(isTerminal && mayColour()) : FORMATS[word]
    const isWhole = fields === undefined && sample === undefined && this.#onRecord === undefined
    this.#isQuick = word === 'json' && isWhole
  }

  #marked(line: string): string {
    return this.#worker === undefined ? line : this.#mark + line.slice(1)
  }

  #request(severity: Severity, outcome: Outcome, fieldsOf: () => Fields): void {
    const share = this.#config.sample?.[outcome]
    if (share !== undefined && share < 1 && Math.random() >= share) return
    const fields = this.#chosen(fieldsOf())
    this.#put({
      severity,
      message: 'request',
      fields: share === undefined || share >= 1 ? fields : { ...fields, sample: share },
    })
  }

  #chosen(fields: Fields): Fields {
    const { fields: names } = this.#config
    if (names === undefined) return fields
    return Object.fromEntries([...ALWAYS, ...names].map(name => [name, fields[name]]))
  }

  #event(severity: Severity, fields: object, message: string): void {
    if (!this.#wants(severity)) return
    const next = severity === 'warn' || severity === 'error' ? nextStep(message) : undefined
    this.#put({ severity, message, fields: { ...fields, ...(next === undefined ? {} : { next }) } })
  }

  #put({ severity, message, fields }: Pick<LogRecord, 'severity' | 'message' | 'fields'>): void {
    const record = { severity, at: Date.now(), message, fields, worker: this.#worker }
    this.#lines.write(this.#format(record))
    this.#onRecord?.(record)
  }

  #wants(severity: Severity): boolean {
    return LOG_LEVELS.indexOf(severity) >= this.#least
  }
}

const DROPPED = 'read the log faster, give it a larger disk, or write less: a higher log.level, or log.sample'

const FAULTS_OF_FILES: Readonly<Record<FileFault, string>> = {
  grows: 'the file of the log cannot be changed for a new one, and grows without a bound',
  lost: 'the file of the log was removed and cannot be made again; its lines are lost',
}
const NEXT_OF_FILES = 'let the process write to the folder of log.to, or name another file and reload'

const FORMATS: Readonly<Record<'json' | 'ecs' | 'otel', Format>> = {
  json: jsonFormat,
  ecs: ecsFormat,
  otel: otelFormat,
}

function linesOf(stream: Writable): Lines {
  const write = (line: string): boolean => stream.write(line)
  return { write, writeAscii: write, isTerminal: 'isTTY' in stream && stream.isTTY === true }
}

/** https://no-color.org */
function mayColour({ NO_COLOR, TERM }: NodeJS.ProcessEnv = process.env): boolean {
  return (NO_COLOR === undefined || NO_COLOR === '') && TERM !== 'dumb'
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
