import type { Bound, Scope } from '../../core/bounds.js'
import type { Account, Unit } from './account.js'

/**
 * What something takes of the bounds: whole numbers, budgets in millionths of a USD. A unit that is absent is not reserved,
 * and not charged either; 0 reserves nothing, but what is used later is charged.
 */
export type Amounts = Readonly<Partial<Record<Unit, number>>>

/** Amounts of scopes, by {@link claimOf}. A scope belongs to at most one claim of a reservation. */
export interface Claim {
  readonly scopes: readonly Scope[]
  readonly amounts: Amounts
  /** The bits of the units that have an amount, and what is reserved of each. */
  readonly units: number
  readonly whole: Whole
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

/** The same with all units: what nothing is taken of is 0. */
type Whole = Readonly<Record<Unit, number>>

const NOTHING: Whole = { requests: 0, tokens: 0, budget: 0, in_flight: 0, streams: 0 }

/** What is taken of the accounts of one claim. */
export interface Part {
  readonly meters: readonly Meter[]
  /** One for each meter, of the windows in which it was taken. */
  readonly accounts: readonly Account[]
  /** Of each account the amount of its unit is reserved; when it is settled, that was used. */
  amounts: Whole
}

/** What is taken of accounts until it is settled. It stays with the windows in which it was made. Opaque outside of the book. */
export class Reservation {
  readonly claims: readonly Claim[]
  parts: readonly Part[]
  isOpen = true
  /** Whether anything was used. */
  isCharged = false
  #isExtended = false

  constructor(claims: readonly Claim[], parts: readonly Part[] = []) {
    this.claims = claims
    this.parts = parts
  }

  get meters(): readonly Meter[] {
    return this.parts.flatMap(({ meters }) => meters)
  }

  /** One for each of {@link meters}. */
  get accounts(): readonly Account[] {
    return this.parts.flatMap(({ accounts }) => accounts)
  }

  /** The same. */
  get amounts(): readonly number[] {
    return this.parts.flatMap(({ accounts, amounts }) => accounts.map(({ unit }) => amountOf(amounts, unit)))
  }

  /** The same accounts, with nothing of them. */
  withNothing(): Reservation {
    return new Reservation(
      this.claims,
      this.parts.map(part => ({ ...part, amounts: NOTHING })),
    )
  }

  /** Takes over what another one reserved. Each account is a part of its own then. */
  join(other: Reservation): void {
    other.isOpen = false
    this.#isExtended = true
    const parts = this.parts.flatMap(single)
    for (const part of other.parts.flatMap(single)) {
      const known = parts.find(({ accounts: [account] }) => account === part.accounts[0])
      if (known === undefined) parts.push(part)
      else known.amounts = sumOf(known.amounts, part.amounts)
    }
    this.parts = parts
  }

  /** Gives back some of what is reserved. What is below 0 stays as it is. */
  reduce(less: Amounts): void {
    if (!this.isOpen) return
    for (const part of this.parts) {
      const before = part.amounts
      const after = differenceOf(before, less)
      for (const account of part.accounts)
        account.reserved -= amountOf(before, account.unit) - amountOf(after, account.unit)
      part.amounts = after
    }
  }

  /** Replaces what is reserved by what was used. Places are free again. */
  charge(used: Amounts): void {
    this.isOpen = false
    const spent = spentOf(used)
    for (const part of this.parts) {
      const reserved = part.amounts
      part.amounts = this.#isExtended ? this.#shareOf(part, spent) : spent
      for (const account of part.accounts) {
        const amount = amountOf(part.amounts, account.unit)
        account.reserved -= amountOf(reserved, account.unit)
        account.used += amount
        this.isCharged ||= amount > 0
      }
    }
  }

  /** Where a reservation was extended in later windows, the earlier ones are charged what they had reserved at most. */
  #shareOf(part: Part, spent: Whole): Whole {
    const [meter] = part.meters
    if (meter === undefined) return NOTHING
    const { unit } = meter
    const same = this.parts.filter(({ meters: [one] }) => one !== undefined && isSameBound(one, meter))
    let left = amountOf(spent, unit)
    for (const before of same) {
      if (before === part) break
      // It holds what it was charged already.
      left -= amountOf(before.amounts, unit)
    }
    const amount = part === same.at(-1) ? left : Math.min(left, amountOf(part.amounts, unit))
    return { ...NOTHING, [unit]: amount }
  }
}

/** Also of two generations of the configuration. */
function isSameBound(one: Meter, other: Meter): boolean {
  if (one === other) return true
  const isSameHolder = one.scope.type === other.scope.type && one.scope.name === other.scope.name
  return isSameHolder && one.unit === other.unit && one.window === other.window
}

/** A bit for each unit. */
export const UNITS: Readonly<Record<Unit, number>> = { requests: 1, tokens: 2, budget: 4, in_flight: 8, streams: 16 }

export function claimOf(scopes: readonly Scope[], amounts: Amounts): Claim {
  return { scopes, amounts, units: unitsIn(amounts), whole: wholeOf(amounts) }
}

function unitsIn({ requests, tokens, budget, in_flight, streams }: Amounts): number {
  return (
    (requests === undefined ? 0 : UNITS.requests) |
    (tokens === undefined ? 0 : UNITS.tokens) |
    (budget === undefined ? 0 : UNITS.budget) |
    (in_flight === undefined ? 0 : UNITS.in_flight) |
    (streams === undefined ? 0 : UNITS.streams)
  )
}

/** By hand, as names that vary take a look-up each. */
export function amountOf(amounts: Whole, unit: Unit): number {
  switch (unit) {
    case 'requests':
      return amounts.requests
    case 'tokens':
      return amounts.tokens
    case 'budget':
      return amounts.budget
    case 'in_flight':
      return amounts.in_flight
    case 'streams':
      return amounts.streams
  }
}

/** Amounts to reserve. NaN stays, since no bound has room for it. */
function wholeOf({ requests, tokens, budget, in_flight, streams }: Amounts): Whole {
  return {
    requests: whole(requests),
    tokens: whole(tokens),
    budget: whole(budget),
    in_flight: whole(in_flight),
    streams: whole(streams),
  }
}

/** What was used: NaN is nothing, and of places nothing is used up. */
function spentOf({ requests, tokens, budget }: Amounts): Whole {
  return {
    requests: whole(requests) || 0,
    tokens: whole(tokens) || 0,
    budget: whole(budget) || 0,
    in_flight: 0,
    streams: 0,
  }
}

function whole(amount: number | undefined): number {
  return amount === undefined ? 0 : Math.max(0, Math.ceil(amount))
}

/** A part for each account. */
export function single({ meters, accounts, amounts }: Part): Part[] {
  return accounts.map((account, at) => ({ meters: [meters[at] as Meter], accounts: [account], amounts }))
}

function sumOf(one: Whole, other: Whole): Whole {
  return {
    requests: one.requests + other.requests,
    tokens: one.tokens + other.tokens,
    budget: one.budget + other.budget,
    in_flight: one.in_flight + other.in_flight,
    streams: one.streams + other.streams,
  }
}

function differenceOf(one: Whole, less: Amounts): Whole {
  const rest = (amount: number, taken = 0): number => amount - Math.min(amount, Math.max(0, taken))
  return {
    requests: rest(one.requests, less.requests),
    tokens: rest(one.tokens, less.tokens),
    budget: rest(one.budget, less.budget),
    in_flight: rest(one.in_flight, less.in_flight),
    streams: rest(one.streams, less.streams),
  }
}
