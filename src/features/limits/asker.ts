import type { Maybe } from '../../kernel/stages.js'
import type { Account } from './account.js'
import type { Meter, Reservation, Shortage } from './reservation.js'

/** Of one account of a reservation that has to ask the store. */
export interface Lack {
  readonly meter: Meter
  readonly account: Account
  readonly amount: number
}

/** A request that waits for the store's answer. */
export interface Asker {
  readonly draft: Reservation
  readonly lacks: readonly Lack[]
  readonly round: number
  /** Number of the commit that asks for it. */
  readonly commit: number
  readonly resolve: (outcome: Maybe<Reservation | Shortage>) => void
}

/**
 * `sign`: 1, or -1 to end it. Who asks again because later requests took what the store had granted is not overtaken a
 * second time.
 */
export function setAside({ draft: { accounts, amounts }, round }: Asker, sign: 1 | -1): void {
  accounts.forEach((account, at) => {
    const amount = sign * (amounts[at] as number)
    account.asked += amount
    if (round > 1) account.kept += amount
  })
}
