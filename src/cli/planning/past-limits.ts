import { boundText } from '../../core/bound-text.js'
import type { Bound, Scope } from '../../core/bounds.js'
import { tokensOf } from '../../core/cost.js'
import { type Span, Windows } from '../../features/limits/windows.js'
import type { Meets, PastLimits, PastRequest } from '../../plan/difference/traffic.js'
import { Heap } from './heap.js'

type Place = 'in_flight' | 'streams'

/** A bound, and what past requests have used of it in the window of the last one. */
interface Used {
  readonly bound: Bound
  span: Span | undefined
  amount: number
}

/** Requests at once: when those end that run. As many as the bound at most. */
interface Running {
  readonly unit: Place
  readonly bound: number
  readonly ends: Heap<undefined>
}

interface Meters {
  readonly scope: Scope
  readonly used: readonly Used[]
  readonly running: readonly Running[]
}

interface Claim {
  readonly meters: Meters
  /** Of 1, where several targets may be drawn. */
  readonly share: number
}

/** How often each bound of a model or upstream had no room, for at most so many of them. */
const MAX_FULL = 1000

/**
 * The limits of a plan for past requests, in the order in which they began: windows of the calendar as serving has them, filled by what
 * requests have used. Serving reserves the most that they may use, so these are the fewest that it would refuse.
 */
export class ReplayedLimits implements PastLimits {
  readonly #windows: Windows
  readonly #known = new WeakMap<Scope, Meters>()
  readonly #byName = new Map<string, Meters>()
  readonly #full = new Map<string, number>()

  constructor(timeZone: string) {
    this.#windows = new Windows(timeZone)
  }

  get full(): ReadonlyMap<string, number> {
    return this.#full
  }

  take(request: PastRequest, { caller, targets, isFree }: Meets, cost: number): string | undefined {
    const { began = 0, ended = 0, usage, stream = false } = request
    const tokens = isFree || usage === undefined ? 0 : tokensOf(usage)
    const amounts = { requests: 1, tokens, budget: isFree ? 0 : cost }
    const claims: Claim[] = caller.map(scope => ({ meters: this.#metersOf(scope), share: 1 }))
    for (const { meters } of claims) {
      const short = this.#shortOf(meters, amounts, began, stream)
      if (short !== undefined) return `${short.startsWith('budget') ? 'budget_spent' : 'rate_limited'}, ${short}`
    }
    for (const { scopes, share } of targets) {
      const own = scopes.map(scope => ({ meters: this.#metersOf(scope), share }))
      const short = own
        .map(({ meters }) => this.#shortOf(meters, amounts, began, stream))
        .find(one => one !== undefined)
      if (short === undefined) claims.push(...own)
      else if (this.#full.has(short) || this.#full.size < MAX_FULL)
        this.#full.set(short, (this.#full.get(short) ?? 0) + share)
    }
    for (const claim of claims) charge(claim, amounts, ended, stream)
    return undefined
  }

  /** The bound that has no room: `requests of key alice, 10/min`. */
  #shortOf(
    { scope, used, running }: Meters,
    amounts: Readonly<Record<Bound['unit'], number>>,
    now: number,
    stream: boolean,
  ): string | undefined {
    for (const one of used) {
      const span = this.#windows.at(one.bound.window, now)
      if (one.span !== span && (one.span === undefined || span.start > one.span.start)) {
        one.span = span
        one.amount = 0
      }
      const amount = amounts[one.bound.unit]
      if (amount > 0 && one.amount + amount > one.bound.amount)
        return `${one.bound.unit} of ${scope.type} ${scope.name}, ${boundText(one.bound)}`
    }
    for (const { unit, bound, ends } of running) {
      while ((ends.first ?? Number.POSITIVE_INFINITY) <= now) ends.take()
      if ((stream || unit === 'in_flight') && ends.size >= bound)
        return `${unit} of ${scope.type} ${scope.name}, ${bound}`
    }
    return undefined
  }

  #metersOf(scope: Scope): Meters {
    const known = this.#known.get(scope) ?? this.#byName.get(`${scope.type}:${scope.name}`)
    const meters = known ?? metersOf(scope)
    this.#known.set(scope, meters)
    if (known === undefined) this.#byName.set(`${scope.type}:${scope.name}`, meters)
    return meters
  }
}

function charge(
  { meters: { used, running }, share }: Claim,
  amounts: Readonly<Record<Bound['unit'], number>>,
  ended: number,
  stream: boolean,
): void {
  for (const one of used) one.amount += amounts[one.bound.unit] * share
  // Of targets that are drawn it is not known which one had the request.
  if (share < 1) return
  for (const { unit, ends } of running) if (stream || unit === 'in_flight') ends.add(ended, undefined)
}

function metersOf(scope: Scope): Meters {
  const { bounds, in_flight, streams } = scope.limits
  const places = { in_flight, streams }
  return {
    scope,
    used: bounds.map(bound => ({ bound, span: undefined, amount: 0 })),
    running: (['in_flight', 'streams'] as const).flatMap(unit => {
      const bound = places[unit]
      return bound === undefined ? [] : [{ unit, bound, ends: new Heap<undefined>() }]
    }),
  }
}
