import { MICRO_PER_USD } from '../../core/cost.js'
import type { LedgerRecord } from '../../core/ledger.js'
import type { Plan } from '../../core/plan.js'
import { inSlices } from '../../core/steps.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Maybe, Service } from '../../kernel/stages.js'
import { allOf, CountedFamilies, type StateFamilies, stateFamilies } from './families.js'
import { ProcessState } from './process.js'
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

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    const { peers } = kernel
    if (peers.number > 0) this.#workers = new WorkerMetrics(peers, this.families, () => this.#states())
    this.adopt(kernel.generation.plan)
  }

  adopt({ admin }: Plan): void {
    this.known.perKey = admin?.metrics?.per_key === true
    if (admin?.metrics !== undefined) this.#process ??= new ProcessState()
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
    this.#process?.close()
    this.#workers?.farewell()
  }
}

/** Counts and times requests for `GET /metrics`. Plans without an admin listener, or with `metrics: off`, have no stage of it. */
export const metrics: Feature<MetricsService> = {
  name: 'metrics',
  open: kernel => new MetricsService(kernel),
  compile: ({ plan, route }, { known }) =>
    plan.admin?.metrics === undefined ? undefined : new MetricsStage(known, route),
}
