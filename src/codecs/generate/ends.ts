import type { Json } from '../../core/json.js'
import type { End, EndReason } from '../../core/text.js'
import { numberOf } from '../read.js'

/** `finishReason`, and what it means. Calls end with STOP, as words do. */
const REASONS: Readonly<Record<string, EndReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'filter',
  RECITATION: 'filter',
  LANGUAGE: 'filter',
  BLOCKLIST: 'filter',
  PROHIBITED_CONTENT: 'filter',
  SPII: 'filter',
  IMAGE_SAFETY: 'filter',
  IMAGE_PROHIBITED_CONTENT: 'filter',
  IMAGE_RECITATION: 'filter',
  MODEL_ARMOR: 'filter',
  MALFORMED_FUNCTION_CALL: 'malformed',
  UNEXPECTED_TOOL_CALL: 'malformed',
  TOO_MANY_TOOL_CALLS: 'malformed',
  MISSING_THOUGHT_SIGNATURE: 'malformed',
  MALFORMED_RESPONSE: 'malformed',
  OTHER: 'other',
  NO_IMAGE: 'other',
  IMAGE_OTHER: 'other',
  ESCALATION: 'other',
  FINISH_REASON_UNSPECIFIED: 'other',
}

/** Some servers send the number of the word; these have the same one everywhere. */
const NUMBERED = ['FINISH_REASON_UNSPECIFIED', 'STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION']

/** The words that stand for a reason where nothing more exact is known. */
const WORDS: Readonly<Record<EndReason, string>> = {
  stop: 'STOP',
  tool: 'STOP',
  pause: 'STOP',
  length: 'MAX_TOKENS',
  context: 'MAX_TOKENS',
  filter: 'SAFETY',
  refusal: 'SAFETY',
  malformed: 'MALFORMED_RESPONSE',
  other: 'OTHER',
}

/** The end of a candidate; undefined where the document does not end it. */
export function endIn(reason: Json | undefined, message: Json | undefined, called: boolean): End | undefined {
  const number = numberOf(reason)
  const word = number !== undefined ? (NUMBERED[number] ?? 'OTHER') : reason
  if (typeof word !== 'string' || word === '') return undefined
  const known = (Object.hasOwn(REASONS, word) ? REASONS[word] : undefined) ?? 'other'
  if (known === 'stop') return { reason: called ? 'tool' : 'stop' }
  const explained = typeof message === 'string' && message !== ''
  if (explained) return { reason: known, detail: message }
  return WORDS[known] === word ? { reason: known } : { reason: known, detail: word }
}

/** A prompt that was refused before there was a candidate: `promptFeedback.blockReason`. */
export function blockedEnd(blockReason: string, message: Json | undefined): End {
  return { reason: 'filter', detail: typeof message === 'string' && message !== '' ? message : blockReason }
}

/**
 * `finishReason`, and `finishMessage` where there is something to say. `refused`: the model declined in words, which are
 * text here; the reason tells that they are not answers.
 */
export function endOut(
  { reason: given, detail }: End,
  refused: boolean,
): { readonly finishReason: string; readonly finishMessage?: string } {
  const reason = refused && given === 'stop' ? 'refusal' : given
  const own = detail !== undefined && Object.hasOwn(REASONS, detail) && REASONS[detail] === reason
  if (own) return { finishReason: detail }
  return { finishReason: WORDS[reason], ...(detail !== undefined && { finishMessage: detail }) }
}
