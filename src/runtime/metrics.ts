import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import { AdminError } from '../admin/route.js'
import { atMost } from '../core/at-most.js'
import type { Scope, ScopeLimits } from '../core/bounds.js'
import type { Config } from '../core/config.js'
import type { Store } from '../core/store.js'
import { checks } from '../features/checks/index.js'
import { limits } from '../features/limits/index.js'
import { logExport } from '../features/log-export/index.js'
import type { EventFamilies, StateFamilies } from '../features/metrics/families.js'
import { type MetricsText, metrics } from '../features/metrics/index.js'
import { isMeasured } from '../features/metrics/measured.js'
import { MS_PER_SECOND } from '../features/metrics/spec.js'
import type { ExportEvents } from '../features/otlp/queue.js'
import { receipts } from '../features/receipts/index.js'
import { responseSchemas } from '../features/response-schemas/index.js'
import { TASKS } from '../features/tasks/tasks.js'
import { traces } from '../features/traces/index.js'
import type { Kernel } from '../kernel/kernel.js'
import type { Pipeline } from '../kernel/pipeline.js'
import type { Health } from './health.js'
import type { LoadedPlan, Running } from './load.js'
import { shownBy } from './resting.js'
import { countRouting, showRouting } from './routing-metrics.js'
import { countTasks, TaskSurvey } from './task-metrics.js'
import { timedStore } from './timed-store.js'

/** Most holders of limits that one scrape asks the store about. */
const MAX_SCOPES = 1000
/** How long a scrape waits for the store, milliseconds. */
const STORE_PATIENCE_MS = 1000
const BREAKER_STATES = { closed: 0, half_open: 1, open: 2 } as const

interface Parts {
  readonly pipeline: Pipeline
  readonly kernel: Kernel
  readonly server: Server | HttpsServer
  readonly health: Health
  readonly plans: () => { readonly loaded: LoadedPlan; readonly running: Running }
}

/** What the process shows of itself in metrics, beside its requests. */
export class GatewayMetrics {
  /** The store that the gateway uses: where something is measured, its operations are timed. */
  readonly store: Store
  #events: EventFamilies | undefined
  #parts: Parts | undefined
  #tasks: TaskSurvey | undefined

  constructor(store: Store) {
    const isTimed = (): boolean => this.#parts !== undefined && isMeasured(this.#parts.kernel.generation.plan)
    this.store = timedStore(store, isTimed, (operation, milliseconds, isGood) =>
      this.#events?.storeDuration.of(operation, isGood ? 'ok' : 'error').observe(milliseconds / MS_PER_SECOND),
    )
  }

  /** The gateway is complete: what it reports from now on is counted, too. */
  attach(parts: Parts): void {
    const { pipeline, kernel } = parts
    const service = pipeline.serviceOf(metrics)
    if (service === undefined) return
    const { events } = service.families
    this.#parts = parts
    this.#tasks = new TaskSurvey(kernel)
    this.#events = events
    // Counted from 0, so that its first growth is seen.
    events.storeFaults.of()
    service.onScrape = states => this.#show(states, parts)
    const { onHealthChange, onStoreFault } = kernel
    const tasks = kernel.need(TASKS)
    kernel.onHealthChange = change => {
      events.breakerChanges.of(change.upstream, change.to).add(1)
      onHealthChange(change)
    }
    kernel.onStoreFault = error => {
      events.storeFaults.of().add(1)
      onStoreFault(error)
    }
    const ledger = pipeline.serviceOf(limits)
    if (ledger !== undefined) {
      ledger.onTaskCharged = record => {
        const found = parts.plans().running.plan.models.index.find(record.model)
        service.taskCharged(record, found?.model.name ?? '')
      }
    }
    const written = pipeline.serviceOf(receipts)
    if (written !== undefined) written.onCount = (what, count) => events.receipts.of(what).add(count)
    const checked = pipeline.serviceOf(responseSchemas)
    if (checked !== undefined) checked.onResult = (route, result) => events.responseChecks.of(route, result).add(1)
    const asked = pipeline.serviceOf(checks)
    if (asked !== undefined) asked.onResult = (check, result) => events.checks.of(check, result).add(1)
    countTasks(events, tasks)
    countExports(events, pipeline)
    countRouting(events, pipeline)
  }

  /** The answer of `GET /metrics`. Throws {@link AdminError} where nothing is measured. */
  async text(accept?: string): Promise<MetricsText> {
    const { pipeline, kernel } = this.#parts ?? {}
    const service = pipeline?.serviceOf(metrics)
    if (service === undefined || kernel?.generation.plan.admin?.metrics === undefined)
      throw new AdminError(404, 'not_found', 'metrics are switched off here')
    return service.text(accept)
  }

