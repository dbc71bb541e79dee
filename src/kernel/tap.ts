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

/** Several taps as one. */
export class Taps implements Tap {
  readonly #taps: readonly Tap[]
  readonly isBlind: boolean

  constructor(taps: readonly Tap[]) {
    this.#taps = taps
    this.isBlind = taps.every(tap => tap.isBlind === true)
  }

  /** Of one of them: at most one keeps answers. */
  get kept(): Promise<void> | undefined {
    for (const { kept } of this.#taps) if (kept !== undefined) return kept
    return undefined
  }

  push(bytes: Uint8Array, isLast?: boolean): void {
    for (const tap of this.#taps) tap.push(bytes, isLast)
  }

  end(): void {
    for (const tap of this.#taps) tap.end()
  }
}
