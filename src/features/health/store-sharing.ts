import { type HealthPart, isStanding, type PartStanding } from '../../core/health.js'
import { parseJson } from '../../core/json.js'
import type { Store } from '../../core/store.js'
import type { Circuits } from './circuits.js'

const PLACE = { namespace: 'health', owner: 'gateways', key: 'standings' } as const

/** How often a gateway reads what others have learned, milliseconds. */
const READ_EVERY_MS = 10_000
/** Changes of so short a time are written together; by chance, so that gateways that see the same do not write at once. */
const WRITE_WITHIN_MS = 500
/** Most entries of the record; those that changed last stay. */
const MAX_ENTRIES = 500
/** How long the record outlives the last change, milliseconds: longer than any pause. */
const KEPT_MS = 900_000
/** Others may write between a reading and its writing. */
const MAX_TRIES = 3

/**
 * What gateways of one store learn of upstreams, best effort: one record, read now and then and written when something opens
 * or closes, never while a request waits. A failure of the store changes nothing here.
 */
export class StoreSharing {
  readonly #store: Store
  readonly #circuits: Circuits
  readonly #changed = new Map<string, HealthPart>()
  #reading: NodeJS.Timeout | undefined
  #writing: NodeJS.Timeout | undefined
  #busy: Promise<void> = Promise.resolve()

  constructor(store: Store, circuits: Circuits) {
    this.#store = store
    this.#circuits = circuits
    this.#read(0)
  }

  changed(part: HealthPart): void {
    if (this.#changed.size >= MAX_ENTRIES) return
    this.#changed.set(keyOf(part), part)
    this.#writing ??= later(Math.random() * WRITE_WITHIN_MS, () => {
      this.#writing = undefined
      this.#next(() => this.#write())
    })
  }

  async close(): Promise<void> {
    clearTimeout(this.#reading)
    clearTimeout(this.#writing)
    await this.#busy
  }

  #read(waitMs: number): void {
    this.#reading = later(waitMs, () => {
      this.#next(async () => this.#circuits.merge((await this.#stored()).standings))
      this.#read(READ_EVERY_MS * (0.75 + Math.random() / 2))
    })
  }

  /** One after the other. */
  #next(work: () => Promise<void>): void {
    this.#busy = this.#busy.then(work).catch(() => undefined)
  }

  async #write(): Promise<void> {
    const parts = [...this.#changed.values()]
    this.#changed.clear()
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { record, standings } = await this.#stored()
      this.#circuits.merge(standings)
      const own = parts.flatMap(part => this.#circuits.standingOf(part) ?? [])
      const merged = latest([...standings, ...own])
      // Another gateway has seen the same.
      if (merged.every(one => standings.some(known => isSame(known, one)))) return
      const now = Date.now()
      const value = Buffer.from(JSON.stringify(merged))
      const change = { value, expires: now + KEPT_MS }
      const written =
        record === undefined
          ? await this.#store.create({ ...PLACE, created: now, ...change })
          : await this.#store.replace(record, change)
      if (written !== undefined) return
    }
  }

  async #stored() {
    const record = await this.#store.get(PLACE.namespace, PLACE.owner, PLACE.key)
    const known = record === undefined ? undefined : parseJson(Buffer.from(record.value).toString('utf8'))
    const standings = Array.isArray(known) ? known.slice(0, MAX_ENTRIES).filter(isStanding) : []
    return { record, standings }
  }
}

/** Of each part the latest change, the newest first. */
function latest(standings: readonly PartStanding[]): readonly PartStanding[] {
  const known = new Map<string, PartStanding>()
  for (const one of standings) {
    const key = keyOf(one)
    if ((known.get(key)?.changed ?? 0) < one.changed) known.set(key, one)
  }
  return [...known.values()].sort((one, other) => other.changed - one.changed).slice(0, MAX_ENTRIES)
}

/** Whether one entry tells as much as the other: of what is open, later changes tell only that it is still so. */
function isSame(known: PartStanding, { isOpen, until, ...part }: PartStanding): boolean {
  return keyOf(known) === keyOf(part) && known.isOpen === isOpen && (!isOpen || known.until >= until)
}

function keyOf({ upstream, definition, credential, model }: HealthPart): string {
  return JSON.stringify([upstream, definition, credential, model])
}

function later(waitMs: number, run: () => void): NodeJS.Timeout {
  const timer = setTimeout(run, waitMs)
  timer.unref()
  return timer
}
