import type { AnswerContext } from '../../core/codec.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type {
  CallPart,
  Citation,
  Part,
  ReasoningPart,
  RefusalPart,
  Seal,
  TextPart,
  TokenLogprob,
} from '../../core/text.js'
import { given, isBounded, numberOf, stringOf } from '../read.js'

import { unwrapSeal, wrapSeal } from '../seal.js'
import { PROTOCOL } from './fields.js'
import { clientNames } from './tools-in.js'

/**
 * Other protocols seal texts and calls; here only thoughts have a place for a seal. Such a seal travels in the item that it
 * belongs to, in a member named as that of thoughts: a reasoning item of its own would be shown as an empty thought.
 */
export function sealedItem(item: JsonObject, seal: Seal | undefined): JsonObject {
  return seal === undefined ? item : { ...item, encrypted_content: wrapSeal(seal, PROTOCOL) }
}

/** The seal that an item holds. */
export function sealOfItem(item: JsonObject): Seal | undefined {
  const sealed = stringOf(item.encrypted_content)
  return sealed === undefined || sealed === '' ? undefined : unwrapSeal(sealed, PROTOCOL)
}

/** The parts of an item with its seal, which is that of the last text or call among them. */
export function onto<P extends Part>(parts: readonly P[], seal: Seal | undefined): P[] {
  const last = seal === undefined ? -1 : parts.findLastIndex(isSealable)
  return parts.map((part, i) => (i === last && seal !== undefined ? { ...part, seal } : part))
}

/**
 * Histories that clients kept may hold seals in items of their own, as the gateway wrote them once: reasoning items without
 * a summary before their text or call (`ahead`), or after it.
 */
const IDS = { ahead: 'rs_ahead_', behind: 'rs_behind_' } as const
export type CarrierPlace = keyof typeof IDS

/** Where the item carries a seal to; undefined where it is a thought. */
export function carrierPlace({ id }: JsonObject): CarrierPlace | undefined {
  if (typeof id !== 'string') return undefined
  if (id.startsWith(IDS.ahead)) return 'ahead'
  return id.startsWith(IDS.behind) ? 'behind' : undefined
}

export function isSealable({ type }: Part): boolean {
  return type === 'text' || type === 'call'
}

/** Says that a seal goes nowhere, where there is one and that is so. */
export function loseSeal(part: Part, seal: Seal | undefined, { lose }: AnswerContext): void {
  if (seal === undefined || part.type === 'reasoning' || isSealable(part)) return
  lose('seals', `the seal of a ${part.type} part cannot be used here`)
}

/** `url_citation{start_index,end_index,url,title}`; the other kinds stay in the protocol's own words. */
export function readAnnotation(value: Json): Citation[] {
  if (!isObject(value) || !isBounded(value)) return []
  const own = { of: PROTOCOL, value }
  if (value.type !== 'url_citation') return [{ own }]
  return [
    {
      own,
      ...given({
        url: stringOf(value.url),
        title: stringOf(value.title),
        start: numberOf(value.start_index),
        end: numberOf(value.end_index),
      }),
    },
  ]
}

/** Undefined where the citation names no URL, without which there is none here. `length`: characters of its text. */
export function writeAnnotation(citation: Citation, length: number): JsonObject | undefined {
  if (citation.own?.of === PROTOCOL) return citation.own.value
  if (citation.url === undefined) return undefined
  const { url, title = '', start = 0, end = length } = citation
  return { type: 'url_citation', start_index: start, end_index: end, url, title }
}

export function loseCitation({ lose }: AnswerContext): void {
  lose('citations', 'responses cite only URLs')
}

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
