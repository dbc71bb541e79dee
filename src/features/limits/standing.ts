import type { Bound, Scope } from '../../core/bounds.js'
import type { Account } from './account.js'
import type { Holdings } from './holdings.js'
import { type Meter, UNITS } from './reservation.js'

/** How much of a bound is used. Amounts are whole numbers, of budgets in millionths of a USD. */
export interface Standing {
  readonly scope: Scope
  readonly unit: Meter['unit']
  /** A number: of places. */
  readonly bound: Bound | number
  readonly amount: number
  readonly used: number
  /** By open reservations of this process and by all that other ones hold, as last heard. */
  readonly reserved: number
  readonly left: number
  /** The end of the window, milliseconds since the epoch; undefined for places and totals. */
  readonly endsAt: number | undefined
}

/** As this process knows it. */
export function standingHere({ scope, unit, bound, amount }: Meter, account: Account): Standing {
  const used = account.spentShown
  const reserved = account.others + account.reserved
  return {
    scope,
    unit,
    bound,
    amount,
    used,
    reserved,
    left: Math.max(0, amount - used - reserved),
    endsAt: account.endsAt,
  }
}

/** Of the bounds of one unit, the account that has least room; undefined where the scopes have none. */
export function tightestOf(
  holdings: Holdings,
  scopes: readonly Scope[],
  unit: Meter['unit'],
  now: number,
): Account | undefined {
  let tightest: Account | undefined
  let least = Number.POSITIVE_INFINITY
  for (const account of holdings.accountsOf(holdings.listOf(scopes, UNITS[unit]), now)) {
    const { left } = account
    if (left >= least) continue
    least = left
    tightest = account
  }
  return tightest
}
