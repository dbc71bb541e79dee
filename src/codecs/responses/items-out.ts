import type { Target } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { CallPart, Part, ReasoningPart, ResultPart, TextRequest, Turn } from '../../core/text.js'
import { compact } from '../read.js'
import { wrapSeal } from '../seal.js'
import { PROTOCOL } from './fields.js'
import { writeMedia } from './media.js'

/** The turns of a conversation as `input` items. */
export function writeInput({ turns }: TextRequest, target: Target): JsonObject[] {
  const last = turns.at(-1)
  if (last?.role === 'assistant' && !last.parts.some(({ type }) => type === 'hosted')) target.lose('prefill', last.at)
  return turns.flatMap(turn => {
    if (turn.name !== undefined) target.lose('participant', turn.at === undefined ? undefined : `${turn.at}.name`)
    return turn.role === 'assistant' ? writeAssistant(turn, target) : writeUser(turn, target)
  })
}

/** Results are items of their own, before the message that goes with them. */
function writeUser({ role, parts }: Turn, target: Target): JsonObject[] {
  const items: JsonObject[] = []
  const content: JsonObject[] = []
  for (const part of parts) {
    if (part.cache !== undefined) target.lose('cacheMarks', part.at)
    if (part.type === 'result') items.push(writeResult(part, target))
    else if (part.type === 'hosted') items.push(...writeHosted(part, target))
    else content.push(...writeContent(part, target))
  }
  if (content.length > 0) items.push({ type: 'message', role: role === 'system' ? 'developer' : 'user', content })
  return items
}

function writeContent(part: Part, target: Target): JsonObject[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'input_text', text: part.text }]
    case 'media': {
      const media = writeMedia(part, target)
      return media === undefined ? [] : [media]
    }
    case 'refusal':
      return [{ type: 'input_text', text: part.text }]
    default:
      return []
  }
}

/** Adjacent texts are one message; thoughts and calls are items between. */
function writeAssistant({ parts }: Turn, target: Target): JsonObject[] {
  const items: JsonObject[] = []
  let content: JsonObject[] = []
  const flush = (): void => {
    if (content.length > 0) items.push({ type: 'message', role: 'assistant', content })
    content = []
  }
  for (const part of parts) {
    if (part.cache !== undefined) target.lose('cacheMarks', part.at)
    if (part.seal !== undefined && part.type !== 'reasoning') {
      target.lose('reasoningParts', part.at, 'a seal of another protocol cannot be used here')
    }
    switch (part.type) {
      case 'text':
        content.push({ type: 'output_text', text: part.text, annotations: [] })
        break
      case 'refusal':
        content.push({ type: 'refusal', refusal: part.text })
        break
      case 'media':
        target.lose('resultMedia', part.at, 'an answer of the model cannot contain media here')
        break
      default:
        flush()
        items.push(...writeItem(part, target))
    }
  }
  flush()
  return items
}

function writeItem(part: Part, target: Target): JsonObject[] {
  switch (part.type) {
    case 'reasoning':
      return writeReasoning(part, target)
    case 'call':
      return [writeCall(part)]
    case 'hosted':
      return writeHosted(part, target)
    default:
      return []
  }
}

/** A thought goes back to the protocol that sealed it, and to no other. Unsealed thoughts are of no use here. */
function writeReasoning(part: ReasoningPart, target: Target): JsonObject[] {
  const { seal, text, summary, id } = part
  if (seal === undefined || seal.by !== PROTOCOL) {
    // What its upstream keeps by id needs no seal.
    if (seal === undefined && id?.startsWith('rs_') === true) {
      return [{ type: 'reasoning', id, summary: text === '' ? [] : [{ type: 'summary_text', text }] }]
    }
    const why = seal === undefined ? 'thoughts without a seal cannot be used here' : undefined
    target.lose('reasoningParts', part.at, why ?? 'a seal of another protocol cannot be used here')
    return []
  }
  const texts = text === '' ? [] : [text]
  return [
    compact({
      type: 'reasoning',
      id,
      summary: summary === true ? texts.map(one => ({ type: 'summary_text', text: one })) : [],
      content: summary === true || text === '' ? undefined : texts.map(one => ({ type: 'reasoning_text', text: one })),
      encrypted_content: wrapSeal(seal, PROTOCOL),
    }),
  ]
}

function writeCall(part: CallPart): JsonObject {
  const { id: call_id, name, item } = part
  const id = item?.startsWith('fc') === true || item?.startsWith('ctc') === true ? item : undefined
  if (part.custom === true) return compact({ type: 'custom_tool_call', id, call_id, name, input: part.arguments })
  const text = part.arguments.trim() === '' ? '{}' : part.arguments
  return compact({ type: 'function_call', id, call_id, name, arguments: text })
}

function writeResult(part: ResultPart, target: Target): JsonObject {
  if (part.error === true) target.lose('resultError', part.at)
  for (const { cache, at } of part.parts) if (cache !== undefined) target.lose('cacheMarks', at)
  const type = part.custom === true ? 'custom_tool_call_output' : 'function_call_output'
  const [only] = part.parts
  const head = part.error === true ? 'Error: ' : ''
  if (part.parts.length <= 1 && only?.type !== 'media') {
    return { type, call_id: part.id, output: head + (only?.text ?? '') }
  }
  const output = part.parts.flatMap(one => writeContent(one, target))
  return { type, call_id: part.id, output: head === '' ? output : [{ type: 'input_text', text: head }, ...output] }
}

function writeHosted(part: Extract<Part, { readonly type: 'hosted' }>, target: Target): JsonObject[] {
  if (part.of === PROTOCOL) return [part.value]
  target.lose('hostedParts', part.at)
  return []
}
