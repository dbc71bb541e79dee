/** How much more often a canary has to fail than the others for the evidence to grow: about half of this, and more. */
const WORSE = 3
/** The evidence that moves its requests back: by chance alone it comes once in a thousand failures, or more rarely. */
const ENOUGH = Math.log(1000)
/** Of the latest outcomes that tell the canary's share of all; the declared share counts as some of them at first. */
const OUTCOMES = 1000
const DECLARED_OUTCOMES = 20
/** With a share beyond these there is nothing to compare. */
const SHARES = { least: 0.001, most: 0.95 }

interface Outcomes {
  readonly requests: number
  readonly failures: number
}

/** How requests have ended in another process. */
export interface Heard {
  readonly canary: Outcomes
  readonly others: Outcomes
}

/** What is known of a canary. */
export interface WatchStanding {
  /** Since it began, or was tried again. */
  readonly canary: Outcomes
  readonly others: Outcomes
  /** Until then it gets nothing; milliseconds of the clock in use. */
  readonly restsUntil: number | undefined
}

/**
 * Whether a canary fails more often than the others: a sequential test, so that it may be asked after each request.
 *
 * If both fail equally often, a failure is the canary's as often as a request is. Each failure is weighed by how much likelier it
 * is if the canary fails three times as often; the sum never falls below 0, so that it notices what begins late (Page 1954,
 * "Continuous inspection schemes"). It keeps a few numbers.
 */
export class CanaryWatch {
  readonly #declared: number
  #share: number
  #seen = DECLARED_OUTCOMES
  #evidence = 0
  #restsUntil: number | undefined
  #isOurs = true
  #canary = { requests: 0, failures: 0 }
  #others = { requests: 0, failures: 0 }

  /** `share`: of all requests, as it is declared. */
  constructor(share: number) {
    this.#declared = share
    this.#share = share
  }

  /** Notes how a request ended. True: the canary fails more often, and rests from now on. */
  observe(isCanary: boolean, hasFailed: boolean, now: number, restMs: number): boolean {
    // What was under way when it went to rest.
    if (this.#restsUntil !== undefined) return false
    const counts = isCanary ? this.#canary : this.#others
    counts.requests++
    this.#seen = Math.min(this.#seen + 1, OUTCOMES)
    this.#share += ((isCanary ? 1 : 0) - this.#share) / this.#seen
    if (!hasFailed) return false
    counts.failures++
    return this.#weigh(evidenceOf(isCanary, this.#share), now + restMs)
  }

  /** Notes what other processes have seen, as if it had been seen here; failures of both weigh at once. True as with `observe`. */
  hear({ canary, others }: Heard, now: number, restMs: number): boolean {
    if (this.#restsUntil !== undefined) return false
    this.#canary = sum(this.#canary, canary)
    this.#others = sum(this.#others, others)
    const requests = canary.requests + others.requests
    if (requests === 0) return false
    this.#seen = Math.min(this.#seen + requests, OUTCOMES)
    this.#share += (requests * (canary.requests / requests - this.#share)) / Math.max(this.#seen, requests)
    const [ofCanary, ofOthers] = [evidenceOf(true, this.#share), evidenceOf(false, this.#share)]
    return this.#weigh(canary.failures * ofCanary + others.failures * ofOthers, now + restMs)
  }

  /** Another process has noticed that it fails more often, and says when it is tried again. */
  restUntil(until: number): void {
    if (this.#restsUntil !== undefined) return
    this.#restsUntil = until
    this.#isOurs = false
  }

  /** Whether this process was the one to notice that it fails more often, last time. */
  get isOurs(): boolean {
    return this.#isOurs
  }

  #weigh(evidence: number, until: number): boolean {
    this.#evidence = Math.max(0, this.#evidence + evidence)
    if (this.#evidence < ENOUGH) return false
    this.#restsUntil = until
    this.#isOurs = true
    return true
  }

  /** True once, when it is tried again. */
  wakes(now: number): boolean {
    if (this.#restsUntil === undefined || now < this.#restsUntil) return false
    this.#restsUntil = undefined
    this.#evidence = 0
    this.#share = this.#declared
    this.#seen = DECLARED_OUTCOMES
    this.#canary = { requests: 0, failures: 0 }
    this.#others = { requests: 0, failures: 0 }
    return true
  }

  get isResting(): boolean {
    return this.#restsUntil !== undefined
  }

  get standing(): WatchStanding {
    return { canary: { ...this.#canary }, others: { ...this.#others }, restsUntil: this.#restsUntil }
  }
}

function sum(one: Outcomes, other: Outcomes): { requests: number; failures: number } {
  return { requests: one.requests + other.requests, failures: one.failures + other.failures }
}

/** The logarithm of how much likelier a failure is where the canary fails more often. `share`: of the requests. @testonly */
export function evidenceOf(isCanary: boolean, share: number): number {
  const bounded = Math.min(SHARES.most, Math.max(SHARES.least, share))
  const sum = WORSE * bounded + 1 - bounded
  return Math.log((isCanary ? WORSE : 1) / sum)
}
