import { randomUUID } from 'node:crypto'
import { type Peers, topic } from '../../core/peers.js'
import { allOf, type CountedFamilies, type StateFamilies } from './families.js'
import { MergedSeries, type Plain, plainOf } from './merge.js'
import type { MetricSpec } from './spec.js'
import type { Shown } from './text.js'
import { COUNTED, ORIGIN, type Origin, PAGE_SERIES, TOTAL } from './totals.js'

/** A worker that is asked reports what it has counted to the supervisor, and answers with its gauges. */
const COLLECT = topic<null, readonly (readonly [metric: string, series: readonly Plain[]])[]>('metrics: collect')
const PRESENT = topic<null, null>('metrics: present')

/** A worker may wait for a slow store, a second for each question, before it answers. */
const COLLECT_TIMEOUT_MS = 3000
/** The supervisor may be busy with the reports of many workers. */
const TOTAL_TIMEOUT_MS = 5000

/**
 * Puts the metrics of all workers together: gauges of those that answer, and what {@link WorkerTotals} has of all that ever
 * counted. Of a worker that is killed, or does not answer, that is what it had at the last scrape.
 */
export class WorkerMetrics {
  readonly #peers: Peers
  readonly #families: CountedFamilies
  readonly #states: () => Promise<StateFamilies>
  readonly #process: string = randomUUID()

  constructor(peers: Peers, families: CountedFamilies, states: () => Promise<StateFamilies>) {
    this.#peers = peers
    this.#families = families
    this.#states = states
    peers.on(PRESENT, () => null)
    peers.on(COLLECT, async () => {
      const gauges = (await this.#collect()).filter(({ spec }) => spec.kind === 'gauge')
      return gauges.map(({ spec, series }) => [spec.name, plainOf(series)] as const)
    })
  }

  /** Whether no other worker has a lower number: what the totals are of then. */
  async leads(): Promise<Origin | undefined> {
    const others = await this.#peers.ask(PRESENT, null)
    if (others.some(({ from }) => from < this.#peers.number)) return undefined
    return await this.#peers.consult(ORIGIN, null).catch(() => undefined)
  }

  /** All metrics of all workers. */
  async merged(): Promise<readonly Shown[]> {
    // Reports are before answers in the order of messages: the totals have them.
    const [own, others] = await Promise.all([this.#collect(), this.#peers.ask(COLLECT, null, COLLECT_TIMEOUT_MS)])
    const merged = own.map(async ({ spec, series }) => {
      if (spec.kind !== 'gauge') return { spec, series: await this.#total(spec) }
      const sum = new MergedSeries()
      sum.add(plainOf(series), spec)
      for (const { answer } of others) sum.add(answer.find(([metric]) => metric === spec.name)?.[1] ?? [], spec)
      return { spec, series: sum.series }
    })
    return await Promise.all(merged)
  }

  /** This process ends. Resolves when the totals have what it counted. `states`: what it can still show of itself. */
  async farewell(states: StateFamilies): Promise<void> {
    this.#report(states)
    // Answered after what was reported before it.
    await this.#peers.consult(ORIGIN, null).catch(() => undefined)
  }

  async #collect(): Promise<readonly Shown[]> {
    return this.#report(await this.#states())
  }

  #report(states: StateFamilies): readonly Shown[] {
    const shown = allOf(this.#families.requests, this.#families.events, states)
    for (const { spec, series } of shown) {
      if (spec.kind === 'gauge') continue
      const all = plainOf(series)
      for (let at = 0; at < all.length; at += PAGE_SERIES)
        this.#peers.report(COUNTED, { process: this.#process, spec, series: all.slice(at, at + PAGE_SERIES) })
    }
    return shown
  }

  /** Nothing where the supervisor does not answer: less than the last time would look like a restart. */
  async #total(spec: MetricSpec): Promise<Shown['series']> {
    const total = new MergedSeries()
    try {
      for (let from = 0, count = PAGE_SERIES; count === PAGE_SERIES; from += count) {
        const page = await this.#peers.consult(TOTAL, { metric: spec.name, from }, TOTAL_TIMEOUT_MS)
        total.add(page, spec)
        count = page.length
      }
    } catch {
      return []
    }
    return total.series
  }
}
