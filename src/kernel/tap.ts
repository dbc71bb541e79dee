/** Looks at an answer on its way to the client, and changes nothing. */
export interface Tap {
  /** The next piece; of a stream, whole events. */
  push(bytes: Uint8Array): void
  /** The answer is whole. Called before its last byte leaves, so that no client can be faster. */
  end(): void
  /** Resolves when the answer, which is whole, has been kept: what is left of it leaves after that. Never rejects. */
  readonly kept?: Promise<void> | undefined
}

/** Several at once. */
export class Taps implements Tap {
  readonly #taps: readonly Tap[]

  constructor(taps: readonly Tap[]) {
    this.#taps = taps
  }

  push(bytes: Uint8Array): void {
    for (const tap of this.#taps) tap.push(bytes)
  }

  end(): void {
    for (const tap of this.#taps) tap.end()
  }
}
