import type { CallerPolicy } from '../../core/bounds.js'
import { networkForbidden, refused } from '../../core/limit-refusals.js'
import type { Route } from '../../core/plan.js'
import { asksUpstream, checkRoute } from '../../core/route-access.js'
import type { Call } from '../../kernel/call.js'
import { InnerExchange } from '../../kernel/inner.js'
import { slot } from '../../kernel/slot.js'
import type { Maybe } from '../../kernel/stages.js'
import type { Book } from './book.js'
import { type Claim, Reservation, type Shortage } from './reservation.js'
import { summaryOf } from './scope-summary.js'

/** What a call has taken of its caller's bounds, by itself and as a stream. */
const ADMITTED = slot<Reservation>('limits of the caller')
const STREAM = slot<Reservation>('place of a stream')

const ONE_REQUEST = { requests: 1 } as const

/** Decides what can be decided about a request before its body is read, and gives back what it took when it ends. */
export class Admission {
  readonly #book: Book
  readonly #route: Route
  readonly #isCounted: boolean

  constructor(book: Book, route: Route) {
    this.#book = book
    this.#route = route
    this.#isCounted = asksUpstream(route)
  }

  admit(call: Call): Maybe<void> {
    const policy = call.caller?.policy
    if (policy === undefined) return
    this.#checkCaller(call, policy)
    if (!this.#isCounted || !counts(call)) return
    const summary = summaryOf(policy)
    if (summary.body !== undefined) call.limitBody(summary.body)
    const claims = this.#route.tunnel === undefined ? summary.admission : summary.tunnel
    return this.#take(call, claims, ADMITTED)
  }

  /** Whether it is a stream is in the body. */
  enterStream(call: Call): Maybe<void> {
    const policy = call.caller?.policy
    if (policy === undefined || !call.stream || this.#route.tunnel !== undefined || !counts(call)) return
    return this.#take(call, summaryOf(policy).streams, STREAM)
  }

  settle(call: Call): void {
    const admitted = call.get(ADMITTED)
    if (admitted !== undefined) this.#book.settle(admitted, ONE_REQUEST)
    const stream = call.get(STREAM)
    if (stream !== undefined) this.#book.settle(stream)
  }

  #checkCaller(call: Call, policy: CallerPolicy): void {
    checkRoute(policy, this.#route)
    if (policy.mayComeFrom?.(call.client ?? '') === false) throw networkForbidden()
  }

  #take(call: Call, claims: readonly Claim[], kept: typeof ADMITTED): Maybe<void> {
    if (claims.length === 0) return
    const outcome = this.#book.reserve(claims)
    if (outcome instanceof Promise) return outcome.then(one => this.#took(call, one, kept))
    this.#took(call, outcome, kept)
  }

  #took(call: Call, outcome: Reservation | Shortage, kept: typeof ADMITTED): void {
    if (!(outcome instanceof Reservation)) throw refused(outcome, call.family)
    // Nothing settles a call that has ended meanwhile.
    if (call.answered) this.#book.settle(outcome, ONE_REQUEST)
    else call.set(kept, outcome)
  }
}

/**
 * Of requests that the gateway makes to itself, turns of a socket count, since clients send them. Responses in the background
 * and summaries of conversations were counted when they were asked for; refreshes of lists, and copies for mirrors, are not the
 * client's.
 */
function counts({ request }: Call): boolean {
  if (!(request instanceof InnerExchange)) return true
  const { inside, method } = request
  if (inside.copy !== undefined) return false
  return inside.isCounted !== true && method !== 'GET'
}
