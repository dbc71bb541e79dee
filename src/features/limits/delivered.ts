import { plannedOf } from '../../core/keeper.js'
import type { Exchange } from '../../core/plan.js'
import type { Outcome } from '../../kernel/stages.js'
import { BYTES_PER_TOKEN } from '../../wire/input-size.js'

/** Bytes of a stream for each token of its answer, framing and all, where the protocol does not say: those of chat. */
const TOKEN_BYTES = 160
/** Bytes of a whole answer around its text. */
const ANSWER_BYTES = 400
/** Tokens of earlier streams that count beside a new one. */
const REMEMBERED_TOKENS = 16_384
/** How far from what is usual streams may lead: with much beside their text, such as probabilities, they make others cheap. */
const MOST_TIMES = 4

/** Streams of a target whose usage was reported. */
interface Streams {
  bytes: number
  tokens: number
}

const STREAMS = new WeakMap<Exchange, Streams>()

/** A stream has ended, and the upstream says of how many tokens. */
export function learnStream(exchange: Exchange, { bytes, events }: Outcome, tokens: number): void {
  if (events === 0 || tokens === 0) return
  const known = STREAMS.get(plannedOf(exchange))
  if (known === undefined) {
    STREAMS.set(plannedOf(exchange), { bytes, tokens })
    return
  }
  const share = REMEMBERED_TOKENS / (REMEMBERED_TOKENS + tokens)
  known.bytes = known.bytes * share + bytes
  known.tokens = known.tokens * share + tokens
}

/**
 * Tokens of what was delivered, where no one counts them: by the bytes that a token took in earlier streams of the target. Its
 * events are not read for that. `usual`: those bytes, as the protocol has it.
 */
export function deliveredTokens(exchange: Exchange, { bytes, events }: Outcome, usual = TOKEN_BYTES): number {
  if (events === 0) return Math.ceil(Math.max(0, bytes - ANSWER_BYTES) / BYTES_PER_TOKEN)
  const known = STREAMS.get(plannedOf(exchange))
  const learned = known === undefined ? usual : known.bytes / known.tokens
  return Math.max(events, Math.ceil(bytes / Math.min(usual * MOST_TIMES, Math.max(usual / MOST_TIMES, learned))))
}
