import type { Store, StoredRecord } from '../../core/store.js'

interface WorkerOptions {
  readonly store: Store
  readonly namespace: string
  /** How long a record is ours once it has been claimed, milliseconds. What is done with it takes less. */
  lease(): number
  /** Records that are worked on at a time. */
  readonly maxConcurrent: number
  /** Does what is due with a record, and gives it back by `replace`. Its failure leaves the record to its lease. */
  run(record: StoredRecord): Promise<void>
  onFault(error: unknown): void
}

/** How often the store is asked when something is due, whatever it said last: other processes come and go. */
const POLL_INTERVAL_MS = 5000
/** And how soon again, at least. */
const MIN_DELAY_MS = 10

/** Works on the records of a namespace as they come due, each of them in one process at a time. */
export class LeaseWorker {
  readonly #options: WorkerOptions
  readonly #running = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #wake = Number.POSITIVE_INFINITY
  #polling: Promise<void> | undefined
  /** Something came due while the store was being asked. */
  #again = false
  #stopped = false

  constructor(options: WorkerOptions) {
    this.#options = options
  }

  start(): void {
    this.at(Date.now())
  }

  /** Something is due then. */
  at(due: number): void {
    if (this.#stopped || due >= this.#wake) return
    this.#wake = due
    clearTimeout(this.#timer)
    const wait = Math.min(Math.max(due - Date.now(), MIN_DELAY_MS), POLL_INTERVAL_MS)
    this.#timer = setTimeout(() => this.poll(), wait)
    this.#timer.unref()
  }

  /** Claims no more, and resolves when what is being worked on is done. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#polling
    await Promise.allSettled(this.#running)
  }

  private poll(): void {
    this.#wake = Number.POSITIVE_INFINITY
    if (this.#polling !== undefined) {
      this.#again = true
      return
    }
    this.#polling = this.claim()
      .catch((error: unknown) => {
        this.#options.onFault(error)
        return Date.now() + POLL_INTERVAL_MS
      })
      .then(next => {
        this.#polling = undefined
        this.at(this.#again ? Date.now() : (next ?? Date.now() + POLL_INTERVAL_MS))
        this.#again = false
      })
  }

  /** When to look again; undefined where nothing is due any time soon. */
  private async claim(): Promise<number | undefined> {
    const { store, namespace, maxConcurrent } = this.#options
    const free = maxConcurrent - this.#running.size
    // The next one to be done with looks again.
    if (free <= 0) return undefined
    const now = Date.now()
    const records = await store.claim(namespace, { now, until: now + this.#options.lease(), limit: free })
    for (const record of records) this.begin(record)
    return records.length === free ? undefined : await store.nextDue(namespace)
  }

  private begin(record: StoredRecord): void {
    const work = this.#options.run(record).catch((error: unknown) => this.#options.onFault(error))
    this.#running.add(work)
    work.then(() => {
      const wasFull = this.#running.size >= this.#options.maxConcurrent
      this.#running.delete(work)
      if (wasFull) this.at(Date.now())
    })
  }
}
