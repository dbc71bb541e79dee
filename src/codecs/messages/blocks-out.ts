import type { Target } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { CacheMark, CallPart, Part, ReasoningPart, ResultPart, TextPart } from '../../core/text.js'
import { encodeOwnCitation } from './citations.js'
import { encodeMedia } from './media-out.js'
import { encodeCallId, encodeToolName, inputOf, refuse } from './names.js'

const FOREIGN = 'its signature belongs to another protocol'

/** The block of a request that a part becomes; undefined where it is left out. */
export function encodePart(part: Part, target: Target): JsonObject | undefined {
  if (part.type !== 'reasoning' && part.seal !== undefined) target.lose('reasoningParts', part.at, FOREIGN)
  switch (part.type) {
    case 'text':
      return encodeText(part, target)
    case 'refusal':
      return isBlank(part.text) ? undefined : marked({ type: 'text', text: part.text }, part.cache)
    case 'media':
      return marked(encodeMedia(part, target), part.cache)
    case 'reasoning':
      return encodeThinking(part, target)
    case 'call':
      return marked(encodeCall(part, target), part.cache)
    case 'result':
      return marked(encodeResult(part, target), part.cache)
    case 'hosted':
      if (part.of === 'messages') return part.value
      target.lose('hostedParts', part.at)
      return undefined
  }
}

/** Instructions and texts: the service refuses blocks without a visible character. */
export function encodeText({ text, citations, cache, at }: TextPart, target: Target): JsonObject | undefined {
  if (isBlank(text)) return undefined
  const own = (citations ?? []).map(encodeOwnCitation)
  if (own.includes(undefined)) target.lose('turns', at, 'citations of another protocol have no place')
  const kept = own.filter(citation => citation !== undefined)
  return marked({ type: 'text', text, ...(kept.length > 0 && { citations: kept }) }, cache)
}

function encodeThinking({ text, seal, redacted, torn, at }: ReasoningPart, target: Target): JsonObject | undefined {
  if (seal?.by !== 'messages') {
    target.lose('reasoningParts', at, seal === undefined ? 'it has no signature' : FOREIGN)
    return undefined
  }
  if (torn === true) {
    target.lose('reasoningParts', at, 'its text came back changed')
    return undefined
  }
  if (redacted === true) return { type: 'redacted_thinking', data: seal.value }
  return { type: 'thinking', thinking: text, signature: seal.value }
}

function encodeCall({ id, name, arguments: text, custom, at }: CallPart, target: Target): JsonObject {
  const input = custom === true ? { input: text } : inputOf(text)
  if (input === undefined) target.lose('calls', at)
  return { type: 'tool_use', id: encodeCallId(id), name: toolName(name, custom, at), input: input ?? { _raw: text } }
}

/** Throws `untranslatable` for a name that is too long to be written in the characters that the service takes. */
export function toolName(name: string, custom: boolean | undefined, at: string | undefined): string {
  const wire = encodeToolName(name, custom)
  if (wire === undefined) throw refuse(at ?? 'tools', 'the name of the tool is too long')
  return wire
}

function encodeResult({ id, parts, error }: ResultPart, target: Target): JsonObject {
  const content: Json[] = []
  for (const part of parts) {
    const block = part.type === 'text' ? encodeText(part, target) : marked(encodeMedia(part, target), part.cache)
    if (block !== undefined) content.push(block)
  }
  return {
    type: 'tool_result',
    tool_use_id: encodeCallId(id),
    ...(content.length > 0 && { content }),
    ...(error === true && { is_error: true }),
  }
}

export function marked(block: JsonObject, cache: CacheMark | undefined): JsonObject {
  return cache === undefined ? block : { ...block, cache_control: { type: 'ephemeral', ...cache } }
}

function isBlank(text: string): boolean {
  return text.trim() === ''
}
