import type { Bound, Scope } from '../../core/bounds.js'
import type { Account, Unit } from './account.js'

/**
 * What something takes of the bounds: whole numbers, budgets in millionths of a USD. A unit that is absent is not reserved,
 * and not charged either; 0 reserves nothing, but what is used later is charged.
 */
export type Amounts = Readonly<Partial<Record<Unit, number>>>

/** Amounts of scopes. A scope belongs to at most one claim of a reservation. */
export interface Claim {
  readonly scopes: readonly Scope[]
  readonly amounts: Amounts
}

/** The bound that has no room; `store`: it cannot be asked, and the scope is closed then. */
export interface Shortage {
  readonly scope: Scope
  readonly unit: Unit | 'store'
  /** A number: of places. */
  readonly bound: Bound | number
  /** Until it may have room again; undefined: never, or not known. */
  readonly retryAfterMs: number | undefined
}

/** One bound of a scope, with its account of the window that holds now. */
export interface Meter {
  readonly scope: Scope
  readonly unit: Unit
  /** Absent: of places. */
  readonly window: Bound['window'] | undefined
  readonly bound: Bound | number
  readonly amount: number
  account: Account | undefined
}

/** What is taken of accounts until it is settled. It stays with the windows in which it was made. Opaque outside of the book. */
export class Reservation {
  readonly claims: readonly Claim[]
  /** These three have one element for each account. Those of meters may be shared. */
  meters: readonly Meter[]
  readonly accounts: Account[]
  /** What is reserved; when it is settled, what was used. */
  readonly amounts: number[]
  isOpen = true
  /** Whether anything was used. */
  isCharged = false
  #isExtended = false

  constructor(
    claims: readonly Claim[],
    meters: readonly Meter[] = [],
    accounts: Account[] = [],
    amounts: number[] = [],
  ) {
    this.claims = claims
    this.meters = meters
    this.accounts = accounts
    this.amounts = amounts
  }

  /** The same accounts, with nothing of them. */
  withNothing(): Reservation {
    const none = this.accounts.map(() => 0)
    return new Reservation(this.claims, this.meters, [...this.accounts], none)
  }

  /** Takes over what another one reserved. */
  join(other: Reservation): void {
    other.isOpen = false
    this.#isExtended = true
    other.accounts.forEach((account, at) => {
      const amount = other.amounts[at] as number
      const known = this.accounts.indexOf(account)
      if (known >= 0) this.amounts[known] = (this.amounts[known] as number) + amount
      else {
        this.meters = [...this.meters, other.meters[at] as Meter]
        this.accounts.push(account)
        this.amounts.push(amount)
      }
    })
  }

  /** Gives back some of what is reserved. What is below 0 stays as it is. */
  reduce(less: Amounts): void {
    if (!this.isOpen) return
    for (let at = 0; at < this.accounts.length; at++) {
      const account = this.accounts[at] as Account
      const amount = Math.min(this.amounts[at] as number, Math.max(0, less[account.unit] ?? 0))
      account.reserved -= amount
      this.amounts[at] = (this.amounts[at] as number) - amount
    }
  }

  /** Replaces what is reserved by what was used. */
  charge(used: Amounts): void {
    this.isOpen = false
    for (let at = 0; at < this.accounts.length; at++) {
      const account = this.accounts[at] as Account
      const reserved = this.amounts[at] as number
      const total = account.isPlace ? 0 : Math.ceil(used[account.unit] ?? 0) || 0
      const amount = this.#isExtended ? this.#shareOf(at, reserved, total) : total
      account.reserved -= reserved
      account.used += amount
      this.amounts[at] = amount
      this.isCharged ||= amount > 0
    }
  }

  /** Where a reservation was extended in later windows, the earlier ones are charged what they had reserved at most. */
  #shareOf(at: number, reserved: number, used: number): number {
    const meter = this.meters[at]
    const last = this.meters.lastIndexOf(meter as Meter)
    let left = used
    // Earlier elements hold what they were charged already.
    for (let before = 0; before < at; before++)
      if (this.meters[before] === meter) left -= this.amounts[before] as number
    return at === last ? left : Math.min(left, reserved)
  }
}
