import { exchangeOfKeeper } from '../../core/keeper.js'
import type { Exchange } from '../../core/plan.js'

/** The exchange of the upstream that a record names; undefined if that one is no longer among them. */
export function holderAmong(exchanges: readonly Exchange[], keeper: string): Exchange | undefined {
  for (const exchange of exchanges) {
    const found = exchangeOfKeeper(exchange, keeper)
    if (found !== undefined) return found
  }
  return undefined
}
