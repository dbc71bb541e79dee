import { StoreError } from './store-place.js'

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
  /** Changes nothing. One answer for each name, in their order; zeros for an account that is unused or whose window has ended. */
  read(names: readonly string[], now: number): Promise<readonly Tally[]>
  /** Entries of a day (`2026-11-23`, UTC) behind a sequence number, in order. Numbers of a day begin at 1, without gaps. */
  entries(day: string, range: { readonly after: number; readonly limit: number }): Promise<readonly StoredEntry[]>
  /** Days that have entries, the oldest first. */
  days(): Promise<readonly string[]>
  /** Removes a day with all its entries, without reading them. Entries that come later begin at 1 again. */
  dropDay(day: string): Promise<void>
}

export interface Commit {
  /** Visible ASCII, at most 128 characters: a process since its start, or a thing that is settled once, such as a task. */
  readonly writer: string
  /** Counts up from 1; a commit whose outcome is not known is repeated with the same number. */
  readonly number: number
  /** Until when the store remembers the number at least, milliseconds since the epoch. */
  readonly remembered: number
  /**
   * Milliseconds since the epoch, by the writer's clock. Leases and accounts end by the clock of the process that commits
   * next. So a writer stops using a lease some time before it ends: by as much may the clocks of processes differ.
   */
  readonly now: number
  /** They are changed in their order, at most {@link MAX_COMMIT}`.leases`. */
  readonly leases: readonly LeaseChange[]
  /** At most {@link MAX_COMMIT}`.entries`. */
  readonly entries: readonly Entry[]
  /** The same entries where they are already: a store in this process need not ask for {@link entries}, which are made then. */
  readonly runs?: readonly EntryRun[]
}

/** Entries of one day, one behind the other in bytes that are not written again. */
export interface EntryRun {
  readonly day: string
  readonly bytes: Buffer
  readonly start: number
  readonly ends: readonly number[]
}

export interface LeaseChange {
  /** Printable ASCII, spaces included, at most 512 characters. */
  readonly account: string
  /** When the account is forgotten (the end of its window and some time), milliseconds since the epoch. */
  readonly expires: number
  /** The most that may be spent and held together when more is taken: a whole number up to 2^53 - 1. */
  readonly bound: number
  /** Visible ASCII, at most 128 characters; most often the writer. */
  readonly lease: string
  /** Whole number that is added to what is spent, also over the bound; the lease pays first. */
  readonly spend: number
  /** What the lease is to hold afterwards; 0 gives it back. Less is always granted, more up to what the bound leaves. */
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
  /** JSON, at most {@link MAX_ENTRY_BYTES}. */
  readonly value: Uint8Array
}

export interface StoredEntry {
  readonly sequence: number
  readonly value: Uint8Array
}

export const NOTHING_SPENT: Tally = { spent: 0, held: 0 }

/** What one commit may hold; with more it is split. A commit over it is refused however often it is repeated. */
export const MAX_COMMIT = { leases: 8192, entries: 1024 } as const
/** Largest entry, bytes. */
export const MAX_ENTRY_BYTES = 32 * 1024

const ACCOUNT = /^[\x20-\x7e]{1,512}$/
const NAME = /^[\x21-\x7e]{1,128}$/
const DAY = /^\d{4}-\d\d-\d\d$/

export function isAccount(name: string): boolean {
  return ACCOUNT.test(name)
}

export function isDay(day: string): boolean {
  return DAY.test(day)
}

/** Throws {@link StoreError} for a commit that no store takes: nothing of it happens. */
export function checkCommit(commit: Commit, entries = commit.entries): void {
  const { writer, number, remembered, now, leases } = commit
  check(NAME.test(writer), 'the writer of a commit is not valid')
  check(isWhole(number) && number > 0, 'the number of a commit is not valid')
  check(isWhole(remembered) && isWhole(now), 'a moment of a commit is not valid')
  if (leases.length > MAX_COMMIT.leases || entries.length > MAX_COMMIT.entries) {
    throw new StoreError('full', `a commit of ${leases.length} leases and ${entries.length} entries is too large`)
  }
  for (const { account, lease, expires, bound, spend, hold, until } of leases) {
    check(isAccount(account), 'the name of an account is not valid')
    check(NAME.test(lease), 'the name of a lease is not valid')
    check(isWhole(expires) && isWhole(until), 'a moment of a lease is not valid')
    check(isWhole(bound) && isWhole(spend) && isWhole(hold), 'an amount of a lease is not a whole number')
  }
  let known: string | undefined
  for (const { day, value } of entries) {
    // Nearly all of them have one day.
    if (day !== known) check(isDay(day), 'the day of an entry is not valid')
    known = day
    if (value.length > MAX_ENTRY_BYTES) throw new StoreError('full', `an entry of ${value.length} bytes is too large`)
  }
}

function check(holds: boolean, message: string): void {
  if (!holds) throw new StoreError('unavailable', message)
}

function isWhole(amount: number): boolean {
  return Number.isSafeInteger(amount) && amount >= 0
}
