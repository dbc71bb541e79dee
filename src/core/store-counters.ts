import { checkPlace, isKey, type Place, StoreError } from './store-place.js'

/**
 * Amounts with a ceiling, over all processes that share the store: who wants to spend reserves first, and settles what
 * it was in the end. Amounts are whole numbers from 0 to 2^53 − 1; what one is worth is the user's choice.
 */
export interface Counters {
  /**
   * Holds an amount back, all or nothing; undefined where what is spent and held would pass the ceiling. The same id
   * again holds nothing more while it is open, and answers as the first time.
   */
  reserve(counter: Counter, reservation: Reservation): Promise<Tally | undefined>
  /**
   * Counts what was spent, in the place of the reservation of that id, once: undefined where it was counted before. There
   * need not be a reservation (any more): what was spent counts, also over a ceiling.
   */
  settle(counter: Counter, settlement: Settlement): Promise<Tally | undefined>
  /** Zero for a counter that nobody has used, or whose time is over. */
  read(counter: Place, now: number): Promise<Tally>
}

export interface Counter extends Place {
  /** When all of it is forgotten (the end of its window), milliseconds since the epoch; the latest one given holds. */
  readonly expires: number
}

export interface Reservation {
  /** Visible ASCII, at most 256 characters; one for each thing that is paid for. */
  readonly id: string
  readonly amount: number
  readonly ceiling: number
  /** Milliseconds since the epoch. */
  readonly now: number
  /** When the amount falls back where nobody settled it. */
  readonly expires: number
}

export interface Settlement {
  readonly id: string
  readonly amount: number
  readonly now: number
  /** Until when the same id is known to have been settled. */
  readonly until: number
}

export interface Tally {
  readonly spent: number
  readonly reserved: number
}

export const NOTHING_COUNTED: Tally = { spent: 0, reserved: 0 }

/** Throws {@link StoreError} where nothing can be counted. */
export function checkCount(counter: Place, { id, amount }: { readonly id: string; readonly amount: number }): void {
  checkPlace(counter)
  if (!isKey(id)) throw new StoreError('unavailable', 'a reservation has an id that no store can keep')
  if (!Number.isSafeInteger(amount) || amount < 0) {
    throw new StoreError('unavailable', `a reservation of ${amount} is no whole amount`)
  }
}
