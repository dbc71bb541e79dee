import type { StreamContract } from '../core/limits.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { RawStreamContract } from './raw.generated.js'
import { readDuration } from './settings.js'

/** `stream` of a model: what its streams have to keep to. */
export function readStreamContract(
  { first_token, gap, min_rate, then = 'next' }: RawStreamContract,
  site: Site,
  context: Context,
): StreamContract {
  return {
    ...(first_token !== undefined && { first_token: readDuration(first_token, site.child('first_token'), context) }),
    ...(gap !== undefined && { gap: readDuration(gap, site.child('gap'), context) }),
    ...(min_rate !== undefined && { min_rate: Number.parseFloat(min_rate) }),
    then,
  }
}
