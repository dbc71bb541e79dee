/** Idle keys that are remembered before all of them are forgotten at once: to add and delete each would cost the collector. */
const MAX_IDLE_KEYS = 1024

/**
 * A scarce resource (connections, requests in flight, bytes) that keys share. Of what the others leave, one key takes at
 * most nine tenths, rounded up: 461 of 512 places where no one else has any. So, from ten places on, there is always
 * something left for a key that has nothing, even while others hold theirs for minutes. Fewer than ten places may all go
 * to one key.
 */
export class FairShares {
  /** Places in all. Where it shrinks, what is held stays held until it is released. */
  total: number
  #taken = 0
  readonly #held = new Map<string, number>()
  #forgetAt = MAX_IDLE_KEYS

  constructor(total: number) {
    this.total = total
  }

  /** What all keys hold together. */
  get taken(): number {
    return this.#taken
  }

  /** Keys that are remembered, idle ones among them. */
  get remembered(): number {
    return this.#held.size
  }

  held(key: string): number {
    return this.#held.get(key) ?? 0
  }

  /** How much more the key may take now; never below 0. */
  room(key: string): number {
    const held = this.held(key)
    return Math.max(0, mostOf(this.total - this.#taken + held) - held)
  }

  /** Takes places, or none of them and answers false. What is taken is released once. */
  take(key: string, amount = 1): boolean {
    const held = this.held(key)
    if (held + amount > mostOf(this.total - this.#taken + held)) return false
    this.#set(key, held + amount)
    this.#taken += amount
    return true
  }

  /** Counts what cannot be refused; a negative amount is released. */
  add(key: string, amount: number): void {
    this.#set(key, this.held(key) + amount)
    this.#taken += amount
  }

  release(key: string, amount = 1): void {
    this.add(key, -amount)
  }

  #set(key: string, held: number): void {
    this.#held.set(key, held)
    if (this.#held.size > this.#forgetAt) this.#forgetIdle()
  }

  #forgetIdle(): void {
    for (const [key, held] of this.#held) if (held === 0) this.#held.delete(key)
    this.#forgetAt = 2 * this.#held.size + MAX_IDLE_KEYS
  }
}

/** What one key may hold of as many places as the others leave. */
function mostOf(left: number): number {
  return Math.ceil((left * 9) / 10)
}
