import type { Series } from './series.js'
import type { MetricSpec } from './spec.js'

/** A series as processes tell each other: values of its labels, and its numbers. */
export type Plain = readonly [labels: readonly string[], numbers: readonly number[]]

export function plainOf(series: Iterable<Series>): readonly Plain[] {
  return Array.from(series, ({ labels, numbers }) => [labels, [...numbers]] as const)
}

type Join = (known: number, other: number) => number

const SUM: Join = (known, other) => known + other
/** What a process counts only grows, so that the larger one is the later. */
const LATER: Join = (known, other) => Math.max(known, other)

/** Series of one metric by the values of their labels, of several processes or of several moments of one. */
export class MergedSeries {
  readonly #byLabels = new Map<string, Series>()

  get series(): Iterable<Series> {
    return this.#byLabels.values()
  }

  /** Of other processes. */
  add(others: readonly Plain[], { kind, merge }: MetricSpec): void {
    this.#join(others, kind !== 'histogram' && merge === 'max' ? LATER : SUM)
  }

  /** Of the same process, at another moment. */
  update(others: readonly Plain[]): void {
    this.#join(others, LATER)
  }

  #join(others: readonly Plain[], join: Join): void {
    for (const [labels, numbers] of others) {
      const key = labels.join('\n')
      const known = this.#byLabels.get(key)
      if (known === undefined) this.#byLabels.set(key, { labels, numbers: Float64Array.from(numbers) })
      else for (const [at, number] of numbers.entries()) known.numbers[at] = join(known.numbers[at] ?? 0, number)
    }
  }
}
