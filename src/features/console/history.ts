import { addFigures, type Figures, noFigures } from './figures.js'

/** Figures of the time from `at` to the next one. */
export interface Bucket {
  /** Milliseconds since the epoch, a multiple of the level's step. */
  readonly at: number
  readonly figures: Figures
}

export interface Level {
  /** Its name in the store. */
  readonly name: string
  readonly stepMs: number
  readonly count: number
}

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const TEN_SECONDS: Level = { name: '10s', stepMs: 10 * SECOND_MS, count: 360 }
const MINUTES: Level = { name: '1m', stepMs: MINUTE_MS, count: 1440 }
const HALF_HOURS: Level = { name: '30m', stepMs: 30 * MINUTE_MS, count: 1440 }
/**
 * What is kept: an hour, a day, and 30 days.
 * @testonly
 */
export const LEVELS: readonly Level[] = [TEN_SECONDS, MINUTES, HALF_HOURS]
/** For what happens now; it is in no store. */
const NOW: Level = { name: 'now', stepMs: 2 * SECOND_MS, count: 6 }

interface Shape {
  readonly level: Level
  /** Of the points that are shown: one bucket or several of the level. */
  readonly stepMs: number
  readonly count: number
}

const SHAPES = {
  '15m': { level: TEN_SECONDS, stepMs: 10 * SECOND_MS, count: 90 },
  '1h': { level: TEN_SECONDS, stepMs: 10 * SECOND_MS, count: 360 },
  '6h': { level: MINUTES, stepMs: MINUTE_MS, count: 360 },
  '24h': { level: MINUTES, stepMs: 4 * MINUTE_MS, count: 360 },
  '7d': { level: HALF_HOURS, stepMs: 30 * MINUTE_MS, count: 336 },
  '30d': { level: HALF_HOURS, stepMs: 2 * HOUR_MS, count: 360 },
} as const satisfies Readonly<Record<string, Shape>>

/** The names of ranges that can be asked for, shortest first. */
export const RANGES = ['15m', '1h', '6h', '24h', '7d', '30d'] as const
export type Range = (typeof RANGES)[number]

export function shapeOf(range: Range): Shape {
  return SHAPES[range]
}

/** The first point of a range. */
export function beginOf(range: Range, now: number): number {
  const { stepMs, count } = SHAPES[range]
  return now - (now % stepMs) - (count - 1) * stepMs
}

/** Buckets that could not yet be stored, of each level; more are lost to the store, the oldest first. */
const MAX_UNSAVED = 60

/** Figures of this process in fixed steps, which are coarser the older they are. What it holds is bounded. */
export class History {
  readonly #now = new Ring(NOW)
  readonly #rings = LEVELS.map(level => new Ring(level))
  /** What has not yet been added to the levels, all of one step of the finest. */
  #pending: Bucket | undefined

  /** The figures to which requests that end now are added. */
  at(now: number): Figures {
    const at = now - (now % NOW.stepMs)
    if (this.#pending?.at !== at) {
      this.#flush()
      this.#pending = { at, figures: noFigures() }
    }
    return this.#pending.figures
  }

  #flush(): void {
    if (this.#pending === undefined) return
    const { at, figures } = this.#pending
    for (const ring of [this.#now, ...this.#rings]) addFigures(ring.at(at), figures)
    this.#pending = undefined
  }

  /** Buckets of the range's level that are not empty, oldest first. */
  range(range: Range, now: number): readonly Bucket[] {
    this.#flush()
    const ring = this.#rings[LEVELS.indexOf(SHAPES[range].level)] as Ring
    return ring.since(beginOf(range, now))
  }

  /** Of the last ten seconds. */
  latest(now: number): readonly Bucket[] {
    this.#flush()
    return this.#now.since(now - 10 * SECOND_MS)
  }

  /**
   * What the store does not have yet: buckets that are over, and with `open` those of this moment. It counts as stored from
   * now on, unless {@link unstored} says otherwise.
   */
  unsaved(now: number, open: (level: Level) => boolean): readonly { readonly level: Level; readonly bucket: Bucket }[] {
    this.#flush()
    return this.#rings.flatMap(ring => {
      const { level, changed } = ring
      const ready = [...changed].filter(({ at }) => at + level.stepMs <= now || open(level))
      for (const bucket of ready) changed.delete(bucket)
      return ready.map(bucket => ({ level, bucket }))
    })
  }

  unstored(level: Level, bucket: Bucket): void {
    this.#rings[LEVELS.indexOf(level)]?.change(bucket)
  }
}

class Ring {
  readonly level: Level
  readonly changed = new Set<Bucket>()
  #buckets: Bucket[] = []

  constructor(level: Level) {
    this.level = level
  }

  at(now: number): Figures {
    const at = now - (now % this.level.stepMs)
    const last = this.#buckets.at(-1)
    // A clock that was set back adds to the newest one.
    const bucket = last !== undefined && last.at >= at ? last : this.#make(at, now)
    this.change(bucket)
    return bucket.figures
  }

  change(bucket: Bucket): void {
    this.changed.add(bucket)
    for (const oldest of this.changed) {
      if (this.changed.size <= MAX_UNSAVED) break
      this.changed.delete(oldest)
    }
  }

  #make(at: number, now: number): Bucket {
    const made = { at, figures: noFigures() }
    this.#buckets.push(made)
    const { stepMs, count } = this.level
    const from = now - (now % stepMs) - (count - 1) * stepMs
    if ((this.#buckets[0]?.at ?? from) < from) this.#buckets = this.#buckets.filter(one => one.at >= from)
    return made
  }

  since(from: number): readonly Bucket[] {
    return this.#buckets.filter(({ at }) => at >= from)
  }
}

/** Buckets of several processes, put together by their time: in steps of so many milliseconds. */
export function together(all: readonly (readonly Bucket[])[], stepMs = 1): ReadonlyMap<number, Figures> {
  const merged = new Map<number, Figures>()
  for (const { at, figures } of all.flat()) {
    const start = at - (at % stepMs)
    const known = merged.get(start) ?? noFigures()
    addFigures(known, figures)
    merged.set(start, known)
  }
  return merged
}
