import type { Entry } from '../../core/accounts.js'
import type { Account } from './account.js'
import type { Line } from './ledger-entry.js'
import { amountOf, type Reservation } from './reservation.js'

/** Accounts, and settled reservations, of one commit. */
export const MAX_CHANGES = 512
export const MAX_SETTLED = 512

/** Lines are written one after another into blocks, which batches share. */
const BLOCK_BYTES = 64 * 1024
/** UTF-8 of one character of a string. */
const MAX_BYTES_PER_CHAR = 3

/** Lines of one day, one behind the other in a block. */
interface Run {
  readonly day: string
  readonly bytes: Buffer
  readonly start: number
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
  readonly #runs: Run[] = []
  #lines = 0

  get isFull(): boolean {
    return this.#lines >= MAX_SETTLED || this.accounts.length >= MAX_CHANGES
  }

  add({ parts }: Reservation, line: Line): void {
    this.#write(line)
    for (const { accounts, amounts } of parts)
      for (const account of accounts) {
        const amount = amountOf(amounts, account.unit)
        // An account that is not charged may be forgotten before the commit.
        if (amount !== 0) this.#count(account, amount)
      }
  }

  entries(): Entry[] {
    return this.#runs.flatMap(({ day, bytes, start, ends }) =>
      ends.map((end, at) => ({ day, value: bytes.subarray(ends[at - 1] ?? start, end) })),
    )
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
    let run = this.#runs.at(-1)
    // Batches take turns with their lines.
    if (run === undefined || run.day !== day || run.bytes !== block || run.ends.at(-1) !== written) {
      run = { day, bytes: block, start: written, ends: [] }
      this.#runs.push(run)
    }
    written += block.write(text, written, isAscii ? 'latin1' : 'utf8')
    run.ends.push(written)
    this.#lines++
  }
}
