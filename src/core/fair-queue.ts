import { FairShares } from './fair-shares.js'

/**
 * Places that keys share, and a bounded queue for those who find none. A place that comes free goes to the waiting key
 * that holds the fewest; among equals first to the one that has neither had a place nor begun to wait so recently. Within
 * a key it is first come, first served.
 */
export class FairQueue<Waiter> {
  readonly #places: FairShares
  /** Waiting takes places too, so that one key cannot fill the queue. */
  readonly #waiting: FairShares
  /** Keys that wait, each behind those that go before it among equals. */
  readonly #waiters = new Map<string, Waiter[]>()
  readonly #grant: (waiter: Waiter) => void
  #granting = false

  /** `queue`: how many may wait. `grant` is called with each waiter whose place has come free. */
  constructor(places: number, queue: number, grant: (waiter: Waiter) => void) {
    this.#places = new FairShares(places)
    this.#waiting = new FairShares(queue)
    this.#grant = grant
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.taken
  }

  /** Places that are taken. */
  get taken(): number {
    return this.#places.taken
  }

  /** Takes a place where one is free for this key. A place that was taken or granted is released once. */
  take(key: string): boolean {
    return !this.#waiters.has(key) && this.#places.take(key)
  }

  /** Waits until a place is granted, or withdrawn from. False where too many wait, of this key or in all. */
  wait(key: string, waiter: Waiter): boolean {
    if (!this.#waiting.take(key)) return false
    const waiters = this.#waiters.get(key)
    if (waiters === undefined) this.#waiters.set(key, [waiter])
    else waiters.push(waiter)
    return true
  }

  /** Gives up waiting. */
  withdraw(key: string, matches: (waiter: Waiter) => boolean): void {
    const waiters = this.#waiters.get(key) ?? []
    const index = waiters.findIndex(matches)
    if (index >= 0) this.#remove(key, waiters, index)
  }

  release(key: string): void {
    this.#places.release(key)
    if (this.#waiters.size === 0) return
    this.#goLast(key)
    this.#grantFree()
  }

  #goLast(key: string): void {
    const waiters = this.#waiters.get(key)
    if (waiters === undefined) return
    this.#waiters.delete(key)
    this.#waiters.set(key, waiters)
  }

  #grantFree(): void {
    // A grant may release its place at once: the loop that is under way continues with it.
    if (this.#granting) return
    this.#granting = true
    try {
      for (;;) {
        const [key, waiters] = this.#neediest() ?? []
        // Where the key that holds the fewest may take nothing, no other one may.
        if (key === undefined || waiters === undefined || !this.#places.take(key)) return
        for (const waiter of this.#remove(key, waiters, 0)) this.#grant(waiter)
      }
    } finally {
      this.#granting = false
    }
  }

  #neediest(): readonly [string, Waiter[]] | undefined {
    let found: readonly [string, Waiter[]] | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const entry of this.#waiters) {
      const held = this.#places.held(entry[0])
      if (held >= fewest) continue
      found = entry
      fewest = held
    }
    return found
  }

  #remove(key: string, waiters: Waiter[], index: number): Waiter[] {
    const removed = waiters.splice(index, 1)
    if (waiters.length === 0) this.#waiters.delete(key)
    this.#waiting.release(key)
    return removed
  }
}
