interface Drain {
  /** Stop: the process does not wait any longer. */
  abandon(): void
}

/** The answers to one call that are read to their end after its client has gone. */
export class Drains {
  readonly #open = new Set<Drain>()
  readonly #onOver: () => void

  constructor(onOver: () => void) {
    this.#onOver = onOver
  }

  get isOver(): boolean {
    return this.#open.size === 0
  }

  add(drain: Drain): void {
    this.#open.add(drain)
  }

  delete(drain: Drain): void {
    if (this.#open.delete(drain) && this.isOver) this.#onOver()
  }

  /** False where all are over. */
  cut(): boolean {
    const open = [...this.#open]
    for (const drain of open) drain.abandon()
    return open.length > 0
  }
}
