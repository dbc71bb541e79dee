import type { Entry } from '../../core/accounts.js'
import type { EntryText } from './ledger-entry.js'

const BLOCK_BYTES = 64 * 1024
/** UTF-8 of one character of a string. */
const MAX_BYTES_PER_CHAR = 3

/** Entries of one day that follow each other in a block. */
interface Run {
  readonly day: string
  readonly bytes: Buffer
  readonly start: number
  readonly ends: number[]
}

/** All lists share it. */
let block: Buffer = Buffer.alloc(0)
let written = 0

/**
 * Entries that wait for a commit, as bytes in blocks: what is young moves when the collector runs, and buffers of their own are a
 * third of what a record costs.
 */
export class EntryList {
  readonly #runs: Run[] = []
  size = 0

  add({ day, text, isAscii }: EntryText): void {
    const most = isAscii ? text.length : text.length * MAX_BYTES_PER_CHAR
    if (most > block.length - written) {
      block = Buffer.allocUnsafeSlow(Math.max(most, BLOCK_BYTES))
      written = 0
    }
    const { ends } = this.#runOf(day)
    written += block.write(text, written, isAscii ? 'latin1' : 'utf8')
    ends.push(written)
    this.size++
  }

  /** In their order. */
  entries(): readonly Entry[] {
    return this.#runs.flatMap(({ day, bytes, start, ends }) =>
      ends.map((end, at) => ({ day, value: bytes.subarray(ends[at - 1] ?? start, end) })),
    )
  }

  /** The last run, unless another list has written behind it. */
  #runOf(day: string): Run {
    const last = this.#runs.at(-1)
    if (last?.day === day && last.bytes === block && last.ends.at(-1) === written) return last
    const run = { day, bytes: block, start: written, ends: [] }
    this.#runs.push(run)
    return run
  }
}
