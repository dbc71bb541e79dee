import type { Demand } from '../../core/amounts.js'
import type { CallerPolicy, Scope, Tariff } from '../../core/bounds.js'
import { costOf, tokensOf, unitsOf } from '../../core/cost.js'
import type { GatewayError } from '../../core/errors.js'
import { outputTooLarge, priceRefusal, refused } from '../../core/limit-refusals.js'
import type { Route, Usage } from '../../core/plan.js'
import { isFree } from '../../core/route-access.js'
import { ruleUsed } from '../../core/rule-watch.js'
import { type Worst, worstOf } from '../../core/worst.js'
import { hasAddedInput, withAddedInput } from '../../kernel/added-input.js'
import type { Call } from '../../kernel/call.js'
import { alsoChange, placeOf } from '../../kernel/changes.js'
import { CHARGED, type Used } from '../../kernel/charged.js'
import { copied } from '../../kernel/inner.js'
import { slot } from '../../kernel/slot.js'
import type { AttemptView, Maybe, Outcome } from '../../kernel/stages.js'
import { demandAsSent, SESSION } from '../../wire/demand.js'
import { limitingOutput, memberWith } from '../../wire/output-limit.js'
import { BATCH_LINES } from '../batches/uploaded-lines.js'
import type { Book } from './book.js'
import { usedBy } from './charge.js'
import { demandOf } from './demand.js'
import type { Uncharged } from './ledger-entry.js'
import { type Amounts, type Claim, claimOf, Reservation, type Shortage } from './reservation.js'
import { type ScopeSummary, summaryOf } from './scope-summary.js'
import { holdDebt, keepDebt, type TaskDebt } from './task-spending.js'

/** What a call asks for, read once. */
const DEMAND = slot<Demand>('demand')
/** What an attempt has taken. */
const TAKEN = slot<Taken>('reservation')
/** The targets that get a limit of output which the request does not name. */
const LIMITED = slot<Set<string>>('limited output')

interface Taken {
  /** `settled`: nothing more happens to it. `charged`: what it was charged waits to be written. */
  state: 'open' | 'settled' | 'charged'
  readonly reservation: Reservation
  readonly demand: Demand
  readonly worst: Worst
  /** What a session holds more than that, reserved by and by. */
  tokens: number
  cost: number
  /** What the task that it begins will cost. */
  readonly debt: TaskDebt | undefined
}

const NOT_YET: Worst = { input: 0, output: 0, tokens: 0, cost: 0 }
const NO_SCOPES: readonly Scope[] = []
const NO_BOUNDS: Pick<CallerPolicy, 'scopes'> = { scopes: NO_SCOPES }

/** Reserves what each attempt may use before it is sent, and settles what it has used. */
export class Spending {
  readonly #book: Book
  readonly #route: Route
  readonly #isFree: boolean

  constructor(book: Book, route: Route) {
    this.#book = book
    this.#route = route
    this.#isFree = isFree(route)
  }

