/**
 * Bounded amounts that all processes of a store share, and the ledger that explains them. One commit changes both, all of it
 * or nothing, so the entries of a window always add up to what its accounts have spent.
 *
 * A process does not ask for every request: it takes a lease, an amount that it alone may spend, and settles what was spent
 * with its next commit. What a process that has died held is free again when its leases expire.
 */
export interface Accounts {
  /**
   * Applies a commit once: one whose number its writer has committed before changes nothing, and answers what the leases
   * hold. Resolves with one answer for each lease, in their order.
   */
  commit(commit: Commit): Promise<readonly LeaseState[]>
  /** One answer for each name; zeros for an account that is unused or whose window has ended. */
  read(names: readonly string[], now: number): Promise<readonly Tally[]>
  /** Entries of a day (`2026-11-23`, UTC) behind a sequence number, in order. Numbers of a day begin at 1, without gaps. */
  entries(day: string, range: { readonly after: number; readonly limit: number }): Promise<readonly StoredEntry[]>
  /** Days that have entries, the oldest first. */
  days(): Promise<readonly string[]>
  /** Removes a day with all its entries, without reading them. */
  dropDay(day: string): Promise<void>
}

export interface Commit {
  /** Visible ASCII, at most 128 characters: a process since its start, or a thing that is settled once, such as a task. */
  readonly writer: string
  /** Counts up from 1; a commit whose outcome is not known is repeated with the same number. */
  readonly number: number
  /** Until when the store remembers the number, milliseconds since the epoch. */
  readonly remembered: number
  /** Milliseconds since the epoch. */
  readonly now: number
  /** At most one for each lease of an account. */
  readonly leases: readonly LeaseChange[]
  readonly entries: readonly Entry[]
}

export interface LeaseChange {
  /** Visible ASCII, at most 512 characters. */
  readonly account: string
  /** When the account is forgotten (the end of its window and some time), milliseconds since the epoch. */
  readonly expires: number
  /** The most that may be spent and held together when more is taken: a whole number up to 2^53 - 1. */
  readonly bound: number
  /** Visible ASCII, at most 128 characters; most often the writer. */
  readonly lease: string
  /** Whole number that is added to what is spent, also over the bound; taken out of the lease first. */
  readonly spend: number
  /** What the lease is to hold afterwards; 0 gives it back. Less is always granted, more as far as the bound allows. */
  readonly hold: number
  /** When what it holds is free again, milliseconds since the epoch. */
  readonly until: number
}

export interface Tally {
  readonly spent: number
  /** Held by all leases. */
  readonly held: number
}

export interface LeaseState extends Tally {
  /** What this lease holds. */
  readonly lease: number
}

export interface Entry {
  /** The day it belongs to, UTC: `2026-11-23`. */
  readonly day: string
  /** JSON. */
  readonly value: Uint8Array
}

export interface StoredEntry {
  readonly sequence: number
  readonly value: Uint8Array
}
