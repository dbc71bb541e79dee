import { plannedOf } from '../../core/keeper.js'
import { likelyCost } from '../../core/likely-cost.js'
import type { Choice, Exchange } from '../../core/plan.js'
import { nameOf, rendezvous } from '../../core/rendezvous.js'
import type { Strategy } from '../../core/strategy.js'
import { byLosses, type Lost } from '../../translate/loss-order.js'
import type { RequestView } from '../../wire/request-view.js'
import type { Target } from './target.js'

/** What an order knows of a request and of the targets. @testonly */
export interface View {
  readonly choice: Choice
  readonly request: RequestView
  /** Milliseconds of a clock that only goes forward. */
  readonly now: number
  readonly random: () => number
  readonly targetOf: (exchange: Exchange) => Target
  /** What each would drop of the request. */
  losses(candidates: readonly Exchange[]): ReadonlyMap<Exchange, Lost>
}

/** The candidates in the order in which they are asked. They come drawn by weight, so those that are equal keep a random order. @testonly */
export type Order = (candidates: readonly Exchange[], view: View) => readonly Exchange[]

/** The fewest attempts under way for its weight first. @testonly */
export const leastInFlight: Order = (candidates, view) =>
  inOrderOf(candidates, one => view.targetOf(one).inFlight / weightOf(one, view.choice))

/**
 * Of two random targets the one with the lower cost, then the others by their cost. Two and not all, so that not every request
 * of a moment runs to the one that was the fastest. @testonly
 */
export const fastest: Order = (candidates, view) => {
  if (candidates.length === 2) return fasterOfTwo(candidates, view)
  const costs = new Map(candidates.map(one => [one, view.targetOf(one).cost(view.request.stream, view.now)]))
  const cost = (one: Exchange): number => costs.get(one) ?? 0
  const sorted = inOrderOf(candidates, cost)
  // The worst of all is never the better one of two.
  const first = Math.floor(view.random() * sorted.length)
  const second = (first + 1 + Math.floor(view.random() * (sorted.length - 1))) % sorted.length
  const better = Math.min(first, second)
  const chosen = sorted[better]
  return chosen === undefined || better === 0 ? sorted : [chosen, ...sorted.filter(one => one !== chosen)]
}

/** The same where two is all there are. */
function fasterOfTwo(
  candidates: readonly Exchange[],
  { request: { stream }, now, targetOf }: View,
): readonly Exchange[] {
  const [one, other] = candidates as readonly [Exchange, Exchange]
  return targetOf(other).cost(stream, now) < targetOf(one).cost(stream, now) ? [other, one] : candidates
}

/** The one that is likely to charge least first; those without a price last. */
const cheapest: Order = (candidates, { request }) => {
  const { demand, paths } = request
  return inOrderOf(candidates, ({ tariff }) => likelyCost(demand, paths, tariff) ?? Number.POSITIVE_INFINITY)
}

/** The one on which what requests have in common falls; then those on which it would fall without that one. */
const sticky: Order = (candidates, { choice, request, targetOf }) => {
  const { strategy } = choice.routing ?? {}
  if (strategy?.by !== 'sticky') return candidates
  const places = candidates.map(exchange => ({
    exchange,
    name: nameOf(exchange),
    weight: weightOf(exchange, choice),
    inFlight: targetOf(exchange).inFlight,
  }))
  return rendezvous(request.digest(strategy), places).map(({ exchange }) => exchange)
}

/** The one that drops least of the request first; equal ones as they are written. */
const lossless: Order = (candidates, { choice, losses }) => {
  const written = asWritten(candidates, choice)
  return byLosses(written, losses(written))
}

/** What each strategy does; undefined: the draw by weight is the kernel's. */
export const ORDERS: Readonly<Record<Strategy['by'], Order | undefined>> = {
  order: undefined,
  weighted: undefined,
  least_in_flight: leastInFlight,
  fastest,
  cheapest,
  sticky,
  lossless,
}

/** The candidates in the order of the file. */
function asWritten(candidates: readonly Exchange[], { groups }: Choice): readonly Exchange[] {
  return groups.flatMap(({ exchanges }) =>
    exchanges.flatMap(one => candidates.find(candidate => plannedOf(candidate) === one) ?? []),
  )
}

/** The smallest first; equal ones as they are. */
function inOrderOf(candidates: readonly Exchange[], rank: (one: Exchange) => number): readonly Exchange[] {
  return candidates.toSorted((one, other) => rank(one) - rank(other))
}

function weightOf(exchange: Exchange, { groups }: Choice): number {
  for (const { exchanges, weights } of groups) {
    const index = exchanges.indexOf(plannedOf(exchange))
    if (index >= 0) return weights[index] ?? 1
  }
  return 1
}
