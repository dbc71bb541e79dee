import type { AnswerContext } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { CallPart, Part, ReasoningPart, RefusalPart, TextPart, TokenLogprob } from '../../core/text.js'
import { wrapSeal } from '../seal.js'
import { loseCitation, writeAnnotation } from './annotations.js'
import { loseSeal, sealedItem } from './item-seals.js'
import { clientNames } from './namespaces.js'
import { PROTOCOL } from './protocol.js'

/** Parts of one answer as `output` items. Each text is a message of its own. */
export function writeOutput(parts: readonly Part[], answer: AnswerContext, status: string): JsonObject[] {
  return parts.flatMap(part => {
    loseSeal(part, part.seal, answer)
    const item = writePart(part, answer, status)
    return item === undefined ? [] : [item]
  })
}

function writePart(part: Part, answer: AnswerContext, status: string): JsonObject | undefined {
  switch (part.type) {
    case 'text':
      return sealedItem(messageItem(answer.newId('msg_'), status, [contentOf(part, answer)]), part.seal)
    case 'refusal':
      return messageItem(answer.newId('msg_'), status, [contentOf(part, answer)])
    case 'reasoning':
      return part.text === '' && part.seal === undefined ? undefined : reasoningItem(part, answer.newId('rs_'))
    case 'call':
      return sealedItem(
        callItem(part, answer.newId(part.custom === true ? 'ctc_' : 'fc_'), 'completed', answer),
        part.seal,
      )
    case 'hosted':
      if (part.of === PROTOCOL) return part.value
      answer.lose('hosted', 'traces of tools that ran at an upstream of another protocol cannot be used here')
      return undefined
    case 'media':
      return mediaItem(part, answer)
    case 'result':
      return undefined
  }
}

function mediaItem(part: Extract<Part, { readonly type: 'media' }>, answer: AnswerContext): JsonObject | undefined {
  if (part.kind === 'image' && 'base64' in part.source) {
    const id = answer.newId('ig_')
    return { type: 'image_generation_call', id, status: 'completed', result: part.source.base64 }
  }
  answer.lose(part.kind, 'answers of this protocol cannot contain such media')
  return undefined
}

export function messageItem(id: string, status: string, content: readonly JsonObject[]): JsonObject {
  return { type: 'message', id, status, role: 'assistant', content }
}

export function contentOf(part: TextPart | RefusalPart, answer: AnswerContext): JsonObject {
  if (part.type === 'refusal') return { type: 'refusal', refusal: part.text }
  const { citations = [] } = part
  const annotations = citations.flatMap(citation => writeAnnotation(citation, part.text.length) ?? [])
  if (annotations.length < citations.length) loseCitation(answer)
  return { type: 'output_text', text: part.text, annotations, logprobs: (part.logprobs ?? []).map(writeLogprob) }
}

export function writeLogprob({ token, logprob, bytes, top = [] }: TokenLogprob): JsonObject {
  const top_logprobs = top.map(one => ({ token: one.token, logprob: one.logprob, bytes: one.bytes ?? [] }))
  return { token, logprob, bytes: bytes ?? [], top_logprobs }
}

/** Thoughts are shown as a summary, where clients look for them; what they are sealed with goes beside it. */
export function reasoningItem(part: ReasoningPart, id: string): JsonObject {
  const { text, seal } = part
  return {
    type: 'reasoning',
    id: part.id?.startsWith('rs_') === true ? part.id : id,
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    ...(seal !== undefined && { encrypted_content: wrapSeal(seal, PROTOCOL, part) }),
  }
}

export function callItem(
  part: CallPart,
  id: string,
  status: string,
  { request }: Pick<AnswerContext, 'request'>,
): JsonObject {
  const { id: call_id } = part
  const names = clientNames(request.tools ?? [], part.name)
  if (part.custom === true) return { type: 'custom_tool_call', id, status, call_id, ...names, input: part.arguments }
  const text = part.arguments === '' && status === 'completed' ? '{}' : part.arguments
  return { type: 'function_call', id, status, call_id, ...names, arguments: text }
}
