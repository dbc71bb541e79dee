import type { Series } from './series.js'
import type { MetricSpec } from './spec.js'

/** A series as processes tell each other: values of its labels, and its numbers. */
export type Plain = readonly [labels: readonly string[], numbers: readonly number[]]

export function plainOf(series: Iterable<Series>): readonly Plain[] {
  return Array.from(series, ({ labels, numbers }) => [labels, [...numbers]] as const)
}

const MERGE = { sum: (one: number, other: number) => one + other, max: Math.max, min: Math.min }

/** Series of one metric by the values of their labels, of several processes. */
export class MergedSeries {
  readonly #byLabels = new Map<string, Series>()

  get series(): Iterable<Series> {
    return this.#byLabels.values()
  }

  add(others: readonly Plain[], { merge = 'sum' }: MetricSpec): void {
    for (const [labels, numbers] of others) {
      const key = labels.join('\n')
      const known = this.#byLabels.get(key)
      if (known === undefined) this.#byLabels.set(key, { labels, numbers: Float64Array.from(numbers) })
      else {
        for (const [at, number] of numbers.entries()) {
          const before = known.numbers[at] ?? 0
          known.numbers[at] = MERGE[merge](before, number)
        }
      }
    }
  }
}
