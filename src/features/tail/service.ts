import { randomUUID } from 'node:crypto'
import type { RequestEntry } from '../../core/entry.js'
import { type Peers, topic } from '../../core/peers.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Service } from '../../kernel/stages.js'
import { requestLine } from '../../sinks/request-line.js'
import { matches, type TailFilter } from './filter.js'
import { Reader } from './reader.js'

/** Most readers of one process. */
const MAX_READERS = 16
/** A worker repeats what its readers want, and forgets what another one's wanted that has not repeated it, milliseconds. */
const RENEW_MS = 2000
const FORGET_MS = 10_000
/** How long lines for another worker are gathered, milliseconds, and how many at most. */
const GATHER_MS = 100
const MAX_GATHERED_LINES = 500

interface Watch {
  readonly reader: string
  /** Absent: the reader has left. */
  readonly filter?: TailFilter
}

interface Lines {
  readonly reader: string
  readonly lines: readonly string[]
  readonly lost: number
}

/** A reader of another worker. */
interface Distant {
  readonly filter: TailFilter
  /** Monotonic, milliseconds. */
  readonly until: number
  lines: string[]
  lost: number
}

const WATCH = topic<Watch>('tail: watch')
const LINES = topic<Lines>('tail: lines')

/** Gives request lines to those who read them at the moment, of all workers. Without a reader it does nothing. */
export class TailService implements Service {
  readonly #peers: Peers
  readonly #own = new Map<string, Reader>()
  readonly #distant = new Map<string, Distant>()
  #renewal: NodeJS.Timeout | undefined
  #gathering: NodeJS.Timeout | undefined

  constructor({ peers }: Kernel) {
    this.#peers = peers
    peers.on(WATCH, ({ reader, filter }) => {
      if (filter === undefined) this.#distant.delete(reader)
      else if (this.#distant.has(reader) || this.#distant.size < MAX_READERS) this.#watch(reader, filter)
    })
    peers.on(LINES, ({ reader, lines, lost }) => {
      const own = this.#own.get(reader)
      for (const line of lines) own?.add(line)
      if (lost > 0) own?.lose(lost)
    })
  }

  #watch(reader: string, filter: TailFilter): void {
    const { lines = [], lost = 0 } = this.#distant.get(reader) ?? {}
    this.#distant.set(reader, { filter, until: performance.now() + FORGET_MS, lines, lost })
  }

  get isRead(): boolean {
    return this.#own.size > 0 || this.#distant.size > 0
  }

  /** Undefined where too many read already. */
  read(filter: TailFilter): Reader | undefined {
    if (this.#own.size >= MAX_READERS) return undefined
    const id = randomUUID()
    const reader = new Reader(filter, () => {
      this.#own.delete(id)
      this.#peers.tell(WATCH, { reader: id })
      if (this.#own.size > 0) return
      clearInterval(this.#renewal)
      this.#renewal = undefined
    })
    this.#own.set(id, reader)
    this.#peers.tell(WATCH, { reader: id, filter })
    this.#renewal ??= setInterval(() => {
      for (const [other, { filter: wanted }] of this.#own) this.#peers.tell(WATCH, { reader: other, filter: wanted })
    }, RENEW_MS).unref()
    return reader
  }

  publish(entry: RequestEntry): void {
    let made: string | undefined
    const line = (): string => {
      made ??= requestLine(entry, 'info', new Date().toISOString()).trimEnd()
      return made
    }
    for (const reader of this.#own.values()) if (reader.wants(entry)) reader.add(line())
    const now = performance.now()
    for (const [id, distant] of this.#distant) {
      if (distant.until < now) this.#distant.delete(id)
      else if (matches(distant.filter, entry)) this.#gather(distant, line())
    }
  }

  #gather(distant: Distant, line: string): void {
    if (distant.lines.length >= MAX_GATHERED_LINES) distant.lost++
    else distant.lines.push(line)
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      for (const [reader, one] of this.#distant) this.#hand(reader, one)
    }, GATHER_MS).unref()
  }

  #hand(reader: string, distant: Distant): void {
    const { lines, lost } = distant
    if (lines.length === 0 && lost === 0) return
    distant.lines = []
    // If the message is dropped, the next one says how many lines were in it.
    distant.lost = this.#peers.tell(LINES, { reader, lines, lost }) ? 0 : lost + lines.length
  }

  async close(): Promise<void> {
    clearTimeout(this.#gathering)
    for (const reader of this.#own.values()) await reader.return()
  }
}
