import type { Caller } from '../../core/caller.js'
import type { Choice, Exchange, Route } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'
import { outcomeOf } from '../../kernel/outcome.js'
import { AttemptTimes, type AttemptView, type Outcome, type Stage } from '../../kernel/stages.js'
import { memberLabel } from './member-label.js'
import type { Counter, Histogram } from './series.js'
import { MS_PER_SECOND } from './spec.js'
import { CallerSeries, type RequestFamilies, Target } from './target.js'

/** As the log has it. */
const CLIENT_GONE_STATUS = 499

/** What all routes of a process share: series that were looked up once. */
export class Known {
  readonly families: RequestFamilies
  readonly #targets = new WeakMap<Exchange, Target>()
  #callers = new WeakMap<Caller, CallerSeries>()
  #perKey = false

  constructor(families: RequestFamilies) {
    this.families = families
  }

  set perKey(perKey: boolean) {
    if (perKey !== this.#perKey) this.#callers = new WeakMap()
    this.#perKey = perKey
  }

  target(exchange: Exchange, route: Route | undefined): Target {
    const known = this.#targets.get(exchange)
    if (known !== undefined) return known
    const made = new Target(this.families, exchange, route?.protocol?.name ?? 'other')
    this.#targets.set(exchange, made)
    return made
  }

  caller(caller: Caller): CallerSeries {
    const known = this.#callers.get(caller)
    if (known !== undefined) return known
    const made = new CallerSeries(this.families, this.#perKey ? caller.name : undefined, caller.policy?.group)
    this.#callers.set(caller, made)
    return made
  }
}

/** Counts each request and each attempt of a route, those from inside the process too: one for each line of the log. */
export class MetricsStage implements Stage {
  readonly name = 'metrics'
  readonly #known: Known
  readonly #families: RequestFamilies
  readonly #route: Route | undefined
  readonly #method: string
  readonly #path: string
  readonly #byStatus = new Map<number, Histogram>()
  readonly #byChoice = new WeakMap<Choice, Partial<Record<string, Counter>>>()
  /** Made at the first request, so that routes which no one uses show nothing. */
  #bytes: { readonly in: Counter; readonly out: Counter } | undefined
  #own: Histogram | undefined

  constructor(known: Known, route: Route | undefined) {
    const { families } = known
    this.#known = known
    this.#families = families
    this.#route = route
    const [method = '', path = ''] = route?.id.split(' ') ?? ['_OTHER', 'none']
    this.#method = method === 'WS' ? 'GET' : method
    this.#path = path
  }

  beforeAttempt(attempt: AttemptView): undefined {
    attempt.times ??= new AttemptTimes()
    attempt.times.asked = performance.now()
  }

  recordAttempt(attempt: AttemptView, outcome: Outcome): void {
    const { call, exchange, times } = attempt
    if (times === undefined) return
    this.#known.target(exchange, this.#route).ended(attempt, outcome, times)
    if (call.caller !== undefined) this.#known.caller(call.caller).charged(attempt)
    const asked = declaredOf(call)
    if (attempt.number > 1 && exchange.declared !== asked) this.#families.fallbacks.of(asked, exchange.declared).add(1)
  }

  record(call: Call): void {
    const { error, caller } = call
    const { bytesIn, bytesOut } = call.tally
    const status = error?.code === 'client_gone' ? CLIENT_GONE_STATUS : call.status
    const milliseconds = call.ended - call.started
    this.#durationFor(status).observe(milliseconds / MS_PER_SECOND)
    this.#requests(call, outcomeOf(error, call.status)).add(1)
    if (caller !== undefined) this.#known.caller(caller).requested()
    this.#bytes ??= { in: this.#families.bytesIn.of(this.#path), out: this.#families.bytesOut.of(this.#path) }
    this.#bytes.in.add(bytesIn)
    this.#bytes.out.add(bytesOut)
    this.#lost(call, call.dropped)
    if (call.losses !== undefined) this.#lost(call, call.losses.dropped)
    if (error === undefined) this.#observeOwn(call, milliseconds)
    else {
      this.#families.errors.of(error.code).add(1)
      if (error.details.limit !== undefined) this.#families.limitsMet.of(error.details.limit).add(1)
    }
  }

  #lost(call: Call, names: readonly string[]): void {
    const protocol = this.#route?.protocol?.name ?? ''
    for (const name of names) this.#families.losses.of(this.#path, declaredOf(call), memberLabel(protocol, name)).add(1)
  }

  /** A WebSocket is open for longer than its attempt, so that nothing can be said of it. */
  #observeOwn(call: Call, milliseconds: number): void {
    if (this.#route?.tunnel !== undefined) return
    this.#own ??= this.#families.ownDuration.of(this.#path)
    this.#own.observe(ownTime(call, milliseconds) / MS_PER_SECOND)
  }

  #durationFor(status: number): Histogram {
    const known = this.#byStatus.get(status)
    if (known !== undefined) return known
    const made = this.#families.serverDuration.of(this.#method, this.#path, String(status))
    this.#byStatus.set(status, made)
    return made
  }

  #requests(call: Call, outcome: string): Counter {
    const { choice } = call
    if (choice === undefined) return this.#families.requests.of(this.#path, '', outcome)
    let known = this.#byChoice.get(choice)
    if (known === undefined) {
      known = {}
      this.#byChoice.set(choice, known)
    }
    known[outcome] ??= this.#families.requests.of(this.#path, declaredOf(call), outcome)
    return known[outcome]
  }
}

/** What the requested model is called in the configuration; empty where nothing serves it. */
function declaredOf({ choice }: Call): string {
  return choice?.groups[0]?.exchanges[0]?.declared ?? ''
}

/** Attempts may overlap. */
function ownTime({ attempts }: Call, milliseconds: number): number {
  let own = milliseconds
  for (const attempt of attempts) own -= attempt.milliseconds
  return Math.max(0, own)
}
