import type { MetricSpec } from './spec.js'

/** Longest value of a label, characters. */
const MAX_VALUE_CHARS = 200
/** The value for all that are beyond a bound. */
const OTHER = 'other'
/** Most values of a label, unless {@link LABEL_BOUNDS} has another number. Reached by what reloads bring alone. */
const MAX_VALUES = 500
/** Most series of one metric. */
const MAX_SERIES = 20_000
/** Most values of single labels. `name`: of all that have limits, keys among them. */
const LABEL_BOUNDS: Readonly<Record<string, number>> = {
  key: 20_000,
  name: 20_000,
  group: 2000,
  model: 2000,
  fallback: 200,
}

/** Values that labels have had: those beyond the bounds are `other`. */
export class LabelBounds {
  readonly #known = new Map<string, Set<string>>()

  admit(label: string, value: string): string {
    const known = this.#known.get(label) ?? new Set<string>()
    const short = value.slice(0, MAX_VALUE_CHARS)
    if (known.has(short)) return short
    if (known.size >= (LABEL_BOUNDS[label] ?? MAX_VALUES)) return OTHER
    this.#known.set(label, known.add(short))
    return short
  }
}

/** One value, or the counts of buckets with the sum of what was observed behind them. */
export interface Series {
  readonly labels: readonly string[]
  readonly numbers: Float64Array
}

export class Counter implements Series {
  readonly labels: readonly string[]
  readonly numbers = new Float64Array(1)

  constructor(labels: readonly string[]) {
    this.labels = labels
  }

  add(amount: number): void {
    this.numbers[0] = (this.numbers[0] ?? 0) + amount
  }
}

export class Histogram implements Series {
  readonly labels: readonly string[]
  readonly numbers: Float64Array
  readonly #bounds: readonly number[]

  constructor(labels: readonly string[], bounds: readonly number[]) {
    this.labels = labels
    this.#bounds = bounds
    this.numbers = new Float64Array(bounds.length + 2)
  }

  observe(value: number): void {
    const { numbers } = this
    const bounds = this.#bounds
    let [from, to] = [0, bounds.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((bounds[middle] ?? 0) < value) from = middle + 1
      else to = middle
    }
    numbers[from] = (numbers[from] ?? 0) + 1
    const sum = numbers.length - 1
    numbers[sum] = (numbers[sum] ?? 0) + value
  }
}

/** The series of one metric. Who counts keeps the series that it needs, so that no request looks one up. */
export class Family<S extends Counter | Histogram> {
  readonly spec: MetricSpec
  readonly #bounds: LabelBounds
  readonly #make: (labels: readonly string[]) => S
  readonly #series = new Map<string, S>()

  constructor(spec: MetricSpec, bounds: LabelBounds, make: (labels: readonly string[]) => S) {
    this.spec = spec
    this.#bounds = bounds
    this.#make = make
  }

  get series(): Iterable<Series> {
    return this.#series.values()
  }

  /** The series with these values, in the order of the metric's labels; an empty one is not shown. */
  of(...values: readonly string[]): S {
    const { labels, kind, merge } = this.spec
    let admitted = labels.map((label, at) => this.#bounds.admit(label, values[at] ?? ''))
    let known = this.#series.get(admitted.join('\n'))
    if (known === undefined && this.#series.size >= MAX_SERIES) {
      admitted = labels.map(() => OTHER)
      known = this.#series.get(admitted.join('\n'))
    }
    if (known !== undefined) return known
    const made = this.#make(admitted)
    // A sum of ratios would be no one's.
    const isOther = admitted.some((value, at) => value === OTHER && values[at] !== OTHER)
    if (isOther && kind === 'gauge' && merge !== undefined) return made
    this.#series.set(admitted.join('\n'), made)
    return made
  }
}

type FamilyOf<Spec extends MetricSpec> = Family<Spec['kind'] extends 'histogram' ? Histogram : Counter>

/** A family for each metric of a list. */
export type Families<List extends Readonly<Record<string, MetricSpec>>> = {
  readonly [Name in keyof List]: FamilyOf<List[Name]>
}

export function familiesOf<List extends Readonly<Record<string, MetricSpec>>>(
  list: List,
  bounds: LabelBounds,
): Families<List> {
  const made = Object.entries(list).map(([name, spec]) => [name, familyOf(spec, bounds)])
  return Object.fromEntries(made) as Families<List>
}

export function familyOf(spec: MetricSpec, bounds: LabelBounds): Family<Counter | Histogram> {
  const { kind, buckets = [] } = spec
  const make = (labels: readonly string[]): Counter | Histogram =>
    kind === 'histogram' ? new Histogram(labels, buckets) : new Counter(labels)
  return new Family(spec, bounds, make)
}
