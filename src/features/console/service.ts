import type { RequestEntry } from '../../core/entry.js'
import type { JsonObject } from '../../core/json.js'
import { topic } from '../../core/peers.js'
import type { Call } from '../../kernel/call.js'
import type { Kernel } from '../../kernel/kernel.js'
import { outcomeOf } from '../../kernel/outcome.js'
import type { AttemptView, Outcome, Service } from '../../kernel/stages.js'
import { account } from '../log/index.js'
import { detailOf } from './detail.js'
import { FaultSwitches } from './faults.js'
import { type Figures, noFigures, OTHER, observe, percentiles, type RowKind, rowOf } from './figures.js'
import { type Bucket, beginOf, History, type Range, shapeOf, together } from './history.js'
import { KeptHistory } from './kept-history.js'
import { Recent, type RecentQuery, type Shown } from './recent.js'
import { ended, stepsOf } from './steps.js'

interface Live {
  readonly inFlight: number
  readonly streams: number
  readonly buckets: readonly Bucket[]
}

/** What a process has counted since its start; `process`: its name in the store. */
interface Counted {
  readonly process: string
  readonly buckets: readonly Bucket[]
}

const HISTORY = topic<Range, Counted>('console: history')
const LIVE = topic<null, Live>('console: live')
const REQUESTS = topic<RecentQuery, readonly JsonObject[]>('console: requests')
const REQUEST = topic<string, Shown | null>('console: request')

/** For each step; budgets in millionths of a USD. */
export interface Uses extends Readonly<Record<'requests' | 'failed' | 'tokens' | 'budget', readonly number[]>> {
  /** Of models, keys and groups to the first byte, of upstreams of an attempt, milliseconds. `null`: nothing was measured. */
  readonly p50: readonly (number | null)[]
  readonly p95: readonly (number | null)[]
  readonly stepMs: number
  /** Milliseconds since the epoch. */
  readonly times: readonly number[]
}

const SHARES = [0.5, 0.95, 0.99]
/** How long an answer of other workers is waited for, milliseconds. */
const ASK_MS = 700