  /** An error is returned where another target may have room, and thrown where the caller has none. */
  reserve(attempt: AttemptView): Maybe<GatewayError | undefined> {
    const { call, exchange } = attempt
    const caller = summaryOf(boundsOf(call))
    const { tariff } = exchange
    const target = summaryOf(tariff ?? NO_BOUNDS)
    const demand = this.#demand(attempt)
    const most = smaller(caller.maxOutput, target.maxOutput)
    this.#checkOutput(call, demand, most, caller, target)
    if (most !== undefined && demand.output === undefined) this.#limitOutput(attempt, most, [caller, target])
    const shut = this.#checkPrice(call, tariff, caller, target, demand)
    if (shut !== undefined) return shut
    const isLater = this.#isLater(attempt) && target.queue === undefined
    const worst = isLater ? NOT_YET : worstOf(demand, this.#route.protocol?.amounts, tariff, most)
    const claims = this.#claims(call, caller, target, worst)
    const outcome = claims.length === 0 ? new Reservation(claims) : this.#book.reserve(claims)
    return outcome instanceof Promise
      ? outcome.then(found => this.#take(attempt, claims, found, demand, worst, target.queue))
      : this.#take(attempt, claims, outcome, demand, worst, target.queue)
  }

  /** What is sent is more than was reserved for, or less: the reservation follows. Errors as of {@link reserve}. */
  adjust(attempt: AttemptView): Maybe<GatewayError | undefined> {
    const taken = attempt.get(TAKEN)
    if (taken?.state !== 'open') return undefined
    const { call, exchange } = attempt
    const { reservation, worst: before } = taken
    const demand = this.#demand(attempt)
    // What is sent asks for what the request does: it was reserved already.
    if (demand === taken.demand && before !== NOT_YET) return undefined
    const policy = summaryOf(boundsOf(call))
    const target = summaryOf(exchange.tariff ?? NO_BOUNDS)
    const most = smaller(policy.maxOutput, target.maxOutput)
    this.#checkOutput(call, demand, most, policy, target)
    const worst = worstOf(demand, this.#route.protocol?.amounts, exchange.tariff, most)
    attempt.set(TAKEN, { ...taken, demand, worst })
    const [tokens, budget] = [worst.tokens - before.tokens, worst.cost - before.cost]
    reservation.reduce({ tokens: -tokens, budget: -budget })
    if (tokens <= 0 && budget <= 0) return undefined
    const decide = (shortage: Shortage | undefined): GatewayError | undefined => {
      if (shortage === undefined) return undefined
      const error = refused(shortage, call.family)
      if (shortage.scope.type === 'key' || shortage.scope.type === 'group') throw error
      return error
    }
    const outcome = this.#book.extend(reservation, { tokens: Math.max(0, tokens), budget: Math.max(0, budget) })
    return outcome instanceof Promise ? outcome.then(decide) : decide(outcome)
  }

  settle(attempt: AttemptView, outcome: Outcome): void {
    const taken = attempt.get(TAKEN)
    if (taken?.state !== 'open') return
    taken.state = 'settled'
    const { demand, worst, reservation, debt } = taken
    if (outcome.task !== undefined && debt !== undefined) {
      // No other request comes between: what is free now is held at once.
      this.#book.settle(reservation, { requests: 1, tokens: demand.likelyInput })
      void holdDebt(this.#book, attempt, debt)
      return
    }
    const { usage, isSent, isWhole, exchange } = attempt
    const used = usedBy({
      demand,
      worst,
      usage,
      isSent,
      isWhole,
      exchange,
      outcome,
      isSession: this.#route.tunnel !== undefined,
      paths: this.#route.protocol?.amounts,
      price: this.#isFree ? undefined : exchange.tariff?.price,
    })
    const isUsed = !this.#isFree && (used.tokens > 0 || used.cost > 0 || hasAny(used.units))
    if (isUsed) attempt.set(CHARGED, used)
    this.#book.charge(reservation, { requests: isSent ? 1 : 0, tokens: used.tokens, budget: used.cost })
    taken.state = 'charged'
  }

  /** Writes what {@link settle} has charged. */
  record(attempt: AttemptView, outcome: Outcome): void {
    const taken = attempt.get(TAKEN)
    if (taken?.state !== 'charged') return
    const used = attempt.get(CHARGED)
    this.#book.write(taken.reservation, used && this.#recordOf(attempt, used, outcome))
  }

  /** A session continues while the amount that it began with can be reserved again. */
  extend(call: Call, usage: Usage, attempt: AttemptView): void {
    const taken = attempt.get(TAKEN)
    if (taken?.state !== 'open') return
    const price = attempt.exchange.tariff?.price
    const tokens = Math.max(0, tokensOf(usage) - taken.tokens)
    const cost = Math.max(0, costOf(unitsOf(usage, price), price) - taken.cost)
    if (tokens === 0 && cost === 0) return
    taken.tokens += tokens
    taken.cost += cost
    const outcome = this.#book.extend(taken.reservation, { tokens, budget: cost })
    const cut = (shortage: Shortage | undefined): void => {
      // The message that reports the usage passes first.
      if (shortage !== undefined) queueMicrotask(() => call.cut(refused(shortage, call.family)))
    }
    if (outcome instanceof Promise) outcome.then(cut, () => undefined)
    else cut(outcome)
  }

  /** Verbs may change what it asks for: `adjust` reserves it, before it is sent. Only limits that queue take room before that. */
  #isLater({ exchange, sentValues }: AttemptView): boolean {
    const { task, tunnel } = this.#route
    return exchange.adds?.paths !== undefined && sentValues === undefined && task === undefined && tunnel === undefined
  }

  /** A session asks for nothing: it is reserved what it may have. */
  #checkOutput(
    { body }: Call,
    { output = 0 }: Demand,
    most: number | undefined,
    caller: ScopeSummary,
    target: ScopeSummary,
  ): void {
    const { tunnel, protocol } = this.#route
    if (most === undefined || output <= most || tunnel !== undefined) return
    noteUsed(most, [caller, target])
    const param = body.type === 'bytes' ? memberWith(output, body.bytes, protocol?.amounts) : undefined
    throw outputTooLarge(output, most, param)
  }

  /** The request names no limit of its own. */
  #limitOutput({ call, exchange }: AttemptView, most: number, summaries: readonly ScopeSummary[]): void {
    const { body } = call
    const { output = [] } = this.#route.protocol?.amounts ?? {}
    const limited = call.get(LIMITED) ?? new Set()
    const place = placeOf(exchange)
    if (body.type !== 'bytes' || output.length === 0 || limited.has(place)) return
    call.set(LIMITED, limited.add(place))
    noteUsed(most, summaries)
    alsoChange(call, exchange, limitingOutput(body.bytes, output, most, exchange), [])
  }

  #demand({ call, calls, isFurther, exchange: { adds }, sentValues }: AttemptView): Demand {
    if (this.#route.tunnel !== undefined) return SESSION
    const { body } = call
    const known = (body.type === 'bytes' ? body.demand : undefined) ?? call.get(DEMAND) ?? this.#read(call)
    if (this.#route.protocol?.amounts?.batch === true) return { ...known, requests: requestsOf(known, call) }
    if (adds === undefined && !isFurther && calls === 1 && !hasAddedInput(call)) return known
    const own = isFurther || calls > 1 ? { ...known, images: Math.min(known.images, 1), choices: 1 } : known
    const asked = sentValues && adds?.paths ? demandAsSent(own, sentValues, adds.paths) : own
    const sent = { tokens: own.input + (adds?.text ?? 0), likely: own.likelyInput, links: own.links }
    const input = withAddedInput(call, sent)
    const isSame = input.tokens === own.input && input.likely === own.likelyInput
    return isSame ? asked : { ...asked, input: input.tokens, likelyInput: input.likely }
  }

  #read(call: Call): Demand {
    const demand = demandOf(call.body, this.#route.protocol?.amounts)
    call.set(DEMAND, demand)
    return demand
  }

  #claims(call: Call, caller: ScopeSummary, target: ScopeSummary, { tokens, cost }: Worst): readonly Claim[] {
    const spent = { tokens, budget: cost }
    const own = caller.spending.length > 0 && !this.#isFree ? [claimOf(caller.spending, spent)] : []
    if (target.scopes.length === 0) return own
    const one: Amounts = { requests: 1, in_flight: 1, ...(call.stream && { streams: 1 }) }
    return [...own, claimOf(target.scopes, this.#isFree ? one : { ...one, ...spent })]
  }

  #take(
    attempt: AttemptView,
    claims: readonly Claim[],
    outcome: Reservation | Shortage,
    demand: Demand,
    worst: Worst,
    queue: number | undefined,
  ): Maybe<GatewayError | undefined> {
    if (outcome instanceof Reservation) {
      let debt: TaskDebt | undefined
      try {
        if (this.#route.task !== undefined) debt = keepDebt(attempt, scopesOf(claims), worst, demand)
      } catch (cause) {
        // Nothing else knows of it yet.
        this.#book.settle(outcome)
        throw cause
      }
      attempt.set<Taken>(TAKEN, { state: 'open', reservation: outcome, demand, worst, tokens: 0, cost: 0, debt })
      return undefined
    }
    const { call } = attempt
    const { type } = outcome.scope
    if (type === 'key' || type === 'group') throw refused(outcome, call.family)
    if (queue === undefined || outcome.unit === 'store' || attempt.beside !== undefined)
      return refused(outcome, call.family)
    // A task is begun also when its client has left.
    const cancellation = this.#route.task === undefined ? call.cancellation : undefined
    const waiting = this.#book.wait(call.key, claims, queue, cancellation)
    return waiting.then(found => this.#take(attempt, claims, found, demand, worst, undefined))
  }

  #checkPrice(
    call: Call,
    tariff: Tariff | undefined,
    caller: ScopeSummary,
    target: ScopeSummary,
    { requests }: Demand,
  ): GatewayError | undefined {
    if (this.#isFree || !(caller.hasBudget || target.hasBudget)) return undefined
    const lines = this.#route.protocol?.amounts?.batch === true ? requests : undefined
    return priceRefusal(tariff, [caller.spending, target.spending], call.model, lines)
  }

  /** With all of its members at once: such that come later take a list of their own. */
  #recordOf({ call, exchange, number }: AttemptView, used: Used, { phase }: Outcome): Uncharged {
    const { upstream, model, tariff } = exchange
    return {
      id: `${call.id}/${number}`,
      mirror_of: copied(call.request)?.of,
      at: Date.now(),
      key: call.key,
      group: call.caller?.policy?.group,
      model: call.model,
      target: model === call.model ? undefined : model,
      upstream: upstream.name,
      route: this.#route.id,
      units: used.units,
      cost: used.cost,
      unpriced: tariff?.price === undefined ? true : undefined,
      estimated: used.isEstimated ? true : undefined,
      outcome: phase,
      generation: call.generation.number,
    }
  }
}

/** Of the caller; of a copy that a mirror gets none: its key did not ask for it. */
function boundsOf({ caller, request }: Call): Pick<CallerPolicy, 'scopes'> {
  return (copied(request) === undefined ? caller?.policy : undefined) ?? NO_BOUNDS
}

/** Of a batch: as its body says, or as many lines as its file had when it was uploaded. */
function requestsOf({ requests }: Demand, call: Call): number {
  return requests > 0 ? requests : (call.get(BATCH_LINES) ?? 0)
}

/** The limit of output has decided. */
function noteUsed(most: number, summaries: readonly ScopeSummary[]): void {
  for (const { limits } of summaries.flatMap(({ scopes }) => scopes))
    if (limits.max_output === most) ruleUsed(limits.bounds, 'max_output')
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}

function scopesOf(claims: readonly Claim[]): readonly Scope[] {
  return claims.flatMap(({ scopes, amounts }) => (amounts.budget === undefined ? [] : scopes))
}

function hasAny(units: object): boolean {
  for (const _ in units) return true
  return false
}
