import { MICRO_PER_USD } from '../../core/cost.js'
import type { Exchange, Usage } from '../../core/plan.js'
import { CHARGED } from '../../kernel/charged.js'
import type { AttemptTimes, AttemptView, Outcome } from '../../kernel/stages.js'
import { operationOf, placeOf, providerOf } from './names.js'
import type { REQUEST_METRICS } from './request-list.js'
import type { Counter, Families, Histogram } from './series.js'
import { MS_PER_SECOND } from './spec.js'

export type RequestFamilies = Families<typeof REQUEST_METRICS>

/** The series of one target: how an upstream serves a model by one protocol. */
export class Target {
  readonly #families: RequestFamilies
  readonly #exchange: Exchange
  /** Values of the labels that all metrics of the convention have. */
  readonly #names: readonly string[]
  readonly #place: readonly string[]
  readonly #good: { readonly duration: Histogram; readonly attempts: Counter }
  readonly #connect: Histogram
  readonly #bad = new Map<string, { readonly duration: Histogram; readonly attempts: Counter }>()
  readonly #byStatus = new Map<number, Histogram>()
  #input: Histogram | undefined
  #output: Histogram | undefined
  #first: Histogram | undefined
  #firstOfStream: Histogram | undefined
  #outputToken: Histogram | undefined
  #queue: Histogram | undefined
  #charged: { readonly cost: Counter; readonly tokens: Counter } | undefined

  constructor(families: RequestFamilies, exchange: Exchange, protocol: string) {
    const { upstream, declared } = exchange
    this.#families = families
    this.#exchange = exchange
    this.#names = [operationOf(protocol), providerOf(exchange), declared, upstream.name]
    this.#place = [exchange.call.method, ...placeOf(exchange), upstream.name]
    this.#good = this.#ended('', 'ok')
    this.#connect = families.connectDuration.of(upstream.name)
  }

  ended(attempt: AttemptView, outcome: Outcome, times: AttemptTimes): void {
    const { usage, ended } = attempt
    const isGood = outcome.phase === 'ok' || outcome.phase === 'accepted'
    const { duration, attempts } = isGood ? this.#good : this.#failed(outcome)
    attempts.add(1)
    if (outcome.phase !== 'skipped') duration.observe((ended - times.asked) / MS_PER_SECOND)
    if (attempt.isSent) this.#sent(outcome.status, times, ended)
    // A WebSocket is answered by its handshake, before anything is asked of the model.
    if (times.answered > 0 && outcome.error === undefined && outcome.status !== 101)
      this.#answered(attempt, isGood, times)
    if (usage !== undefined) this.#used(usage)
    this.#charge(attempt)
  }

  #sent(status: number | undefined, { asked, placed, sent }: AttemptTimes, ended: number): void {
    let client = this.#byStatus.get(status ?? 0)
    if (client === undefined) {
      client = this.#families.clientDuration.of(...this.#place, status === undefined ? '' : String(status))
      this.#byStatus.set(status ?? 0, client)
    }
    client.observe((ended - (sent === 0 ? asked : sent)) / MS_PER_SECOND)
    if (sent === 0) return
    this.#connect.observe((sent - (placed === 0 ? asked : placed)) / MS_PER_SECOND)
    if (placed === 0) return
    this.#queue ??= this.#families.queueDuration.of(this.#exchange.upstream.name)
    this.#queue.observe((placed - asked) / MS_PER_SECOND)
  }

  #answered({ call, usage, ended }: AttemptView, isGood: boolean, times: AttemptTimes): void {
    const { answered, sent, asked } = times
    this.#firstFor(call.stream).observe((answered - (sent === 0 ? asked : sent)) / MS_PER_SECOND)
    const { output = 0 } = usage ?? {}
    if (!isGood || !call.stream || output < 2) return
    this.#outputToken ??= this.#families.outputToken.of(...this.#names)
    this.#outputToken.observe((ended - answered) / MS_PER_SECOND / (output - 1))
  }

  #firstFor(isStream: boolean): Histogram {
    if (isStream) {
      this.#firstOfStream ??= this.#families.firstToken.of(...this.#names, 'true')
      return this.#firstOfStream
    }
    this.#first ??= this.#families.firstToken.of(...this.#names, 'false')
    return this.#first
  }

  #used({ input, output }: Usage): void {
    if (input !== undefined) {
      this.#input ??= this.#families.tokenUsage.of(...this.#names, 'input')
      this.#input.observe(input)
    }
    if (output !== undefined) {
      this.#output ??= this.#families.tokenUsage.of(...this.#names, 'output')
      this.#output.observe(output)
    }
  }

  #charge(attempt: AttemptView): void {
    const charged = attempt.get(CHARGED)
    if (charged === undefined) return
    const { declared, upstream } = this.#exchange
    const { cost, tokens } = this.#families
    this.#charged ??= { cost: cost.of(declared, upstream.name), tokens: tokens.of(declared, upstream.name) }
    this.#charged.cost.add(charged.cost / MICRO_PER_USD)
    this.#charged.tokens.add(charged.tokens)
  }

  #failed({ phase, error }: Outcome): { readonly duration: Histogram; readonly attempts: Counter } {
    const type = error?.code ?? phase
    const name = `${phase} ${type}`
    const known = this.#bad.get(name) ?? this.#ended(type, phase)
    this.#bad.set(name, known)
    return known
  }

  #ended(errorType: string, phase: string): { readonly duration: Histogram; readonly attempts: Counter } {
    const { upstream, declared } = this.#exchange
    return {
      duration: this.#families.operationDuration.of(...this.#names, errorType),
      attempts: this.#families.attempts.of(upstream.name, declared, phase),
    }
  }
}

/** The series of one caller: of its group, and of its key where keys have some. */
export class CallerSeries {
  readonly #counters: readonly { readonly requests: Counter; readonly tokens: Counter; readonly cost: Counter }[]

  constructor(families: RequestFamilies, key: string | undefined, group: string | undefined) {
    const { groupRequests, groupTokens, groupCost, keyRequests, keyTokens, keyCost } = families
    const ofGroup =
      group === undefined
        ? []
        : [{ requests: groupRequests.of(group), tokens: groupTokens.of(group), cost: groupCost.of(group) }]
    const ofKey =
      key === undefined ? [] : [{ requests: keyRequests.of(key), tokens: keyTokens.of(key), cost: keyCost.of(key) }]
    this.#counters = [...ofGroup, ...ofKey]
  }

  requested(): void {
    for (const { requests } of this.#counters) requests.add(1)
  }

  charged(attempt: AttemptView): void {
    const charged = attempt.get(CHARGED)
    if (charged === undefined) return
    for (const { tokens, cost } of this.#counters) {
      tokens.add(charged.tokens)
      cost.add(charged.cost / MICRO_PER_USD)
    }
  }
}
