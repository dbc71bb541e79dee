/** Lets only so many go at a time, by name; the others wait for their turn, in order. */
export class Turns {
  readonly #going = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  /** Resolves when it is one's turn. Each is paid back by one `done`. */
  async take(name: string, most: number): Promise<void> {
    const going = this.#going.get(name) ?? 0
    if (going < most) {
      this.#going.set(name, going + 1)
      return
    }
    await new Promise<void>(resolve => {
      const waiting = this.#waiting.get(name) ?? []
      waiting.push(resolve)
      this.#waiting.set(name, waiting)
    })
  }

  done(name: string): void {
    const waiting = this.#waiting.get(name)
    const next = waiting?.shift()
    if (waiting?.length === 0) this.#waiting.delete(name)
    // The turn passes on.
    if (next !== undefined) {
      next()
      return
    }
    const going = (this.#going.get(name) ?? 1) - 1
    if (going > 0) this.#going.set(name, going)
    else this.#going.delete(name)
  }
}
