import type { Account } from './account.js'

/** What a process may keep in hand without use: this part of what is left. */
const IN_HAND = 1 / 256
/** Most that it takes ahead of its use: this part of what is left, so that leases shrink near the bound. */
const AHEAD = 1 / 4

/**
 * What the lease of an account is to hold after a commit. Where the store is not shared, all of it. Elsewhere what is
 * reserved and asked for, and what the next requests will take: enough that most of them need no call of the store, and
 * little enough that what other processes cannot use stays below 1 % of a bound.
 */
export function leaseSize(account: Account, { isShared, isIdle }: { isShared: boolean; isIdle: boolean }): number {
  const need = account.reserved + account.used + account.asked
  if (isIdle) return need
  if (!isShared) return Math.max(need, account.bound)
  const left = Math.max(0, account.bound - account.spent - account.sent - account.others - need)
  const ahead = Math.min(account.ahead, left * AHEAD)
  const extra = Math.floor(Math.max(ahead, left * IN_HAND))
  return extra < account.typical ? need : need + extra
}
