import type { Replay } from './exchanges.js'
import { eventsOf } from './expect.js'
import type { Answer } from './raw-client.js'
import { expected } from './replay-stage.js'

/** Why what the client got of a stream that broke off could be taken for a whole one; undefined where it cannot. */
export function whyUnclean(
  answer: Answer | undefined,
  replay: Replay,
  end: 'fin' | 'chunk' = 'fin',
): string | undefined {
  if (answer === undefined || answer.status >= 500) return undefined
  const recorded = replay.body.toString()
  if (!answer.whole) return recorded.startsWith(answer.text) ? undefined : 'bytes that were never sent'
  if (answer.text.trimEnd() === expected(replay)?.toString().trimEnd()) return undefined
  // Streams of choices need no [DONE] behind a finish_reason, where the transfer ends well.
  if (end === 'chunk' && /"finish_reason":\s*"/.test(answer.text) && recorded.startsWith(answer.text.trimEnd())) {
    return undefined
  }
  const last = eventsOf(answer.text).at(-1)?.data ?? ''
  if (!/^\{"error":|^\{"type":"(error|response\.failed)"/.test(last)) return `a clean end: …${answer.text.slice(-120)}`
  const own = answer.text.lastIndexOf(replay.path === '/v1/responses' ? 'event: error\n' : 'data: {"error":')
  return recorded.startsWith(answer.text.slice(0, own)) ? undefined : 'bytes that were never sent before the error'
}
