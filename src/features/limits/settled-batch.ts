import type { Entry } from '../../core/accounts.js'
import type { Account } from './account.js'
import { amountOf, type Reservation } from './reservation.js'

/** Accounts, and settled reservations, of one commit. */
export const MAX_CHANGES = 512
export const MAX_SETTLED = 512

/**
 * What goes to the store together: what settled reservations used of each account, and their records. Reservations themselves
 * would outlive a collection if they waited here.
 */
export class Batch {
  readonly used = new Map<Account, number>()
  readonly entries: Entry[] = []

  get isFull(): boolean {
    return this.entries.length >= MAX_SETTLED || this.used.size >= MAX_CHANGES
  }

  add({ parts }: Reservation, entry: Entry): void {
    this.entries.push(entry)
    for (const { accounts, amounts } of parts)
      for (const account of accounts) {
        const amount = amountOf(amounts, account.unit)
        // An account that is not charged may be forgotten before the commit.
        if (amount !== 0) this.used.set(account, (this.used.get(account) ?? 0) + amount)
      }
  }
}
