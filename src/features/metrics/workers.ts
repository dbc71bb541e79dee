import { randomUUID } from 'node:crypto'
import { type Peers, topic } from '../../core/peers.js'
import { allOf, type CountedFamilies, type StateFamilies } from './families.js'
import { MergedSeries, type Plain, plainOf } from './merge.js'
import type { Shown } from './text.js'

/** Processes that are remembered, those that have ended among them: with each restart of a worker there is one more. */
const MAX_PROCESSES = 64

/** What a process has counted of one metric since it started. */
interface Report {
  readonly metric: string
  readonly process: string
  readonly series: readonly Plain[]
}

interface Answer extends Report {
  /** Processes whose reports on the metric the answering one has; `final`: they have ended, and nothing is missing. */
  readonly known: readonly { readonly process: string; readonly final: boolean }[]
}

/** One message for each metric, so that none is too large. The one who asks reports as well. */
const COUNTED = topic<Report, Answer>('metrics: counted')
const FORMER = topic<Omit<Report, 'series'>, readonly Plain[]>('metrics: former')
const PASSED_ON = topic<Report & { readonly final: boolean }>('metrics: passed on')
/** Since when a worker's gateway counts, milliseconds since the epoch. */
const SINCE = topic<number, number>('metrics: since')
const STATES = topic<null, readonly (readonly [metric: string, series: readonly Plain[]])[]>('metrics: states')

/** What another process has reported on a metric. */
interface Heard {
  readonly merged: MergedSeries
  /** It has ended, and all that any process has heard of it is here. */
  final: boolean
}

/**
 * Puts the metrics of all workers together. What a worker counted is remembered by the others when it ends: the sums never go back.
 * If it is killed, that is what it had at the last scrape; less only if others are killed before the next one.
 */
export class WorkerMetrics {
  readonly #peers: Peers
  readonly #families: CountedFamilies
  readonly #states: () => Promise<StateFamilies>
  readonly #process: string = randomUUID()
  /** When the first process of the gateway began to count, of those that this one has heard of. */
  #since: number
  /** By process and metric; of the others alone. */
  readonly #heard = new Map<string, Map<string, Heard>>()

  constructor(peers: Peers, families: CountedFamilies, states: () => Promise<StateFamilies>, since = Date.now()) {
    this.#since = since
    this.#peers = peers
    this.#families = families
    this.#states = states
    peers.on(COUNTED, report => {
      this.#remember(report, false)
      return { ...this.#report(report.metric), known: this.#known(report.metric) }
    })
    peers.on(SINCE, theirs => {
      this.#since = Math.min(this.#since, theirs)
      return this.#since
    })
    peers.on(FORMER, ({ process, metric }) => this.#seriesOf(process, metric))
    peers.on(PASSED_ON, ({ final, ...report }) => this.#remember(report, final))
    peers.on(STATES, async () => allOf(await states()).map(one => [one.spec.name, plainOf(one.series)] as const))
  }

  /** Whether no other worker has a lower number: since when the gateway counts then, milliseconds since the epoch. */
  async leads(): Promise<number | undefined> {
    const answers = await this.#peers.ask(SINCE, this.#since)
    for (const { answer } of answers) this.#since = Math.min(this.#since, answer)
    return answers.some(({ from }) => from < this.#peers.number) ? undefined : this.#since
  }

  /** All metrics of all workers. */
  async merged(): Promise<readonly Shown[]> {
    const counted = this.#counted().map(async ({ spec, series }) => {
      const sum = new MergedSeries()
      sum.add(plainOf(series), spec)
      for (const others of await this.#others(spec.name)) sum.add(others, spec)
      return { spec, series: sum.series }
    })
    const states = await this.#states()
    const answers = await this.#peers.ask(STATES, null)
    const shown = allOf(states).map(({ spec, series }) => {
      const sum = new MergedSeries()
      sum.add(plainOf(series), spec)
      for (const { answer } of answers) sum.add(answer.find(([metric]) => metric === spec.name)?.[1] ?? [], spec)
      return { spec, series: sum.series }
    })
    return [...(await Promise.all(counted)), ...shown]
  }

  /** This process ends: the others continue from what it has, and from what it has heard. */
  farewell(): void {
    for (const { spec } of this.#counted()) {
      this.#peers.tell(PASSED_ON, { ...this.#report(spec.name), final: true })
      for (const { process, final } of this.#known(spec.name)) this.#passOn(process, spec.name, final)
    }
  }

  /** Of each other process, what it has counted of a metric. */
  async #others(metric: string): Promise<readonly (readonly Plain[])[]> {
    const answers = (await this.#peers.ask(COUNTED, this.#report(metric))).map(({ answer }) => answer)
    for (const answer of answers) this.#remember(answer, false)
    const alive = new Set([this.#process, ...answers.map(({ process }) => process)])
    const known = [...this.#known(metric), ...answers.flatMap(one => one.known)]
    const ended = new Set(known.map(({ process }) => process).filter(process => !alive.has(process)))
    for (const process of ended) await this.#settle(process, metric, answers)
    return [...this.#heard.keys()].map(process => this.#seriesOf(process, metric))
  }

  /**
   * A process has ended. Each of the others may have been the last that heard of it, so what any of them has is put together
   * and given to all that lack it: the next one to end may be the only one that has it.
   */
  async #settle(process: string, metric: string, answers: readonly Answer[]): Promise<void> {
    if (this.#heard.get(process)?.get(metric)?.final !== true) {
      const heard = (await this.#peers.ask(FORMER, { process, metric })).map(({ answer }) => answer)
      for (const series of [[], ...heard]) this.#remember({ metric, process, series }, true)
    }
    const allHaveIt = answers.every(({ known }) => known.some(one => one.process === process && one.final))
    if (!allHaveIt) this.#passOn(process, metric, true)
  }

  #passOn(process: string, metric: string, final: boolean): void {
    this.#peers.tell(PASSED_ON, { metric, process, series: this.#seriesOf(process, metric), final })
  }

  #report(metric: string): Report {
    const family = this.#counted().find(({ spec }) => spec.name === metric)
    return { metric, process: this.#process, series: plainOf(family?.series ?? []) }
  }

  #known(metric: string): Answer['known'] {
    const entries = [...this.#heard].map(([process, metrics]) => ({ process, final: metrics.get(metric)?.final }))
    return entries.flatMap(({ process, final }) => (final === undefined ? [] : [{ process, final }]))
  }

  #seriesOf(process: string, metric: string): readonly Plain[] {
    return plainOf(this.#heard.get(process)?.get(metric)?.merged.series ?? [])
  }

  #remember({ process, metric, series }: Report, final: boolean): void {
    if (process === this.#process) return
    const metrics = this.#heard.get(process) ?? new Map<string, Heard>()
    const heard = metrics.get(metric) ?? { merged: new MergedSeries(), final }
    heard.merged.update(series)
    heard.final = final
    metrics.set(metric, heard)
    this.#heard.set(process, metrics)
    const [oldest] = this.#heard.keys()
    if (this.#heard.size > MAX_PROCESSES && oldest !== undefined) this.#heard.delete(oldest)
  }

  #counted(): ReturnType<typeof allOf> {
    return allOf(this.#families.requests, this.#families.events)
  }
}
