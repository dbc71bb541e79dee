import { randomUUID } from 'node:crypto'
import { type Peers, topic } from '../../core/peers.js'
import { allOf, type CountedFamilies, type StateFamilies } from './families.js'
import { MergedSeries, type Plain, plainOf } from './merge.js'
import type { Shown } from './text.js'

/** Processes that are remembered, those that have ended among them: with each restart of a worker there is one more. */
const MAX_PROCESSES = 64

/** What a process has counted of one metric since it started. */
interface Told {
  readonly metric: string
  readonly process: string
  readonly series: readonly Plain[]
}

interface Answer extends Told {
  /** Processes that the one which answers has heard of. */
  readonly known: readonly string[]
}

/** One for each metric, so that no message is too large; who asks tells what it has itself. */
const COUNTED = topic<Told, Answer>('metrics: counted')
const FORMER = topic<Omit<Told, 'series'>, readonly Plain[]>('metrics: former')
const FAREWELL = topic<Told>('metrics: farewell')
const STATES = topic<null, readonly (readonly [metric: string, series: readonly Plain[]])[]>('metrics: states')

/**
 * Puts the metrics of all workers together. What a worker counted is remembered by the others when it ends: the sums never go back.
 * If it is killed, that is what it had at the last scrape.
 */
export class WorkerMetrics {
  readonly #peers: Peers
  readonly #families: CountedFamilies
  readonly #states: () => Promise<StateFamilies>
  readonly #process: string = randomUUID()
  /** By process and metric, what was heard last; of the others alone. */
  readonly #heard = new Map<string, Map<string, MergedSeries>>()

  constructor(peers: Peers, families: CountedFamilies, states: () => Promise<StateFamilies>) {
    this.#peers = peers
    this.#families = families
    this.#states = states
    peers.on(COUNTED, told => {
      this.#remember(told)
      return { ...this.#told(told.metric), known: [...this.#heard.keys()] }
    })
    peers.on(FORMER, ({ process, metric }) => plainOf(this.#heard.get(process)?.get(metric)?.series ?? []))
    peers.on(FAREWELL, told => this.#remember(told))
    peers.on(STATES, async () => allOf(await states()).map(one => [one.spec.name, plainOf(one.series)] as const))
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
    const told = await this.#peers.ask(STATES, null)
    const shown = allOf(states).map(({ spec, series }) => {
      const sum = new MergedSeries()
      sum.add(plainOf(series), spec)
      for (const { answer } of told) sum.add(answer.find(([metric]) => metric === spec.name)?.[1] ?? [], spec)
      return { spec, series: sum.series }
    })
    return [...(await Promise.all(counted)), ...shown]
  }

  /** This process ends: the others continue from what it has, and from what it has heard. */
  farewell(): void {
    for (const { spec } of this.#counted()) {
      this.#peers.tell(FAREWELL, this.#told(spec.name))
      for (const [process, metrics] of this.#heard) {
        const series = plainOf(metrics.get(spec.name)?.series ?? [])
        if (series.length > 0) this.#peers.tell(FAREWELL, { metric: spec.name, process, series })
      }
    }
  }

  /** Of each other process, what it has counted of a metric. */
  async #others(metric: string): Promise<readonly (readonly Plain[])[]> {
    const answers = (await this.#peers.ask(COUNTED, this.#told(metric))).map(({ answer }) => answer)
    for (const answer of answers) this.#remember(answer)
    const alive = new Set([this.#process, ...answers.map(({ process }) => process)])
    const known = new Set([...this.#heard.keys(), ...answers.flatMap(one => one.known)])
    for (const process of known) {
      if (alive.has(process)) continue
      // Each of the others may have heard of it last.
      for (const { answer } of await this.#peers.ask(FORMER, { process, metric })) {
        this.#remember({ metric, process, series: answer })
      }
    }
    return [...this.#heard.values()].map(metrics => plainOf(metrics.get(metric)?.series ?? []))
  }

  #told(metric: string): Told {
    const family = this.#counted().find(({ spec }) => spec.name === metric)
    return { metric, process: this.#process, series: plainOf(family?.series ?? []) }
  }

  #remember({ process, metric, series }: Told): void {
    if (process === this.#process) return
    const metrics = this.#heard.get(process) ?? new Map<string, MergedSeries>()
    const known = metrics.get(metric) ?? new MergedSeries()
    known.update(series)
    metrics.set(metric, known)
    this.#heard.set(process, metrics)
    const [oldest] = this.#heard.keys()
    if (this.#heard.size > MAX_PROCESSES && oldest !== undefined) this.#heard.delete(oldest)
  }

  #counted(): ReturnType<typeof allOf> {
    return allOf(this.#families.requests, this.#families.events)
  }
}
