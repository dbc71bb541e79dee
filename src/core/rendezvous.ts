import type { Exchange } from './plan.js'

/** How much more than its share a place may have under way. */
const BOUND = 1.25
/** What is still chance where few are under way: so many standard deviations of a random spread. */
const DEVIATIONS = 2
/** A place with fewer attempts under way is never full. */
const FREE = 4

/** A name of a target that no other one of its model has. */
export function nameOf({ upstream, model }: Pick<Exchange, 'upstream' | 'model'>): string {
  return `${upstream.name}\0${model}`
}

/** One of those among which requests are spread. @testonly */
export interface Place {
  readonly name: string
  readonly weight: number
  /** Attempts under way. */
  readonly inFlight: number
}

/**
 * Rendezvous hashing with weights: the same digest gives the same order, and when a place comes or goes only what was its own
 * moves. Places that are full come last: those with more than 1.25 times their share of what is under way, or more than chance
 * explains.
 * `digest`: at least 8 bytes. Sources: Thaler and Ravishankar 1998; Mirrokni, Thorup and Zadimoghaddam 2016 for the bound.
 */
export function rendezvous<T extends Place>(digest: Uint8Array, places: readonly T[]): readonly T[] {
  const [high, low] = [wordAt(digest, 0), wordAt(digest, 4)]
  const weights = places.reduce((sum, { weight }) => sum + weight, 0)
  const all = places.reduce((sum, { inFlight }) => sum + inFlight, 1)
  const ranked = places.map(place => {
    return { place, score: scoreOf(place, high, low), isFull: place.inFlight >= roomOf((all * place.weight) / weights) }
  })
  ranked.sort((one, other) => Number(one.isFull) - Number(other.isFull) || other.score - one.score)
  return ranked.map(({ place }) => place)
}

/** How many a place may have under way whose share of all is that. */
function roomOf(share: number): number {
  return Math.max(FREE, BOUND * share, share + DEVIATIONS * Math.sqrt(share))
}

/** -weight / ln(u), with u uniform in (0, 1): the largest of them wins in proportion to the weights. */
function scoreOf({ name, weight }: Place, high: number, low: number): number {
  let [one, other] = [high ^ 0x9e3779b9, low ^ 0x85ebca6b]
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index)
    one = Math.imul(one ^ code, 0x9e3779b1)
    other = Math.imul(other ^ code, 0x5f356495)
  }
  one = Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35)
  other = Math.imul(other ^ (other >>> 16), 0x85ebca6b) ^ Math.imul(one ^ (one >>> 13), 0xc2b2ae35)
  const uniform = ((one >>> 0) * 0x200000 + ((other >>> 0) >>> 11) + 0.5) / 0x20000000000000
  return -weight / Math.log(uniform)
}

function wordAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)
}
