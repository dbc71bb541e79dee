import { GatewayError } from '../../core/errors.js'
import type { Exchange } from '../../core/plan.js'

/** How much of an id that a client wrote is said back. */
const MAX_SHOWN_CHARS = 200

/**
 * The way to the one upstream that takes ids which were made outside of the gateway; undefined where none does. Throws
 * `invalid_parameter` where several do: only one of them can have what is meant, and nobody here knows which.
 */
export function exchangeForUnknownIds(
  exchanges: readonly Exchange[],
  id: string,
  param?: string,
): Exchange | undefined {
  const takers = exchanges.filter(({ upstream }) => upstream.passesUnknown)
  const names = [...new Set(takers.map(({ upstream }) => upstream.name))]
  if (names.length < 2) return takers[0]
  const list = names.map(name => `'${name}'`).join(', ')
  const message = `'${id.slice(0, MAX_SHOWN_CHARS)}' was not created through the gateway, and several upstreams accept such ids (${list}). Name a model, or use a key, of only one of them.`
  throw new GatewayError('invalid_parameter', message, { param })
}
