/** Bounds of the classes into which times fall: each is a twelfth of a doubling wider than the one before, from 1 ms on. */
const CLASSES_PER_DOUBLING = 12
const DOUBLINGS = 22
const CLASSES = CLASSES_PER_DOUBLING * DOUBLINGS
/** When so many times have been counted, all counts are halved: later times count more. */
const MAX_COUNTED_TIMES = 400
/** Times without which nothing is said. */
const MIN_COUNTED_TIMES = 20

/** How long a target takes to begin its answers: some 400 times, of which the later ones count more, in 264 classes of 6 %. */
export class Times {
  readonly #counts = new Float64Array(CLASSES)
  #sum = 0

  add(milliseconds: number): void {
    const at = Math.ceil(Math.log2(Math.max(1, milliseconds)) * CLASSES_PER_DOUBLING)
    const place = Math.min(CLASSES - 1, at)
    this.#counts[place] = (this.#counts[place] as number) + 1
    this.#sum++
    if (this.#sum < MAX_COUNTED_TIMES) return
    for (let one = 0; one < CLASSES; one++) this.#counts[one] = (this.#counts[one] as number) / 2
    this.#sum /= 2
  }

  /** The time in which this share of the answers began, milliseconds, at most 6 % too long; undefined: too few are known. */
  within(share: number): number | undefined {
    if (this.#sum < MIN_COUNTED_TIMES) return undefined
    let left = share * this.#sum
    for (let one = 0; one < CLASSES; one++) {
      left -= this.#counts[one] as number
      if (left <= 0) return 2 ** (one / CLASSES_PER_DOUBLING)
    }
    return 2 ** DOUBLINGS
  }
}

/** The times of one model at one upstream. Whole answers begin when they are ready, so they have times of their own. */
export class TargetTimes {
  readonly upstream: string
  readonly streams = new Times()
  readonly wholes = new Times()

  constructor(upstream: string) {
    this.upstream = upstream
  }
}
