import type { AnswerContext } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { End, EndReason } from '../../core/text.js'
import { objectOf, stringOf } from '../read.js'

const REASONS: ReadonlyMap<string, EndReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['tool_use', 'tool'],
  ['pause_turn', 'pause'],
  ['compaction', 'pause'],
  ['refusal', 'refusal'],
  ['model_context_window_exceeded', 'context'],
])

/** `stop_reason` (a word), with `stop_sequence` and `stop_details`. */
export function decodeEnd(word: string | undefined, { stop_sequence, stop_details }: JsonObject): End {
  const reason = (word === undefined ? undefined : REASONS.get(word)) ?? 'other'
  const stopSequence = word === 'stop_sequence' ? stringOf(stop_sequence) : undefined
  const detail = reason === 'refusal' ? explanationOf(stop_details) : reason === 'other' ? word : undefined
  return { reason, ...(stopSequence !== undefined && { stopSequence }), ...(detail !== undefined && { detail }) }
}

function explanationOf(details: Json | undefined): string | undefined {
  const { explanation, category } = objectOf(details) ?? {}
  return stringOf(explanation) ?? stringOf(category)
}

const WORDS: Readonly<Record<EndReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  filter: 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
  context: 'model_context_window_exceeded',
  malformed: 'end_turn',
  other: 'end_turn',
}

/** What of an answer decides over its end, beside what the upstream said. */
interface Said {
  readonly calls: boolean
  readonly refusal: boolean
}

/**
 * `stop_reason`, `stop_sequence` and `stop_details`. Clients go by `tool_use` to run tools, so an answer with calls that
 * just stopped has that one.
 */
export function encodeEnd({ reason, stopSequence, detail }: End, { calls, refusal }: Said): JsonObject {
  const isStop = reason === 'stop' || reason === 'other'
  const word = isStop && calls ? 'tool_use' : isStop && refusal ? 'refusal' : WORDS[reason]
  const met = word === 'end_turn' && reason === 'stop' ? stopSequence : undefined
  return {
    stop_reason: met === undefined ? word : 'stop_sequence',
    stop_sequence: met ?? null,
    stop_details: word === 'refusal' ? { type: 'refusal', category: null, explanation: detail ?? null } : null,
  }
}

/** Tells of an end that has no word in this protocol, and goes out as a plain one. */
export function loseEnd({ reason, detail }: End, lose: AnswerContext['lose']): void {
  if (reason === 'malformed' || reason === 'other') {
    const unsaid = reason === 'malformed' ? 'a malformed call' : 'a reason that this protocol cannot express'
    lose('stop_reason', `the upstream ended with ${detail ?? unsaid}`)
  }
}