  async #show(states: StateFamilies, parts: Parts): Promise<void> {
    const { kernel, server, health, plans } = parts
    states.websockets.of().add(kernel.sockets.taken)
    for (const [use, memory] of Object.entries(kernel.memory)) states.memory.of(use).add(memory.held)
    showUpstreams(states, parts)
    showRouting(states, parts.pipeline)
    const asked = Promise.all([this.#tasks?.show(states), showLimits(states, parts)])
    for (const [result, count] of Object.entries(health.reloads)) states.reloads.of(result).add(count)
    for (const [result, count] of Object.entries(health.fetches ?? {})) states.fetches.of(result).add(count)
    states.configValid.of().add(health.valid ? 1 : 0)
    const problems = [...new Set([...plans().loaded.problems, ...health.problems])]
    for (const severity of ['error', 'warning'])
      states.problems.of(severity).add(problems.filter(one => one.severity === severity).length)
    states.storeUp.of(health.store.type).add(health.store.state.reason === undefined ? 1 : 0)
    states.connections.of().add(await connectionsOf(server))
    await asked
  }
}

function showUpstreams(states: StateFamilies, { kernel: { generation }, pipeline }: Parts): void {
  const shown = shownBy(pipeline)
  const severityOf = ([name]: readonly [string, unknown]): number => {
    const known = shown.get(name)
    return known === undefined ? 0 : 1 + BREAKER_STATES[known.state]
  }
  // Labels have a bound: those that alerts have to name come first.
  const worstFirst = [...generation.plan.upstreams].sort((one, other) => severityOf(other) - severityOf(one))
  for (const [name, upstream] of worstFirst) {
    if (upstream.off !== undefined) continue
    const pools = [upstream, ...upstream.others].map(one => generation.reach(one).pool)
    states.poolInUse.of(name).add(sumOf(pools.map(({ inUse }) => inUse)))
    states.poolWaiting.of(name).add(sumOf(pools.map(({ waiting }) => waiting)))
    const { state = 'closed', models = [], secrets = [], more = 0 } = shown.get(name) ?? {}
    states.breaker.of(name).add(BREAKER_STATES[state])
    if (models.length > 0) states.breakerParts.of(name, 'model').add(models.length + more)
    if (secrets.length > 0) states.breakerParts.of(name, 'secret').add(secrets.length)
  }
}

/** What the store says of limits; nothing where it does not say it in time. */
async function showLimits(states: StateFamilies, { pipeline, kernel, plans }: Parts): Promise<void> {
  const perKey = kernel.generation.plan.admin?.metrics?.per_key === true
  const scopes = scopesOf(plans().running.config, perKey)
  if (scopes.length === 0) return
  const asked = pipeline.serviceOf(limits)?.shown(scopes)
  const shown = asked && (await atMost(STORE_PATIENCE_MS, asked).catch(() => undefined))
  for (const { scope, name, unit, window, limit, used, left } of shown?.flat() ?? []) {
    // Of what holds for each request alone nothing is used.
    if (window === 'request' || limit === 0) continue
    states.limitUsed.of(scope, name, unit, window ?? '').add(used / limit)
    if (unit !== 'budget') continue
    states.budgetUsed.of(scope, name, window ?? '').add(used)
    states.budgetLeft.of(scope, name, window ?? '').add(left)
  }
}

function scopesOf({ groups, models, upstreams, keys }: Config, perKey: boolean): readonly Scope[] {
  const of = (type: Scope['type'], entries: Readonly<Record<string, { readonly limits?: ScopeLimits }>>): Scope[] =>
    Object.entries(entries).flatMap(([name, { limits: own }]) =>
      own === undefined ? [] : [{ type, name, limits: own }],
    )
  const all = [...of('group', groups), ...of('upstream', upstreams), ...of('model', models)]
  return [...all, ...(perKey ? of('key', keys) : [])].slice(0, MAX_SCOPES)
}

function connectionsOf(server: Server | HttpsServer): Promise<number> {
  return new Promise(resolve => server.getConnections((error, count) => resolve(error === null ? count : 0)))
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0)
}

function countExports(events: EventFamilies, pipeline: Pipeline): void {
  const spans = pipeline.serviceOf(traces)
  if (spans !== undefined) spans.events = counting('traces', events, events.spansSent, events.spansDropped)
  const lines = pipeline.serviceOf(logExport)
  if (lines !== undefined) lines.events = counting('logs', events, events.linesSent, events.linesDropped)
}

function counting(
  signal: string,
  { exports }: EventFamilies,
  sent: EventFamilies['spansSent'],
  dropped: EventFamilies['spansDropped'],
): ExportEvents {
  return {
    sent: (outcome, records) => {
      sent.of(outcome).add(records)
      exports.of(signal, outcome).add(1)
    },
    dropped: (reason, records) => dropped.of(reason).add(records),
  }
}
