import type { Bound, Scope } from '../../core/bounds.js'
import type { Account } from './account.js'
import { type Holdings, UNITS } from './holdings.js'
import type { Meter } from './reservation.js'

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

function standingOf(meter: Meter, account: Account, used: number, reserved: number): Standing {
  const { scope, unit, bound, amount } = meter
  const left = Math.max(0, amount - used - reserved)
  const isEndless = meter.window === undefined || meter.window === 'total'
  return { scope, unit, bound, amount, used, reserved, left, endsAt: isEndless ? undefined : account.span.end }
}

/** As this process knows it. */
export function standingHere(meter: Meter, account: Account): Standing {
  return standingOf(meter, account, account.spentShown, account.others + account.reserved)
}

/** Of the bounds of one unit, the one that leaves least room; undefined where the scopes have none. */
export function tightestOf(
  holdings: Holdings,
  scopes: readonly Scope[],
  unit: Meter['unit'],
  now: number,
): Standing | undefined {
  const list = holdings.listOf(scopes, UNITS[unit])
  const { meters } = list
  const accounts = holdings.accountsOf(list, now)
  let found = -1
  let least = 0
  for (let at = 0; at < meters.length; at++) {
    const account = accounts[at] as Account
    const left = (meters[at] as Meter).amount - account.spentShown - account.others - account.reserved
    if (found >= 0 && left >= least) continue
    found = at
    least = left
  }
  return found < 0 ? undefined : standingHere(meters[found] as Meter, accounts[found] as Account)
}
