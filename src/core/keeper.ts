import type { Exchange } from './plan.js'

/** No upstream has it in its name. */
const SEPARATOR = '#'

/** How records name an upstream that keeps something for one of its several secrets. */
export function keeperName(upstream: string, credential: string): string {
  return `${upstream}${SEPARATOR}${credential}`
}

/**
 * The exchange by which the upstream is asked that keeps something, with the secret that may ask for it; undefined where it is
 * another upstream. Where that secret is gone the first one has to do.
 */
export function exchangeOfKeeper(exchange: Exchange, keeper: string): Exchange | undefined {
  const end = keeper.indexOf(SEPARATOR)
  if (exchange.upstream.name !== (end < 0 ? keeper : keeper.slice(0, end))) return undefined
  const { secrets = [exchange] } = exchange
  const found = secrets.find(({ upstream }) => upstream.keeper === keeper) ?? secrets[0] ?? exchange
  return withOneSecret(withSecretOf(exchange, found))
}

/** A copy for one call, which stages know as that exchange by {@link plannedOf}. */
export function copyWith(exchange: Exchange, changes: Partial<Exchange>): Exchange {
  return { ...exchange, ...changes, planned: exchange.planned ?? exchange }
}

/** The same exchange with the secret of another one. */
export function withSecretOf(exchange: Exchange, { upstream, call, streamCall }: Exchange): Exchange {
  return copyWith(exchange, { upstream, call, streamCall })
}

/** The exchange with its secret alone: no other one takes its turn. */
export function withOneSecret(exchange: Exchange): Exchange {
  if (exchange.secrets === undefined) return exchange
  const { secrets: _, ...alone } = copyWith(exchange, {})
  return alone
}

/** The exchange of the plan with the first of its upstream's secrets: one object for all copies, whichever secret they have. */
export function plannedOf(exchange: Exchange): Exchange {
  const { planned = exchange } = exchange
  return planned.secrets?.[0] ?? planned
}
