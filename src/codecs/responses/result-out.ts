import type { AnswerContext } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { End, Part, TextResult } from '../../core/text.js'
import { writeOutput } from './output.js'
import { incompleteReason, ResponseBase } from './response-object.js'

/** There is no finish reason for a refusal here: a part says it, which other protocols may leave out. */
function declined(parts: readonly Part[], end: End): readonly Part[] {
  if (end.reason !== 'refusal' || parts.some(({ type }) => type === 'refusal')) return parts
  return [...parts, { type: 'refusal', text: end.detail ?? '' }]
}

const UNTOLD: ReadonlySet<End['reason']> = new Set(['pause', 'malformed', 'other'])

/** Reasons that this protocol has no word for. */
export function sayEnd({ reason }: End, answer: AnswerContext): void {
  if (UNTOLD.has(reason)) answer.lose('finish', `this protocol cannot express the end ${reason}`)
}

/** A whole answer as a response object. Answers beside the first have no place here. */
export function encodeResult(result: TextResult, answer: AnswerContext): JsonObject {
  if (result.candidates.length > 1) answer.lose('candidates', 'responses give one answer')
  const { parts: given, end } = result.candidates[0] ?? { parts: [], end: { reason: 'other' as const } }
  const parts = declined(given, end)
  sayEnd(end, answer)
  const status = incompleteReason(end) === undefined ? 'completed' : 'incomplete'
  const output = writeOutput(parts, answer, status)
  return new ResponseBase(answer, result).with(status, output, { usage: result.usage, tier: result.serviceTier, end })
}
