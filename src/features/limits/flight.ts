import { type Commit, checkCommit, type EntryRun, type LeaseChange } from '../../core/accounts.js'
import type { Account } from './account.js'
import type { Reservation } from './reservation.js'
import { commitOf } from './settled-batch.js'

/** How long a lease holds after its last renewal. */
export const LEASE_MS = 60_000
/** How long the store remembers the number of a commit: longer than it is ever repeated. */
export const REMEMBERED_MS = 7 * 86_400_000
/** Ends of leases, of accounts and of that are whole steps, so that most commits leave the store's indexes as they are. */
const STEP_MS = 1000

/** What a reservation holds becomes a lease of its own, which outlives the process. Amounts of 0 give that lease back. */
export interface Transfer {
  readonly lease: string
  readonly until: number
  readonly reservation: Reservation
  readonly done: (outcome: Transferred) => void
}

/** `unknown`: the store does not answer, and it may be held later. `withdrawn`: it was not sent, and is still reserved. */
export type Transferred = 'held' | 'partly' | 'unknown' | 'withdrawn'

export const isEmpty = ({ reservation }: Transfer): boolean => reservation.amounts.every(amount => amount === 0)

/** A commit that is under way. */
export interface Flight {
  readonly number: number
  readonly accounts: readonly Account[]
  readonly leases: readonly Omit<LeaseChange, 'until' | 'expires'>[]
  readonly transfers: readonly Transfer[]
  readonly runs: readonly EntryRun[]
  readonly settled: number
  /** Monotonic time from which its leases run. */
  readonly sent: number
  retryMs: number
}

/** The commit of a flight that is sent now, milliseconds since the epoch. */
export function commitOfFlight(flight: Flight, writer: string, now: number): Commit {
  const { number, accounts, leases, transfers, runs } = flight
  const step = Math.ceil(now / STEP_MS) * STEP_MS
  const until = step + LEASE_MS
  const own = leases.map((lease, at) => ({ ...lease, expires: (accounts[at] as Account).expires(step), until }))
  const moved = transfers.flatMap(({ lease, until, reservation }) =>
    reservation.accounts.map((account, at) => ({
      ...{ account: account.name, expires: Math.max(account.expires(step), until), bound: account.bound, lease },
      ...{ spend: 0, hold: reservation.amounts[at] as number, until },
    })),
  )
  const remembered = step + REMEMBERED_MS
  return commitOf({ writer, number, remembered, now, leases: [...own, ...moved] }, runs)
}

/** Whether no store ever takes the commit, so that repeating it is of no use. */
export function isRefused(commit: Commit): boolean {
  try {
    checkCommit(commit)
    return false
  } catch {
    return true
  }
}
