import { randomUUID } from 'node:crypto'
import { type Peers, topic } from '../../core/peers.js'
import { type Plain, plainOf } from './merge.js'
import { type Counter, type Family, familyOf, type Histogram, LabelBounds } from './series.js'
import { type MetricSpec, MS_PER_SECOND } from './spec.js'

/** Most series of one message, so that none is too large. */
export const PAGE_SERIES = 2000

/** Some series of a metric, as a process has counted them since it started. */
interface Report {
  readonly process: string
  /** Whole: workers may run a newer program than their supervisor, and have metrics that it does not. */
  readonly spec: MetricSpec
  readonly series: readonly Plain[]
}

/** Workers tell the supervisor. */
export const COUNTED = topic<Report>('metrics: counted')
/** Workers ask the supervisor: what all have counted of a metric, at most {@link PAGE_SERIES} series from that place on. */
export const TOTAL = topic<{ readonly metric: string; readonly from: number }, readonly Plain[]>('metrics: total')

/** What the totals are of. */
export interface Origin {
  /** An id of the gateway, as long as it runs. */
  readonly gateway: string
  /** Since when they count, milliseconds since the epoch. */
  readonly since: number
}

/** Workers ask the supervisor. */
export const ORIGIN = topic<null, Origin>('metrics: origin')

/** What a process has reported so far, by metric and labels, and the total that has it. */
interface Reported {
  readonly process: string
  readonly series: Map<string, { readonly total: Float64Array; readonly last: number[] }>
}

/**
 * What the workers have counted since the gateway started, those that have ended among them. The supervisor keeps it: no other
 * process lives as long as the gateway.
 *
 * A process reports all that it has counted so far, and the total grows by what is more than in its reports before. So totals
 * never go back, reports may be lost or repeated, and there is nothing to do when a process ends.
 */
export class WorkerTotals {
  readonly #bounds = new LabelBounds()
  readonly #families = new Map<string, Family<Counter | Histogram>>()
  /** By worker: of its process, and of the one before, whose last report may come after its end and the successor's first one. */
  readonly #reported = new Map<number, readonly Reported[]>()

  constructor(peers: Peers, since: number = Date.now() - process.uptime() * MS_PER_SECOND) {
    peers.on(COUNTED, (report, worker) => this.#add(report, this.#reportedBy(worker, report.process)))
    peers.on(TOTAL, ({ metric, from }) => {
      const all = [...(this.#families.get(metric)?.series ?? [])]
      return plainOf(all.slice(from, from + PAGE_SERIES))
    })
    const origin: Origin = { gateway: randomUUID(), since }
    peers.on(ORIGIN, () => origin)
  }

  #reportedBy(worker: number, process: string): Reported {
    const known = this.#reported.get(worker) ?? []
    const found = known.find(one => one.process === process)
    if (found !== undefined) return found
    const made: Reported = { process, series: new Map() }
    this.#reported.set(worker, [made, ...known.slice(0, 1)])
    return made
  }

  #add({ spec, series }: Report, reported: Reported): void {
    const family = this.#families.get(spec.name) ?? familyOf(spec, this.#bounds)
    this.#families.set(spec.name, family)
    for (const [labels, numbers] of series) {
      const key = [spec.name, ...labels].join('\n')
      const known = reported.series.get(key) ?? { total: family.of(...labels).numbers, last: [] }
      reported.series.set(key, known)
      const { total, last } = known
      for (const [at, number] of numbers.entries()) {
        const [sum = 0, before = 0] = [total[at], last[at]]
        total[at] = spec.merge === 'max' ? Math.max(sum, number) : sum + Math.max(0, number - before)
        last[at] = Math.max(before, number)
      }
    }
  }
}
