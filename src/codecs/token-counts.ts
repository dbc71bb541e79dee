import type { Counted } from '../core/text.js'
import { given } from './members.js'

interface TokenCounts extends Counted {
  readonly total?: number
}

/**
 * Input, output and total of an answer, of which upstreams may leave out any: the total and one of the others give the
 * third. The total itself is kept only where it cannot be added up.
 */
export function tokenCounts(
  input: number | undefined,
  output: number | undefined,
  total: number | undefined,
): TokenCounts {
  if (total === undefined || (input !== undefined && output !== undefined)) return given({ input, output })
  const known = input ?? output
  if (known === undefined) return { total }
  if (known > total) return given({ input, output })
  return { input: input ?? total - known, output: output ?? total - known }
}

/** All tokens that are known of. */
export function totalOf({ input, output, total = 0 }: TokenCounts): number {
  return input === undefined && output === undefined ? total : (input ?? 0) + (output ?? 0)
}
