import type { Fields } from '../../families/fields.js'
import { invalid } from '../../families/messages.js'

/** A mark in a prompt: cache everything up to here for so long. */
export interface Mark {
  readonly ttl: '5m' | '1h'
}

/** A piece of the prompt, in the order in which caches see them: tools, system, messages. */
export interface Piece {
  readonly tokens: number
  readonly mark: Mark | undefined
  /** Whether an earlier request must have held it, too: it comes before the last answer. */
  readonly old: boolean
}

/** Tokens of a prompt by what the cache did with them. The three, and the rest of the prompt, do not overlap. */
export interface Cached {
  readonly read: number
  readonly written: Readonly<Record<Mark['ttl'], number>>
}

const MAX_CACHE_MARKS = 4

/** The mark that a block, a tool or the whole body bears. */
export function readMark(holder: Fields): Mark | undefined {
  const control = holder.fields('cache_control')
  if (control === undefined) return undefined
  control.only(['type', 'ttl']).needOneOf('type', ['ephemeral'])
  return { ttl: control.oneOf('ttl', ['5m', '1h']) ?? '5m' }
}

/**
 * What would have come from a cache and what would have gone into one. The simulator keeps none, so that the same
 * request always gets the same answer: marks before the last answer are taken to have been cached by the request that
 * got it, and later ones are written now.
 */
export function cached(pieces: readonly Piece[]): Cached {
  const marks = pieces.filter(piece => piece.mark !== undefined).length
  if (marks > MAX_CACHE_MARKS) {
    throw invalid('', `A maximum of ${MAX_CACHE_MARKS} blocks with cache_control may be provided. Found ${marks}.`)
  }
  const read = sumTo(
    pieces,
    pieces.findLastIndex(({ mark, old }) => old && mark !== undefined),
  )
  const last = pieces.findLastIndex(({ mark }) => mark !== undefined)
  const written = sumTo(pieces, last) - read
  const ttl = pieces[last]?.mark?.ttl ?? '5m'
  return { read, written: { '5m': 0, '1h': 0, [ttl]: written } }
}

function sumTo(pieces: readonly Piece[], last: number): number {
  return pieces.slice(0, last + 1).reduce((sum, { tokens }) => sum + tokens, 0)
}
