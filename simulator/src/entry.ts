import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Ledger } from './delivery/perform.js'

/** One request that the simulator received, for tests that look at the upstream's side. */
export interface SimulatorEntry {
  /** Counts from 1, in the order of arrival. */
  readonly number: number
  readonly method: string
  /** Path and query, unchanged. */
  readonly path: string
  /** Lower-case names; no prototype. */
  readonly headers: Readonly<Record<string, string>>
  /** Names and values by turns, unchanged: repeated headers and letter case are visible here. */
  readonly rawHeaders: readonly string[]
  /** The first MiB of the body that has arrived. */
  readonly body: Buffer
  /** Bytes of the body in all. */
  readonly size: number
  /** 0 until the head has been sent. */
  readonly status: number
  /** Bytes of body that were written in answer. */
  readonly bytesSent: number
  /** Whether the client went away before it had the whole answer. */
  readonly aborted: boolean
  /** What broke inside the simulator: a bug of its own, never a fault that was asked for. */
  readonly problem: string | undefined
  /** Settles when nothing more will happen to this request. */
  readonly closed: Promise<void>
  toJSON(): object
}

const MAX_RECORDED_BYTES = 1024 * 1024
const NONE = Buffer.alloc(0)

/** The entry as it grows; its readers see the present state. */
export class Entry implements SimulatorEntry, Ledger {
  readonly number: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawHeaders: readonly string[]
  readonly closed: Promise<void>
  size = 0
  bytesSent = 0
  problem: string | undefined
  /** Bytes of the body that are kept. */
  kept = 0
  #response: ServerResponse | undefined
  #status = 0
  #end: 'open' | 'broken' | 'aborted' | 'complete' = 'open'
  #chunks: Buffer[] = []

  constructor(number: number, request: IncomingMessage, response: ServerResponse) {
    this.number = number
    this.method = request.method ?? ''
    this.path = request.url ?? ''
    this.headers = flat(request.headers)
    this.rawHeaders = request.rawHeaders
    this.#response = response
    this.closed = new Promise(resolve => response.once('close', () => resolve(this.#close(response))))
  }

  get body(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0] ?? NONE
  }

  get status(): number {
    return this.#response?.headersSent ? this.#response.statusCode : this.#status
  }

  get aborted(): boolean {
    return this.#end === 'aborted'
  }

  fail(error: unknown): void {
    this.problem = error instanceof Error ? (error.stack ?? error.message) : String(error)
  }

  receive(chunk: Buffer): void {
    this.size += chunk.length
    if (this.kept >= MAX_RECORDED_BYTES) return
    // A copy: a slice of what the socket read would hold on to the whole of it.
    const part = Buffer.from(chunk.subarray(0, MAX_RECORDED_BYTES - this.kept))
    this.kept += part.length
    this.#chunks.push(part)
  }

  sent(bytes: number): void {
    this.bytesSent += bytes
  }

  /** The connection has left HTTP. */
  upgraded(): void {
    this.#status = 101
    this.#response = undefined
    this.#end = 'complete'
  }

  broken(): void {
    this.#end = 'broken'
  }

  toJSON(): object {
    const { number, method, path, headers, size, status, bytesSent, aborted, problem } = this
    const text = { body: this.body.toString('utf8') }
    return { number, method, path, headers, size, status, bytesSent, aborted, problem, ...text }
  }

  #close(response: ServerResponse): void {
    if (this.#end === 'open') this.#end = response.writableFinished ? 'complete' : 'aborted'
    this.#status = this.status
    this.#response = undefined
  }
}

function flat(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const named: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) named[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return named
}

const MAX_BYTES = 64 * 1024 * 1024

/** The last requests: at most so many, and at most 64 MiB of their bodies. */
export class Received {
  /** Oldest first. One array for ever, so that a test may hold it. */
  readonly entries: Entry[] = []
  readonly #most: number
  #number = 0
  #bytes = 0

  constructor(most: number) {
    this.#most = most
  }

  add(request: IncomingMessage, response: ServerResponse): Entry {
    this.#number += 1
    const entry = new Entry(this.#number, request, response)
    this.entries.push(entry)
    this.#trim()
    return entry
  }

  /** Adds a piece of a request's body to its entry. */
  receive(entry: Entry, chunk: Buffer): void {
    const before = entry.kept
    entry.receive(chunk)
    this.#bytes += entry.kept - before
    this.#trim()
  }

  clear(): void {
    this.entries.length = 0
    this.#number = 0
    this.#bytes = 0
  }

  #trim(): void {
    while (this.entries.length > this.#most || (this.#bytes > MAX_BYTES && this.entries.length > 1)) {
      this.#bytes -= this.entries.shift()?.kept ?? 0
    }
  }
}
