import { GatewayError } from '../../core/errors.js'
import type { Exchange } from '../../core/plan.js'

/** Longest part of a client's id that an error repeats, characters. */
const MAX_SHOWN_CHARS = 200

/**
 * The exchange of the only upstream that accepts ids which were made outside of the gateway; undefined if none does. Throws
 * `invalid_parameter` if several do: the gateway cannot know which one has the resource.
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
