import type { Entry, EntryRun, StoredEntry } from '../core/accounts.js'

/** Memory of an entry besides its value, at most. */
const ENTRY_OVERHEAD_BYTES = 128
/** Entries share blocks: as objects of their own they would be most of what the collector of garbage has to look at. */
const BLOCK_BYTES = 64 * 1024
/** A block is at most this part of the ledger, since the oldest one makes room as a whole. */
const MAX_BLOCK_SHARE = 1 / 16

/** Entries that follow each other in bytes which others may share. */
interface Block {
  readonly bytes: Buffer
  readonly start: number
  /** Where each of them ends. */
  readonly ends: number[]
  /** How many of its day came before. */
  readonly first: number
}

interface Day {
  readonly blocks: Block[]
  count: number
  bytes: number
}

/** Entries of this process by their day, at most so many bytes: the oldest days make room, then the oldest entries. */
export class MemoryLedger {
  readonly #maxBytes: number
  readonly #days = new Map<string, Day>()
  #bytes = 0
  /** Of entries that had to be copied, and how much of it is written. */
  #copies: Buffer = Buffer.alloc(0)
  #copied = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  append(entries: readonly Entry[]): void {
    for (const entry of entries) this.adopt(this.copy(entry))
  }

  /** Entries that stay where they are. */
  adopt({ day: name, bytes, start, ends }: EntryRun): void {
    const day = this.#days.get(name) ?? { blocks: [], count: 0, bytes: 0 }
    this.#days.set(name, day)
    const last = day.blocks.at(-1)
    if (last?.bytes === bytes && last.ends.at(-1) === start) for (const end of ends) last.ends.push(end)
    else day.blocks.push({ bytes, start, ends: [...ends], first: day.count })
    day.count += ends.length
    this.count(day, sizeOf(start, ends))
    if (this.#bytes > this.#maxBytes) this.makeRoom()
  }

  /** One behind the other, as those that are adopted. */
  private copy({ day, value }: Entry): EntryRun {
    if (value.length > this.#copies.length - this.#copied) {
      const usual = Math.min(BLOCK_BYTES, Math.floor(this.#maxBytes * MAX_BLOCK_SHARE))
      this.#copies = Buffer.allocUnsafeSlow(Math.max(value.length, usual))
      this.#copied = 0
    }
    const start = this.#copied
    this.#copies.set(value, start)
    this.#copied += value.length
    return { day, bytes: this.#copies, start, ends: [this.#copied] }
  }

  private makeRoom(): void {
    while (this.#bytes > this.#maxBytes && this.#days.size > 1) this.drop(this.days()[0] ?? '')
    const [day] = this.#days.values()
    while (this.#bytes > this.#maxBytes && day !== undefined && day.blocks.length > 1) this.cut(day)
  }

  entries(name: string, { after, limit }: { readonly after: number; readonly limit: number }): readonly StoredEntry[] {
    const found: StoredEntry[] = []
    for (const { bytes, start, ends, first } of this.#days.get(name)?.blocks ?? []) {
      for (let at = Math.max(0, after - first); at < ends.length && found.length < limit; at++)
        found.push({ sequence: first + at + 1, value: bytes.subarray(ends[at - 1] ?? start, ends[at]) })
    }
    return found
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

  private cut(day: Day): void {
    const oldest = day.blocks.shift()
    if (oldest === undefined) return
    this.count(day, -sizeOf(oldest.start, oldest.ends))
  }

  private count(day: Day, bytes: number): void {
    day.bytes += bytes
    this.#bytes += bytes
  }
}

function sizeOf(start: number, ends: readonly number[]): number {
  return (ends.at(-1) ?? start) - start + ends.length * ENTRY_OVERHEAD_BYTES
}
