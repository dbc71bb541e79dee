/** Observes an answer on its way to the client, and changes nothing. */
export interface Tap {
  /** The next chunk; in streams, whole events. `isLast`: known to be the last one. */
  push(bytes: Uint8Array, isLast?: boolean): void
  /** The answer is complete. Called before its last byte is sent, so before the client can react. */
  end(): void
  /** Resolves when the complete answer has been stored; its last bytes are sent after that. Never rejects. */
  readonly kept?: Promise<void> | undefined
  /** It takes any bytes: answers need not be read for it. */
  readonly isBlind?: boolean
}

/** The taps of a call: its own, and those of the attempt at hand, which see the answer of no other attempt. */
export class Taps {
  #own = NONE
  #all = NONE

  add(tap: Tap): void {
    this.#own = [...this.#own, tap]
    this.#all = [...this.#all, tap]
  }

  addForAttempt(taps: readonly Tap[]): void {
    this.#all = [...this.#all, ...taps]
  }

  /** The attempt has failed. */
  dropAttempt(): void {
    this.#all = this.#own
  }

  /** Whether one of them expects JSON. */
  get areReading(): boolean {
    return this.#all.some(tap => tap.isBlind !== true)
  }

  /** Of one of them: at most one keeps answers. */
  get kept(): Promise<void> | undefined {
    for (const { kept } of this.#all) if (kept !== undefined) return kept
    return undefined
  }

  push(bytes: Uint8Array | string, isLast?: boolean): void {
    if (this.#all.length === 0) return
    const seen = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
    for (const tap of this.#all) tap.push(seen, isLast)
  }

  end(): void {
    for (const tap of this.#all) tap.end()
  }
}

const NONE: readonly Tap[] = Object.freeze([])
