import type { Measured, MeasuredPair } from '../../features/generations/measured.js'

/** A window with fewer says too little of how often the one that serves fails. */
const MIN_STABLE_REQUESTS = 5

interface Counts {
  readonly requests: number
  readonly failures: number
}

interface Window {
  readonly fresh: Counts
  readonly stable: Counts
}

/** How many failures of the new one are likely. */
interface Expected {
  readonly failures: number
  readonly variance: number
}

const NO_COUNTS: Counts = { requests: 0, failures: 0 }
const EMPTY: Window = { fresh: NO_COUNTS, stable: NO_COUNTS }

/**
 * Compares how often both generations fail, window of time by window: an outage of what both ask comes in bursts, and falls on both
 * in the same windows. It keeps a few numbers.
 */
export class Windows {
  readonly #allowed: number
  #before = EMPTY
  #open = EMPTY
  #failures = 0
  #expected: Expected = { failures: 0, variance: 0 }

  /** `allowed`: so much more of the new one's requests may fail. */
  constructor(allowed: number) {
    this.#allowed = allowed
  }

  /** `pair`: all that has been counted until now. A window lasts until both have requests in it. */
  add({ fresh, stable }: MeasuredPair): void {
    this.#open = {
      fresh: grown(this.#open.fresh, this.#before.fresh, fresh),
      stable: grown(this.#open.stable, this.#before.stable, stable),
    }
    this.#before = { fresh: countsOf(fresh), stable: countsOf(stable) }
    if (this.#open.fresh.requests === 0 || this.#open.stable.requests < MIN_STABLE_REQUESTS) return
    this.#failures += this.#open.fresh.failures
    this.#expected = sumOf(this.#expected, expectedIn(this.#open, this.#allowed))
    this.#open = EMPTY
  }

  /**
   * How likely so many failures of the new one are, or more, where in each window so many more of its requests fail as may. Their
   * number is taken as a constant and a Poisson variable of the same mean and variance: what always fails adds nothing to the latter.
   */
  get chance(): number {
    const { failures, variance } = sumOf(this.#expected, expectedIn(this.#open, this.#allowed))
    const found = this.#failures + this.#open.fresh.failures
    return poissonTail(Math.ceil(found - failures + variance), variance)
  }
}

function countsOf({ requests, failures }: Measured): Counts {
  return { requests, failures }
}

function grown(open: Counts, before: Counts, now: Measured): Counts {
  return {
    requests: open.requests + now.requests - before.requests,
    failures: open.failures + now.failures - before.failures,
  }
}

function sumOf(one: Expected, other: Expected): Expected {
  return { failures: one.failures + other.failures, variance: one.variance + other.variance }
}

/** The share of failures is known from a sample: that adds to the variance, and lessens what the sample shows of it. */
function expectedIn({ fresh: { requests }, stable }: Window, allowed: number): Expected {
  const usual = stable.requests === 0 ? 0 : stable.failures / stable.requests
  const most = Math.min(1, usual + allowed)
  const others = Math.max(1, stable.requests - 1)
  const ofSample = (requests * requests * usual * (1 - usual)) / others
  return { failures: requests * most, variance: requests * most * (1 - most) * (1 + 1 / others) + ofSample }
}

/** How likely a Poisson variable is so large, or larger. It adds up a few standard deviations around the mean alone. @testonly */
export function poissonTail(least: number, mean: number): number {
  if (least <= 0) return 1
  if (mean <= 0) return 0
  const reach = REACH_DEVIATIONS * Math.sqrt(mean)
  const from = mean < LARGE_MEAN ? 0 : Math.floor(mean - reach)
  const end = Math.min(least, Math.ceil(mean + reach) + REACH_DEVIATIONS ** 2)
  let term = logOfTerm(from, mean)
  let fewer = 0
  for (let count = from; count < end; count++) {
    fewer += Math.exp(term)
    term += Math.log(mean / (count + 1))
  }
  return Math.max(0, 1 - fewer)
}

/** Less than 1e-30 of a large mean's variable is farther away. */
const REACH_DEVIATIONS = 12
/** From here on few terms matter, and Stirling's formula has the first of them exactly enough. */
const LARGE_MEAN = 1000

function logOfTerm(count: number, mean: number): number {
  if (count === 0) return -mean
  return count * Math.log(mean / count) + (count - mean) - Math.log(2 * Math.PI * count) / 2 - 1 / (12 * count)
}
