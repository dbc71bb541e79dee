import type { Commit, Entry, EntryRun } from '../../core/accounts.js'
import type { Account } from './account.js'
import { type Line, MAX_BYTES_PER_CHAR } from './ledger-entry.js'
import { amountOf } from './reservation.js'

/** Accounts, and settled reservations, of one commit. */
export const MAX_CHANGES = 512
export const MAX_SETTLED = 512

/** Lines are written one after another into blocks, which batches share. */
const BLOCK_BYTES = 64 * 1024

interface Run extends EntryRun {
  readonly ends: number[]
}

let block: Buffer = Buffer.alloc(0)
let written = 0
let batches = 0

/**
 * What goes to the store together: what settled reservations used of each account, and their records. No object of them waits
 * here: each collection would move it.
 */
export class Batch {
  readonly #number = ++batches
  readonly accounts: Account[] = []
  /** What was used of each of {@link accounts}. */
  readonly amounts: number[] = []
  readonly runs: Run[] = []
  /** Number of records. */
  size = 0

  get isFull(): boolean {
    return this.size >= MAX_SETTLED || this.accounts.length >= MAX_CHANGES
  }

  add(line: Line): void {
    this.#write(line)
    for (const { accounts, amounts } of line.parts)
      for (const account of accounts) {
        const amount = amountOf(amounts, account.unit)
        // An account that is not charged may be forgotten before the commit.
        if (amount !== 0) this.#count(account, amount)
      }
  }

  #count(account: Account, amount: number): void {
    if (account.batch === this.#number) {
      this.amounts[account.place] = (this.amounts[account.place] as number) + amount
      return
    }
    account.batch = this.#number
    account.place = this.accounts.length
    this.accounts.push(account)
    this.amounts.push(amount)
  }

  /** Of ASCII each character is one byte, which is half the work. */
  #write({ day, text, isAscii }: Line): void {
    const most = isAscii ? text.length : text.length * MAX_BYTES_PER_CHAR
    if (most > block.length - written) {
      block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, most))
      written = 0
    }
    let run = this.runs.at(-1)
    // Batches take turns with their lines.
    if (run === undefined || run.day !== day || run.bytes !== block || run.ends.at(-1) !== written) {
      run = { day, bytes: block, start: written, ends: [] }
      this.runs.push(run)
    }
    written += block.write(text, written, isAscii ? 'latin1' : 'utf8')
    run.ends.push(written)
    this.size++
  }
}

/** A commit with entries that are made when a store asks for them: that of this process takes them where they are. */
export function commitOf(commit: Omit<Commit, 'entries' | 'runs'>, runs: readonly EntryRun[]): Commit {
  let made: readonly Entry[] | undefined
  const whole = {
    ...commit,
    get entries() {
      made ??= runs.flatMap(entriesOf)
      return made
    },
  }
  // Not enumerable: a store that sends its commits on as they are sends no blocks.
  return Object.defineProperty(whole, 'runs', { value: runs })
}

function entriesOf({ day, bytes, start, ends }: EntryRun): readonly Entry[] {
  return ends.map((end, at) => ({ day, value: bytes.subarray(ends[at - 1] ?? start, end) }))
}
