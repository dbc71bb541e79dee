import type { Entry, StoredEntry } from '../core/accounts.js'

/** Memory of an entry besides its value. */
const ENTRY_OVERHEAD_BYTES = 128

interface Day {
  readonly values: Buffer[]
  /** How many of the oldest had to make room. */
  gone: number
  bytes: number
}

/** Entries of this process by their day, at most so many bytes: the oldest days make room, then the oldest entries. */
export class MemoryLedger {
  readonly #maxBytes: number
  readonly #days = new Map<string, Day>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  append({ day: name, value }: Entry): void {
    const day = this.#days.get(name) ?? { values: [], gone: 0, bytes: 0 }
    this.#days.set(name, day)
    day.values.push(Buffer.from(value))
    this.count(day, costOf(value))
    while (this.#bytes > this.#maxBytes && this.#days.size > 1) this.drop(this.days()[0] ?? name)
    if (this.#bytes > this.#maxBytes) this.cut(day)
  }

  entries(name: string, { after, limit }: { readonly after: number; readonly limit: number }): readonly StoredEntry[] {
    const day = this.#days.get(name)
    if (day === undefined) return []
    const from = Math.max(0, after - day.gone)
    const found = day.values.slice(from, from + limit)
    return found.map((value, index) => ({ sequence: day.gone + from + index + 1, value }))
  }

  days(): readonly string[] {
    return [...this.#days.keys()].sort()
  }

  drop(name: string): void {
    const day = this.#days.get(name)
    if (day === undefined) return
    this.#days.delete(name)
    this.#bytes -= day.bytes
  }

  clear(): void {
    this.#days.clear()
    this.#bytes = 0
  }

  /** A tenth at a time: to take out the first one moves all others. */
  private cut(day: Day): void {
    const oldest = day.values.splice(0, Math.ceil(day.values.length / 10))
    day.gone += oldest.length
    this.count(day, -oldest.reduce((sum, value) => sum + costOf(value), 0))
  }

  private count(day: Day, bytes: number): void {
    day.bytes += bytes
    this.#bytes += bytes
  }
}

function costOf(value: Uint8Array): number {
  return value.length + ENTRY_OVERHEAD_BYTES
}
