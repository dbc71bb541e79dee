import type { Json } from '../../core/json.js'
import type { End, EndReason } from '../../core/text.js'

const REASONS: Readonly<Record<string, EndReason>> = {
  stop: 'stop',
  eos: 'stop',
  length: 'length',
  model_length: 'length',
  tool_calls: 'tool',
  function_call: 'tool',
  content_filter: 'filter',
}

/**
 * `finish_reason`. Servers say `stop` where the model was made to call a tool by name, and after a refusal; what the
 * answer holds tells better.
 */
export function readEnd(reason: Json | undefined, holds: { calls: boolean; refusal: boolean }, stopped?: Json): End {
  const word = typeof reason === 'string' ? reason : ''
  const known = Object.hasOwn(REASONS, word) ? REASONS[word] : undefined
  if (word === '') return { reason: holds.calls ? 'tool' : 'other' }
  if (known === undefined) return { reason: 'other', detail: word.slice(0, 200) }
  if (known === 'stop' && holds.calls) return { reason: 'tool' }
  if (known === 'stop' && holds.refusal) return { reason: 'refusal' }
  if (known === 'tool' && !holds.calls) return { reason: 'stop' }
  return typeof stopped === 'string' ? { reason: known, stopSequence: stopped } : { reason: known }
}

type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

/** The protocol's word for an end, and what cannot be said with it. */
export function writeEnd(end: End, refused: boolean, lose: (what: string, why: string) => void): FinishReason {
  if (end.stopSequence !== undefined) lose('stop sequence', 'chat does not say which one was met')
  switch (end.reason) {
    case 'stop':
      return 'stop'
    case 'length':
      return 'length'
    case 'tool':
      return 'tool_calls'
    case 'filter':
      return 'content_filter'
    case 'refusal':
      return refused ? 'stop' : 'content_filter'
    case 'context':
      lose('finish reason', 'chat does not distinguish a full context window from a limit')
      return 'length'
    default:
      lose('finish reason', `chat has no word for '${end.reason}'`)
      return 'stop'
  }
}
