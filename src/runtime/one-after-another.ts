/**
 * Runs a job one at a time. A running job may have missed later changes, so all calls meanwhile share the one run
 * that follows it.
 */
export class OneAfterAnother<T> {
  readonly #job: () => Promise<T>
  #running: Promise<T> | undefined
  #next: Promise<T> | undefined

  constructor(job: () => Promise<T>) {
    this.#job = job
  }

  run(): Promise<T> {
    if (this.#running === undefined) {
      this.#running = this.#job().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.run()
      })
    return this.#next
  }
}
