import { hash } from 'node:crypto'
import type { ChainEnd, ReceiptPlace } from './receipts.js'

/** What the first line of all says of the line before. */
export const NO_LINE = '0'.repeat(64)

/** The digest by which the next line names this one. Without the line break. */
export function digestOfLine(line: Uint8Array): string {
  return hash('sha256', line)
}

/**
 * Gives each receipt its place: the line has the digest of the line before, so that none can be changed, removed or moved without
 * the next one showing it.
 */
export class Chain {
  readonly id: string
  #seq = 0
  #prev: string
  #day = ''

  /** `prev`: digest of the last line of the chain that this one continues. */
  constructor(id: string, prev: string = NO_LINE) {
    this.id = id
    this.#prev = prev
  }

  /** The last line; undefined before the first. */
  get end(): ChainEnd | undefined {
    return this.#seq === 0 ? undefined : { chain: this.id, day: this.#day, seq: this.#seq, digest: this.#prev }
  }

  /** What the next line has before the members of its draft. */
  head(lost: number): string {
    const missing = lost === 0 ? '' : `"lost":${lost},`
    return `{"chain":"${this.id}","seq":${this.#seq + 1},"prev":"${this.#prev}",${missing}`
  }

  /** The next line is this one, without its break. */
  linked(line: Uint8Array, day: string): void {
    this.#seq++
    this.#day = day
    this.#prev = digestOfLine(line)
  }
}

/** The place of a line; undefined if it has no place. */
export function placeOf(line: Uint8Array): ReceiptPlace | undefined {
  try {
    const read: unknown = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.length).toString('utf8'))
    if (typeof read !== 'object' || read === null || !('chain' in read && 'seq' in read && 'prev' in read))
      return undefined
    return typeof read.chain === 'string' && Number.isSafeInteger(read.seq) && typeof read.prev === 'string'
      ? (read as ReceiptPlace)
      : undefined
  } catch {
    return undefined
  }
}

const DAY_MS = 86_400_000
let lastDay = { number: Number.NaN, name: '' }

/** `2026-11-23`: the day of a moment, UTC. */
export function dayOf(milliseconds: number): string {
  const number = Math.floor(milliseconds / DAY_MS)
  if (number !== lastDay.number) lastDay = { number, name: new Date(milliseconds).toISOString().slice(0, 10) }
  return lastDay.name
}
