import { BoundedMap } from '../bounded-map.js'
import { FAULTS, type FaultName, type Faults } from './table.js'

const GOLDEN = 0.618_033_988_749_895

/**
 * Decides in which requests faults strike. Each way of writing faults has a count of its own, so what happens follows
 * from the order of the requests alone. The share is that of the golden-ratio sequence: exact over any window to within
 * one or two, without a period that retries could fall in step with.
 */
export class Gate {
  readonly #counts = new BoundedMap<number>()

  /** What strikes in this request; each scope is counted for itself. */
  pass(faults: Faults, scope = ''): Faults {
    const { times, 'failure-rate': rate } = faults
    if (times === undefined && rate === undefined) return faults
    const number = this.#next(scope + JSON.stringify(faults))
    const strikes = number < (times ?? Number.POSITIVE_INFINITY) && (number * GOLDEN) % 1 < (rate ?? 1)
    if (!strikes) return Object.fromEntries(Object.entries(faults).filter(([name]) => isAlways(name)))
    return Object.keys(faults).every(isAlways) ? { ...faults, status: 500 } : faults
  }

  reset(): void {
    this.#counts.clear()
  }

  #next(key: string): number {
    const number = this.#counts.get(key) ?? 0
    this.#counts.put(key, number + 1)
    return number
  }
}

function isAlways(name: string): boolean {
  return FAULTS[name as FaultName].strikes === 'always'
}
