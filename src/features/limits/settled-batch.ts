import type { Entry } from '../../core/accounts.js'
import type { Account } from './account.js'
import { EntryList } from './entry-list.js'
import { entryOf, type Uncharged } from './ledger-entry.js'
import { amountOf, type Reservation } from './reservation.js'

/** Accounts, and settled reservations, of one commit. */
export const MAX_CHANGES = 512
export const MAX_SETTLED = 512

/**
 * What goes to the store together: what settled reservations used of each account, and their records. Reservations themselves
 * would outlive a collection if they waited here.
 */
export class Batch {
  /** Those that are charged, with the sum of each. */
  readonly accounts: Account[] = []
  readonly amounts: number[] = []
  readonly #entries = new EntryList()

  /** Of records. */
  get size(): number {
    return this.#entries.size
  }

  get isFull(): boolean {
    return this.size >= MAX_SETTLED || this.accounts.length >= MAX_CHANGES
  }

  add(reservation: Reservation, record: Uncharged): void {
    this.#entries.add(entryOf(record, reservation))
    for (const { accounts, amounts } of reservation.parts)
      for (const account of accounts) {
        const amount = amountOf(amounts, account.unit)
        // An account that is not charged may be forgotten before the commit.
        if (amount !== 0) this.#charge(account, amount)
      }
  }

  /** In their order. The batch takes no more then. */
  entries(): readonly Entry[] {
    for (const account of this.accounts) if (account.batch === this) account.batch = undefined
    return this.#entries.entries()
  }

  #charge(account: Account, amount: number): void {
    if (account.batch === this) {
      this.amounts[account.batchAt] = (this.amounts[account.batchAt] as number) + amount
      return
    }
    account.batch = this
    account.batchAt = this.accounts.push(account) - 1
    this.amounts.push(amount)
  }
}
