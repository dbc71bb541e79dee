import { MICRO_PER_USD } from '../../core/cost.js'
import type { LedgerRecord } from '../../core/ledger.js'
import type { Plan } from '../../core/plan.js'
import { inSlices } from '../../core/steps.js'
import type { TelemetryConfig } from '../../core/telemetry.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Maybe, Service } from '../../kernel/stages.js'
import { openClient, placeOf, resourceOf, SendingReport } from '../otlp/sender.js'
import { allOf, CountedFamilies, type StateFamilies, stateFamilies } from './families.js'
import { isMeasured } from './measured.js'
import { ProcessState } from './process.js'
import { MetricsPush, type Pushed } from './push.js'
import { MS_PER_SECOND } from './spec.js'
import { Known, MetricsStage } from './stage.js'
import { formatFor, type Shown, textOf } from './text.js'
import { WorkerMetrics } from './workers.js'

/** The answer of `GET /metrics`. */
export interface MetricsText {
  readonly type: string
  readonly text: string
}

type TaskCharge = Pick<LedgerRecord, 'key' | 'group' | 'upstream' | 'cost'>

/** What the process has counted since it started. */
class MetricsService implements Service {
  readonly #kernel: Kernel
  readonly families = new CountedFamilies()
  readonly known = new Known(this.families.requests)
  #process: ProcessState | undefined
  /** Shows what this feature does not know of the process. */
  onScrape: (states: StateFamilies) => Maybe<void> = () => undefined

  /** Absent: this process is the only one. */
  readonly #workers: WorkerMetrics | undefined
  readonly #report: SendingReport
  readonly #since = Date.now() - process.uptime() * MS_PER_SECOND
  #push: MetricsPush | undefined
  #place: string | undefined
  /** Former ones, until they have sent for the last time. */
  readonly #closing = new Set<Promise<void>>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    const { peers } = kernel
    if (peers.number > 0) this.#workers = new WorkerMetrics(peers, this.families, () => this.#states())
    this.#report = new SendingReport(kernel, 'metrics')
    this.adopt(kernel.generation.plan)
  }

  adopt(plan: Plan): void {
    this.known.perKey = plan.admin?.metrics?.per_key === true
    if (isMeasured(plan)) this.#process ??= new ProcessState()
    const { telemetry } = plan
    const place = telemetry?.metrics === true ? placeOf(this.#kernel, telemetry) : undefined
    if (place === this.#place) return
    this.#place = place
    this.#retire()
    if (place !== undefined && telemetry !== undefined) this.#push = this.#open(telemetry)
  }

  #open(telemetry: TelemetryConfig): MetricsPush {
    const { interval, endpoint } = telemetry.otlp
    const client = openClient(this.#kernel, telemetry)
    const push = new MetricsPush(client, { metrics: () => this.#forPush(telemetry) }, interval)
    push.onSent = posted => {
      const outcome = posted.rejected === undefined ? posted.outcome : 'refused'
      this.families.events.exports.of('metrics', outcome).add(1)
      this.#report.ended(posted, endpoint)
    }
    return push
  }

  #retire(): void {
    const closing = this.#push?.close().finally(() => this.#closing.delete(closing as Promise<void>))
    if (closing !== undefined) this.#closing.add(closing)
    this.#push = undefined
  }

  /** Of several workers, the one with the lowest number sends those of all. */
  async #forPush(telemetry: TelemetryConfig): Promise<Pushed | undefined> {
    const workers = this.#workers
    const resource = (gateway?: string): Uint8Array => resourceOf(this.#kernel, telemetry, gateway)
    if (workers === undefined)
      return { resource: resource(), shown: this.#own(await this.#states()), since: this.#since }
    const origin = await workers.leads()
    return origin && { resource: resource(origin.gateway), shown: await workers.merged(), since: origin.since }
  }

  /** The text of all metrics, in the format that the `accept` header asks for. */
  async text(accept: string | undefined): Promise<MetricsText> {
    const shown = (await this.#workers?.merged()) ?? this.#own(await this.#states())
    const format = formatFor(accept)
    return { type: format.type, text: await inSlices(textOf(shown, format)) }
  }

  #own(states: StateFamilies): readonly Shown[] {
    return allOf(this.families.requests, this.families.events, states)
  }

  async #states(): Promise<StateFamilies> {
    const states = stateFamilies()
    this.#process?.show(states, this.#kernel)
    await this.onScrape(states)
    return states
  }

  /** A task has been charged for after its request. `declared`: its model as the configuration has it. */
  taskCharged({ key, group, upstream, cost }: TaskCharge, declared: string): void {
    const { cost: costs, groupCost, keyCost } = this.families.requests
    const usd = cost / MICRO_PER_USD
    costs.of(declared, upstream).add(usd)
    if (group !== undefined) groupCost.of(group).add(usd)
    if (this.#kernel.generation.plan.admin?.metrics?.per_key === true) keyCost.of(key).add(usd)
  }

  async close(): Promise<void> {
    this.#retire()
    await Promise.all(this.#closing)
    const states = stateFamilies()
    this.#process?.show(states, this.#kernel)
    this.#process?.close()
    await this.#workers?.farewell(states)
  }
}

/** Counts and times requests. Plans whose metrics are neither shown nor sent have no stage of it. */
export const metrics: Feature<MetricsService> = {
  name: 'metrics',
  open: kernel => new MetricsService(kernel),
  compile: ({ plan, route }, { known }) => (isMeasured(plan) ? new MetricsStage(known, route) : undefined),
}
