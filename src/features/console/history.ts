import { addFigures, type Figures, noFigures } from './figures.js'

/** Figures of the time from `at` to the next one. */
export interface Bucket {
  /** Milliseconds since the epoch, a multiple of the level's step. */
  readonly at: number
  readonly figures: Figures
}

interface Level {
  readonly stepMs: number
  readonly count: number
}

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
/** Each level keeps so many buckets: seconds of a quarter of an hour, up to two hours of a month. */
const LEVELS = [
  { stepMs: 2 * SECOND_MS, count: 450 },
  { stepMs: 10 * SECOND_MS, count: 360 },
  { stepMs: MINUTE_MS, count: 360 },
  { stepMs: 4 * MINUTE_MS, count: 360 },
  { stepMs: 30 * MINUTE_MS, count: 336 },
  { stepMs: 2 * HOUR_MS, count: 360 },
] as const satisfies readonly Level[]

/** The names of ranges that can be asked for, in the order of the levels. */
export const RANGES = ['15m', '1h', '6h', '24h', '7d', '30d'] as const
export type Range = (typeof RANGES)[number]

/** Figures of the last 30 days in fixed steps, which are coarser the older they are. What it holds is bounded. */
export class History {
  readonly #levels = LEVELS.map(level => new Ring(level))

  /** What has not yet been added to the levels, all of one step of the finest. */
  #pending: Bucket | undefined

  /** The figures to which requests that end now are added. */
  at(now: number): Figures {
    const at = now - (now % LEVELS[0].stepMs)
    if (this.#pending?.at !== at) {
      this.#flush()
      this.#pending = { at, figures: noFigures() }
    }
    return this.#pending.figures
  }

  #flush(): void {
    if (this.#pending === undefined) return
    const { at, figures } = this.#pending
    for (const ring of this.#levels) addFigures(ring.at(at), figures)
    this.#pending = undefined
  }

  /** Buckets that are not empty, oldest first. */
  range(range: Range, now: number): { readonly stepMs: number; readonly from: number; readonly buckets: Bucket[] } {
    this.#flush()
    const ring = this.#levels[RANGES.indexOf(range)] as Ring
    return { stepMs: ring.level.stepMs, from: ring.from(now), buckets: ring.since(now) }
  }
}

class Ring {
  readonly level: Level
  #buckets: Bucket[] = []

  constructor(level: Level) {
    this.level = level
  }

  at(now: number): Figures {
    const at = now - (now % this.level.stepMs)
    const last = this.#buckets.at(-1)
    // A clock that was set back adds to the newest one.
    if (last !== undefined && last.at >= at) return last.figures
    const made = { at, figures: noFigures() }
    this.#buckets.push(made)
    const from = this.from(now)
    if ((this.#buckets[0]?.at ?? from) < from) this.#buckets = this.#buckets.filter(one => one.at >= from)
    return made.figures
  }

  from(now: number): number {
    const { stepMs, count } = this.level
    return now - (now % stepMs) - (count - 1) * stepMs
  }

  since(now: number): Bucket[] {
    const from = this.from(now)
    return this.#buckets.filter(({ at }) => at >= from)
  }
}

/** Buckets of several workers, put together by their time. */
export function together(all: readonly (readonly Bucket[])[]): ReadonlyMap<number, Figures> {
  const merged = new Map<number, Figures>()
  for (const { at, figures } of all.flat()) {
    const known = merged.get(at) ?? noFigures()
    addFigures(known, figures)
    merged.set(at, known)
  }
  return merged
}
