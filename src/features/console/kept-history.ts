import { randomUUID } from 'node:crypto'
import type { Store, StoredRecord } from '../../core/store.js'
import { type Figures, isFigures } from './figures.js'
import { type Bucket, beginOf, type History, type Level, type Range, shapeOf } from './history.js'

const NAMESPACE = 'console-figures'
/** How often what is over is stored, milliseconds. */
const SAVE_MS = 10_000
/** How often the longest bucket is stored before it is over: as much is lost with a process that is killed. */
const OPEN_MS = 60_000
/** Records of one page, and of one reading: the newest. */
const PAGE_RECORDS = 200
const MAX_RECORDS = 10_000
/** How long what was read counts, by the step of a level: a tenth of it, and these at least and at most. */
const MIN_FRESH_MS = 5000
const MAX_FRESH_MS = 60_000

/** Buckets by the process that counted them. */
type ByProcess = ReadonlyMap<string, readonly Bucket[]>

/** The history of all processes in the store: one record for each bucket and process. */
export class KeptHistory {
  /** The name of this process, since its start. */
  readonly process = randomUUID()
  readonly #store: Store
  readonly #history: History
  readonly #onFault: (error: unknown) => void
  readonly #read = new Map<Range, { readonly until: number; readonly found: Promise<ByProcess> }>()
  /** The record of the longest bucket that is not over. */
  #open: StoredRecord | undefined
  #openSaved = 0
  #timer: NodeJS.Timeout | undefined
  #saving: Promise<void> | undefined

  constructor(store: Store, history: History, onFault: (error: unknown) => void) {
    this.#store = store
    this.#history = history
    this.#onFault = onFault
  }

  /** There is something to store from now on. */
  start(): void {
    this.#timer ??= setInterval(() => void this.save(), SAVE_MS).unref()
  }

  /** The process ends. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#saving
    await this.save(true)
  }

  /** Stores what is over; `all`: and what is not. */
  async save(all = false): Promise<void> {
    this.#saving ??= this.#save(all).finally(() => {
      this.#saving = undefined
    })
    await this.#saving
  }

  async #save(all: boolean): Promise<void> {
    const now = Date.now()
    const isTime = now - this.#openSaved >= OPEN_MS
    const unsaved = this.#history.unsaved(now, level => all || (isTime && level.stepMs > OPEN_MS))
    if (isTime) this.#openSaved = now
    for (const [at, { level, bucket }] of unsaved.entries()) {
      try {
        await this.#put(level, bucket, now)
      } catch (error) {
        this.#onFault(error)
        // The next one would fail as well.
        for (const rest of unsaved.slice(at)) this.#history.unstored(rest.level, rest.bucket)
        return
      }
    }
  }

  async #put(level: Level, bucket: Bucket, now: number): Promise<void> {
    const value = Buffer.from(JSON.stringify(bucket.figures))
    const place = { namespace: NAMESPACE, owner: level.name, key: `${bucket.at}.${this.process}` }
    const isOpen = bucket.at + level.stepMs > now
    let known = this.#open?.key === place.key && this.#open.owner === place.owner ? this.#open : undefined
    if (known === undefined) {
      const expires = bucket.at + level.stepMs * (level.count + 1)
      const made = await this.#store.create({ ...place, created: bucket.at, expires, value })
      if (isOpen) this.#open = made
      if (made !== undefined) return
      // A write whose outcome was not known has happened.
      known = await this.#store.get(place.namespace, place.owner, place.key)
    }
    const next = known && (await this.#store.replace(known, { value }))
    if (isOpen) this.#open = next
  }

  /** What other processes have stored of a range, also former ones. It may be as old as a tenth of the range's step. */
  async read(range: Range, now: number): Promise<ByProcess> {
    const { level } = shapeOf(range)
    const known = this.#read.get(range)
    if (known !== undefined && known.until > now) return await known.found
    const fresh = Math.min(MAX_FRESH_MS, Math.max(MIN_FRESH_MS, level.stepMs / 10))
    const found = this.#list(level, beginOf(range, now))
    this.#read.set(range, { until: now + fresh, found })
    // What failed is read again.
    found.catch(() => this.#read.delete(range))
    return await found
  }

  async #list(level: Level, from: number): Promise<ByProcess> {
    const found = new Map<string, Bucket[]>()
    let after: StoredRecord | undefined
    for (let count = 0; count < MAX_RECORDS; count += PAGE_RECORDS) {
      const range = { order: 'descending', limit: PAGE_RECORDS, ...(after === undefined ? {} : { after }) } as const
      const page = await this.#store.list(NAMESPACE, level.name, range)
      for (const { created, key, value } of page) {
        if (created < from) return found
        const process = key.slice(key.indexOf('.') + 1)
        const figures = process === this.process ? undefined : figuresOf(value)
        if (figures === undefined) continue
        const own = found.get(process) ?? []
        found.set(process, own)
        own.push({ at: created, figures })
      }
      after = page.at(-1)
      if (page.length < PAGE_RECORDS) break
    }
    return found
  }
}

function figuresOf(value: Uint8Array): Figures | undefined {
  const read: unknown = JSON.parse(Buffer.from(value).toString('utf8'))
  return isFigures(read) ? read : undefined
}