/** What the console shows of requests, of all workers of the gateway. */
export class ConsoleService implements Service {
  readonly #kernel: Kernel
  readonly #history = new History()
  readonly #kept: KeptHistory
  readonly #recent = new Recent()
  /** Seconds since the epoch, and how many good requests of that second have been kept with their headers. */
  #second = 0
  #withHeaders = 0
  readonly faults: FaultSwitches

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.faults = new FaultSwitches(kernel)
    this.#kept = new KeptHistory(kernel.store, this.#history, error => kernel.onStoreFault(error))
    const { peers } = kernel
    peers.on(HISTORY, range => this.#counted(range, Date.now()))
    peers.on(LIVE, () => this.#live())
    peers.on(REQUESTS, query => this.#recent.list(query))
    peers.on(REQUEST, id => this.#recent.find(id) ?? null)
  }

  attempted(attempt: AttemptView, outcome: Outcome): void {
    ended(attempt, outcome)
    if (outcome.phase === 'skipped') return
    const step = stepsOf(attempt.call).at(-1)
    const row = rowOf(this.#history.at(Date.now()).upstreams, attempt.exchange.upstream.name)
    row.requests++
    if (outcome.error !== undefined && outcome.phase !== 'cancelled') row.failed++
    row.tokens += (attempt.usage?.input ?? 0) + (attempt.usage?.output ?? 0)
    if (step !== undefined) observe(row.times, (step.answered ?? step.end) - step.start)
  }

  settled(call: Call): void {
    const entry = account(call)
    const now = Date.now()
    this.#kept.start()
    const detail = detailOf(call, this.#keepsHeaders(entry, now))
    this.#recent.add({ entry, steps: stepsOf(call), detail, ended: now })
    const figures = this.#history.at(now)
    count(figures, call, entry.milliseconds.total, entry.cost ?? 0)
    if (entry.upstream !== undefined) rowOf(figures.upstreams, entry.upstream).micro += entry.cost ?? 0
  }

  /** Of failed requests, and of the first of each second: those of all would take an eighth of the time of a small request. */
  #keepsHeaders({ outcome }: RequestEntry, now: number): boolean {
    const second = Math.floor(now / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#withHeaders = 0
    }
    return outcome !== 'ok' || ++this.#withHeaders <= MAX_WITH_HEADERS_PER_SECOND
  }

  #counted(range: Range, now: number): Counted {
    return { process: this.#kept.process, buckets: this.#history.range(range, now) }
  }

  /** What all processes have counted in a range, also former ones, by the times of its points. */
  async #range(
    range: Range,
  ): Promise<{ readonly times: readonly number[]; readonly merged: ReadonlyMap<number, Figures> }> {
    const now = Date.now()
    const { peers, onStoreFault } = this.#kernel
    const [others, kept] = await Promise.all([
      peers.ask(HISTORY, range, ASK_MS),
      this.#kept.read(range, now).catch((error: unknown) => {
        onStoreFault(error)
        return NOTHING_KEPT
      }),
    ])
    const [from, { stepMs }] = [beginOf(range, now), shapeOf(range)]
    // Processes that answer know more of themselves than the store does.
    const byProcess = new Map(kept)
    for (const { process, buckets } of [this.#counted(range, now), ...others.map(({ answer }) => answer)])
      byProcess.set(process, buckets)
    const times = Array.from({ length: Math.floor((now - from) / stepMs) + 1 }, (_, at) => from + at * stepMs)
    return { times, merged: together([...byProcess.values()], stepMs) }
  }

  /** What a key, group, model or upstream has used in each step of a range. */
  async uses(kind: RowKind, name: string, range: Range): Promise<Uses> {
    const { times, merged } = await this.#range(range)
    const rows = times.map(at => {
      const rows = merged.get(at)?.[kind]
      return rows !== undefined && Object.hasOwn(rows, name) ? rows[name] : undefined
    })
    const spread = rows.map(row => percentiles(row?.times ?? {}, [0.5, 0.95]))
    return {
      stepMs: shapeOf(range).stepMs,
      times,
      requests: rows.map(row => row?.requests ?? 0),
      failed: rows.map(row => row?.failed ?? 0),
      p50: spread.map(([half = null]) => half),
      p95: spread.map(([, most = null]) => most),
      tokens: rows.map(row => row?.tokens ?? 0),
      budget: rows.map(row => row?.micro ?? 0),
    }
  }

  /** Figures of a range in columns; `null`: nothing came in that step. `by`: also those of the names that had most requests. */
  async series(range: Range, by?: RowKind): Promise<object> {
    const { times, merged } = await this.#range(range)
    const { stepMs } = shapeOf(range)
    const since = Math.min(BEGAN, ...merged.keys())
    const column = (read: (figures: Figures) => number | null): (number | null)[] =>
      times.map(at => (at + stepMs <= since ? null : read(merged.get(at) ?? NOTHING)))
    const firsts = times.map(at => percentiles(merged.get(at)?.first ?? {}, SHARES))
    const whole = together([[...merged.values()].map(figures => ({ at: 0, figures }))]).get(0) ?? noFigures()
    return {
      range,
      step: stepMs / 1000,
      t: times.map(at => at / 1000),
      requests: column(one => one.requests),
      failed: column(one => one.failed),
      limited: column(one => one.limited),
      rejected: column(one => one.rejected),
      tokens: column(one => one.input + one.output),
      micro_usd: column(one => one.micro),
      own_p95: column(one => percentiles(one.own, [0.95])[0] ?? null),
      ...Object.fromEntries(['p50', 'p95', 'p99'].map((name, at) => [`first_${name}`, firsts.map(one => one[at])])),
      totals: totalsOf(whole),
      ...(by !== undefined && { by, series: split(times, merged, whole, by) }),
    }
  }

  /** Of the last ten seconds. */
  async live(): Promise<object> {
    const others = await this.#kernel.peers.ask(LIVE, null, ASK_MS)
    const all = [this.#live(), ...others.map(({ answer }) => answer)]
    const merged = [...together(all.map(({ buckets }) => buckets)).values()]
    const sum = together([merged.map(figures => ({ at: 0, figures }))]).get(0) ?? noFigures()
    const rate = (number: number): number => number / LIVE_SECONDS
    const { generation } = this.#kernel
    return {
      at: Date.now(),
      generation: generation.number,
      digest: generation.plan.digest.slice(0, 12),
      processes: all.length,
      faults: [...this.faults.on.keys()],
      in_flight: all.reduce((total, one) => total + one.inFlight, 0),
      streams: all.reduce((total, one) => total + one.streams, 0),
      requests: rate(sum.requests),
      failed: rate(sum.failed),
      limited: rate(sum.limited),
      input_tokens: rate(sum.input),
      output_tokens: rate(sum.output),
      micro_usd: rate(sum.micro),
      first: percentiles(sum.first, SHARES),
      own: percentiles(sum.own, SHARES),
    }
  }

  async requests(query: RecentQuery): Promise<readonly JsonObject[]> {
    const others = await this.#kernel.peers.ask(REQUESTS, query, ASK_MS)
    return [this.#recent.list(query), ...others.map(({ answer }) => answer)]
      .flat()
      .sort((one, other) => (String(one.time) < String(other.time) ? 1 : -1))
      .slice(0, query.limit)
  }

  async request(id: string): Promise<Shown | undefined> {
    const own = this.#recent.find(id)
    if (own !== undefined) return own
    const others = await this.#kernel.peers.ask(REQUEST, id, ASK_MS)
    return others.map(({ answer }) => answer).find(answer => answer !== null) ?? undefined
  }

  async close(): Promise<void> {
    await this.#kept.close()
  }

  #live(): Live {
    let streams = 0
    this.#kernel.calls.visit(call => {
      if ('stream' in call && call.stream === true) streams++
    })
    return { inFlight: this.#kernel.calls.size, streams, buckets: this.#history.latest(Date.now()) }
  }
}

const LIVE_SECONDS = 10
/** Good requests of a second that are kept with their headers. */
const MAX_WITH_HEADERS_PER_SECOND = 20
/** Names that have columns of their own. */
const MAX_SERIES = 20
const NOTHING = noFigures()
const NOTHING_KEPT: ReadonlyMap<string, readonly Bucket[]> = new Map()
/** Before it nothing was counted, and nothing is known. */
const BEGAN = Date.now() - process.uptime() * 1000

function count(figures: Figures, call: Call, totalMs: number, micro: number): void {
  const { error, status, usage, caller, attempts, route } = call
  const { firstByte } = call.tally
  const outcome = outcomeOf(error, status)
  const isFailed = outcome === 'upstream_error' || outcome === 'gateway_error'
  const isLimited = error?.details.limit !== undefined || status === 429
  const tokens = (usage?.input ?? 0) + (usage?.output ?? 0)
  figures.requests++
  if (isFailed) figures.failed++
  else if (isLimited) figures.limited++
  else if (outcome === 'client_error') figures.rejected++
  if (error !== undefined) figures.errors[error.code] = (figures.errors[error.code] ?? 0) + 1
  figures.input += usage?.input ?? 0
  figures.output += usage?.output ?? 0
  figures.micro += micro
  const first = firstByte === undefined ? undefined : firstByte - call.started
  if (outcome === 'ok' && first !== undefined) observe(figures.first, first)
  if (outcome === 'ok' && route?.tunnel === undefined)
    observe(
      figures.own,
      Math.max(
        0,
        attempts.reduce((left, { milliseconds }) => left - milliseconds, totalMs),
      ),
    )
  const declared = call.choice?.groups[0]?.exchanges[0]?.declared
  const rows = [
    ...(declared === undefined ? [] : [rowOf(figures.models, declared)]),
    ...(caller === undefined ? [] : [rowOf(figures.keys, caller.name)]),
  ]
  const groups = (caller?.policy?.groups ?? []).map(name => rowOf(figures.groups, name))
  for (const row of [...rows, ...groups]) {
    row.requests++
    if (isFailed) row.failed++
    row.tokens += tokens
    row.micro += micro
  }
  if (outcome === 'ok' && first !== undefined) for (const row of rows) observe(row.times, first)
}

/** The columns of each name, those with most requests first, and those of all others together. */
function split(
  times: readonly number[],
  merged: ReadonlyMap<number, Figures>,
  whole: Figures,
  by: RowKind,
): readonly object[] {
  const names = Object.entries(whole[by])
    .filter(([name]) => name !== OTHER)
    .sort(([, one], [, other]) => other.requests - one.requests)
    .map(([name]) => name)
  const shown = names.slice(0, MAX_SERIES)
  const columns = (
    name: string,
    rowsAt: (rows: Figures[RowKind]) => readonly (Figures[RowKind][string] | undefined)[],
  ) => {
    const rows = times.map(at => rowsAt(merged.get(at)?.[by] ?? {}))
    const sum = (figure: 'requests' | 'failed' | 'tokens' | 'micro'): readonly number[] =>
      rows.map(all => all.reduce((total, row) => total + (row?.[figure] ?? 0), 0))
    return { name, requests: sum('requests'), failed: sum('failed'), tokens: sum('tokens'), micro_usd: sum('micro') }
  }
  const isShown = new Set(shown)
  const all = shown.map(name => columns(name, rows => [Object.hasOwn(rows, name) ? rows[name] : undefined]))
  if (names.length === shown.length && whole[by][OTHER] === undefined) return all
  const rest = columns(OTHER, rows => Object.keys(rows).flatMap(name => (isShown.has(name) ? [] : [rows[name]])))
  return [...all, rest]
}

function totalsOf({ first, own, models, upstreams, keys, groups: _, ...sums }: Figures): object {
  const rows = (all: Figures['models']): object[] =>
    Object.entries(all)
      .map(([name, { times, ...row }]) => ({ name, ...row, times: percentiles(times, SHARES) }))
      .sort((one, other) => other.requests - one.requests)
  return {
    ...sums,
    first: percentiles(first, SHARES),
    own: percentiles(own, SHARES),
    models: rows(models),
    upstreams: rows(upstreams),
    keys: rows(keys),
  }
}
