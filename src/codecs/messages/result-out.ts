import type { AnswerContext } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { CallPart, Part, ReasoningPart, Seal, TextPart, TextResult } from '../../core/text.js'
import { borrowedSeal, type SealPlace } from '../borrowed-seal.js'
import { MAX_CITATIONS } from '../quotes.js'
import { compact } from '../read.js'
import { wrapSeal } from '../seal.js'
import { encodeCitation } from './citations.js'
import { encodeCallId, inputOf } from './names.js'
import { encodeEnd, loseEnd } from './result-in.js'
import { encodeUsage } from './usage.js'

/** A block of hidden thoughts, for a seal that belongs to what is beside it. */
export function encodeBorrowedSeal(seal: Seal, place: SealPlace): JsonObject {
  return { type: 'thinking', thinking: '', signature: borrowedSeal(seal, place) }
}

type Lose = AnswerContext['lose']

/** The answer as a message. */
export function encodeResult(
  { id, model, candidates, usage, serviceTier }: TextResult,
  answer: AnswerContext,
): JsonObject {
  if (candidates.length > 1) answer.lose('candidates', 'a message is one answer')
  const { parts, end } = candidates[0] ?? { parts: [], end: { reason: 'other' as const } }
  loseEnd(end, answer.lose)
  const said = {
    calls: parts.some(({ type }) => type === 'call'),
    refusal: parts.some(({ type }) => type === 'refusal'),
  }
  const content = parts.flatMap(part => blocksOf(part, answer.lose))
  return compact(messageHead(id, model, answer), { content }, encodeEnd(end, said), {
    container: null,
    usage: encodeUsage(usage, serviceTier),
  })
}

/** What a message and the first event of a stream begin with. */
export function messageHead(id: string, model: string, answer: AnswerContext): JsonObject {
  return {
    id: id === '' ? answer.newId('msg_') : id,
    type: 'message',
    role: 'assistant',
    model: model === '' ? answer.request.model : model,
  }
}

/** Blocks of a part: one; and one of hidden thoughts beside it, where a seal needs a place. */
function blocksOf(part: Part, lose: Lose): JsonObject[] {
  switch (part.type) {
    case 'text':
      return [...(part.text === '' ? [] : [textBlock(part, lose)]), ...sealBehind(part.seal, part.text === '')]
    case 'refusal':
      return [
        ...(part.text === '' ? [] : [{ type: 'text', text: part.text }]),
        ...sealBehind(part.seal, part.text === ''),
      ]
    case 'reasoning':
      return thinkingBlocks(part, lose)
    case 'call':
      return [...(part.seal === undefined ? [] : [encodeBorrowedSeal(part.seal, 'next')]), callBlock(part, lose)]
    default:
      return otherBlocks(part, lose)
  }
}

/** The seal of a text, in a block behind it. */
export function sealBehind(seal: Seal | undefined, isEmpty: boolean): JsonObject[] {
  return seal === undefined ? [] : [encodeBorrowedSeal(seal, isEmpty ? 'text' : 'prev')]
}

function textBlock({ text, citations }: TextPart, lose: Lose): JsonObject {
  if (citations === undefined) return { type: 'text', text }
  const taken = citations.slice(0, MAX_CITATIONS)
  const shown = taken.map(citation => encodeCitation(citation, text)).filter(one => one !== undefined)
  if (shown.length < citations.length) loseCitation(lose)
  return { type: 'text', text, citations: shown }
}

export function loseCitation(lose: Lose): void {
  lose('citations', 'this protocol cannot express a citation without a URL')
}

function thinkingBlocks(part: ReasoningPart, lose: Lose): JsonObject[] {
  const { text, seal } = part
  if (part.redacted === true) {
    if (seal !== undefined) return [{ type: 'redacted_thinking', data: wrapSeal(seal, 'messages', part) }]
    lose('reasoning', 'thoughts that are hidden and not sealed have no content')
    return []
  }
  if (text === '' && seal === undefined) return []
  return [{ type: 'thinking', thinking: text, signature: seal === undefined ? '' : wrapSeal(seal, 'messages', part) }]
}

function callBlock({ id, name, arguments: text, custom }: CallPart, lose: Lose): JsonObject {
  const input = custom === true ? { input: text } : inputOf(text)
  if (input === undefined) lose('input', 'the arguments of the call are not a JSON object, so they are in _raw')
  return { ...callHead(id, name), input: input ?? { _raw: text } }
}

/** A call without its input. */
export function callHead(id: string, name: string): JsonObject {
  return { type: 'tool_use', id: encodeCallId(id), name, caller: { type: 'direct' } }
}

/** Blocks of what only some protocols have in answers. */
export function otherBlocks(part: Part, lose: Lose): JsonObject[] {
  if (part.type === 'hosted') {
    if (part.of === 'messages') return [part.value]
    lose('hosted', 'the trace of a tool that ran at the upstream exists only in its own protocol')
    return []
  }
  if (part.type !== 'media') return []
  lose(part.kind, 'this protocol answers only in text')
  const { transcript } = part
  return transcript === undefined || transcript === '' ? [] : [{ type: 'text', text: transcript }]
}
