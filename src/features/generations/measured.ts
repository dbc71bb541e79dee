/** Times are counted in steps of so much: what is read of them is so exact. */
const STEP = 1.02
/** From 1 ms to about 17 minutes; what is beyond is in the last step. */
const STEPS = 700

/** What requests of one generation have come to. */
export interface Measured {
  /** Those whose first attempt says something of its target, and how many of these failed. */
  readonly requests: number
  readonly failures: number
  /** Times to the first content: a step, and how many of them are in it. The steps ascend. */
  readonly times: readonly (readonly [number, number])[]
}

/** The generation that is tried, and the one that serves the others. */
export interface MeasuredPair {
  readonly fresh: Measured
  readonly stable: Measured
}

export const NOTHING: Measured = { requests: 0, failures: 0, times: [] }

/** Counts within fixed memory. */
export class Measure {
  #requests = 0
  #failures = 0
  readonly #times = new Uint32Array(STEPS)

  ended(hasFailed: boolean): void {
    this.#requests++
    if (hasFailed) this.#failures++
  }

  began(milliseconds: number): void {
    const step = stepOf(milliseconds)
    this.#times[step] = (this.#times[step] ?? 0) + 1
  }

  get measured(): Measured {
    const times = [...this.#times].flatMap((count, step) => (count === 0 ? [] : [[step, count] as const]))
    return { requests: this.#requests, failures: this.#failures, times }
  }
}

function stepOf(milliseconds: number): number {
  return Math.min(STEPS - 1, Math.floor(Math.log(Math.max(1, milliseconds)) / Math.log(STEP)))
}

/** The upper end of a step, milliseconds. */
function endOf(step: number): number {
  return STEP ** (step + 1)
}

/** What several processes have counted, together. */
export function sumOf(all: readonly MeasuredPair[]): MeasuredPair {
  return { fresh: summed(all.map(({ fresh }) => fresh)), stable: summed(all.map(({ stable }) => stable)) }
}

function summed(all: readonly Measured[]): Measured {
  const times = new Map<number, number>()
  for (const [step, count] of all.flatMap(one => one.times)) times.set(step, (times.get(step) ?? 0) + count)
  return {
    requests: all.reduce((sum, { requests }) => sum + requests, 0),
    failures: all.reduce((sum, { failures }) => sum + failures, 0),
    times: [...times].sort(([one], [other]) => one - other),
  }
}

export function timesOf({ times }: Measured): number {
  return times.reduce((sum, [, count]) => sum + count, 0)
}

/** The time, in milliseconds, that so large a share of the times does not exceed; undefined where none is known. */
export function percentile(measured: Measured, share: number): number | undefined {
  let left = Math.ceil(timesOf(measured) * share)
  if (left === 0) return undefined
  for (const [step, count] of measured.times) {
    left -= count
    if (left <= 0) return endOf(step)
  }
  return undefined
}

/** How many times are longer than so many milliseconds. */
export function slowerThan({ times }: Measured, milliseconds: number): number {
  return times.reduce((sum, [step, count]) => (endOf(step) > milliseconds * STEP ? sum + count : sum), 0)
}
