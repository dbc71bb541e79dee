import type { Entry, StoredEntry } from '../core/accounts.js'

/** Memory of an entry besides its value, at most. */
const ENTRY_OVERHEAD_BYTES = 128
/** Entries share blocks: as objects of their own they would be most of what the collector of garbage has to look at. */
const BLOCK_BYTES = 64 * 1024
const FIRST_BLOCK_BYTES = 4 * 1024
/** A block is at most this part of the ledger, since the oldest one makes room as a whole. */
const MAX_BLOCK_SHARE = 1 / 16

/** Entries that follow each other. */
interface Block {
  readonly bytes: Buffer
  /** Where each of them ends. */
  readonly ends: number[]
  used: number
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

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  append(entries: readonly Entry[]): void {
    for (const { day, value } of entries) {
      this.put(this.dayOf(day), value)
      if (this.#bytes > this.#maxBytes) this.makeRoom()
    }
  }

  private dayOf(name: string): Day {
    const known = this.#days.get(name) ?? { blocks: [], count: 0, bytes: 0 }
    this.#days.set(name, known)
    return known
  }

  private put(day: Day, value: Uint8Array): void {
    const block = this.blockFor(day, value.length)
    block.bytes.set(value, block.used)
    block.used += value.length
    block.ends.push(block.used)
    day.count++
    this.count(day, value.length + ENTRY_OVERHEAD_BYTES)
  }

  private makeRoom(): void {
    while (this.#bytes > this.#maxBytes && this.#days.size > 1) this.drop(this.days()[0] ?? '')
    const [day] = this.#days.values()
    while (this.#bytes > this.#maxBytes && day !== undefined && day.blocks.length > 1) this.cut(day)
  }

  entries(name: string, { after, limit }: { readonly after: number; readonly limit: number }): readonly StoredEntry[] {
    const found: StoredEntry[] = []
    for (const { bytes, ends, first } of this.#days.get(name)?.blocks ?? []) {
      for (let at = Math.max(0, after - first); at < ends.length && found.length < limit; at++)
        found.push({ sequence: first + at + 1, value: bytes.subarray(ends[at - 1] ?? 0, ends[at]) })
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

  /** The last block, or a new one where that has no room for so many bytes. */
  private blockFor({ blocks, count }: Day, size: number): Block {
    const last = blocks.at(-1)
    if (last !== undefined && last.bytes.length - last.used >= size) return last
    const usual = last === undefined ? FIRST_BLOCK_BYTES : BLOCK_BYTES
    const length = Math.max(size, Math.min(usual, Math.floor(this.#maxBytes * MAX_BLOCK_SHARE)))
    const block = { bytes: Buffer.allocUnsafeSlow(length), ends: [], used: 0, first: count }
    blocks.push(block)
    return block
  }

  private cut(day: Day): void {
    const oldest = day.blocks.shift()
    if (oldest === undefined) return
    this.count(day, -oldest.used - oldest.ends.length * ENTRY_OVERHEAD_BYTES)
  }

  private count(day: Day, bytes: number): void {
    day.bytes += bytes
    this.#bytes += bytes
  }
}
