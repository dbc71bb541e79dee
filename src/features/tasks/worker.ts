import type { Store, StoredRecord } from '../../core/store.js'

interface WorkerOptions {
  readonly store: Store
  readonly namespace: string
  /** How long a claimed record belongs to this process, milliseconds. `run` takes less. */
  lease(): number
  /** Most records worked on at a time. */
  readonly maxConcurrent: number
  /** Does a record's due work, and sets its next due time by `replace`. If it fails, the record comes due when its lease ends. */
  run(record: StoredRecord): Promise<void>
  onFault(error: unknown): void
}

/** Longest pause between two polls of the store: another process may leave work at any time. */
const POLL_INTERVAL_MS = 5000
/** Shortest pause between two polls. */
const MIN_DELAY_MS = 10

/** Works on due records of a namespace, each of them in one process at a time. */
export class LeaseWorker {
  readonly #options: WorkerOptions
  readonly #running = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #wake = Number.POSITIVE_INFINITY
  #polling: Promise<void> | undefined
  /** A record came due while the store was polled. */
  #again = false
  #stopped = false

  constructor(options: WorkerOptions) {
    this.#options = options
  }

  start(): void {
    this.at(Date.now())
  }

  /** A record is due at that time. */
  at(due: number): void {
    if (this.#stopped || due >= this.#wake) return
    this.#wake = due
    clearTimeout(this.#timer)
    const wait = Math.min(Math.max(due - Date.now(), MIN_DELAY_MS), POLL_INTERVAL_MS)
    this.#timer = setTimeout(() => this.poll(), wait)
    this.#timer.unref()
  }

  /** Claims no more, and resolves when all running work is done. */
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

  /** When to poll again; undefined if nothing is due soon. */
  private async claim(): Promise<number | undefined> {
    const { store, namespace, maxConcurrent } = this.#options
    const free = maxConcurrent - this.#running.size
    // `begin` polls again when a record is done.
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
