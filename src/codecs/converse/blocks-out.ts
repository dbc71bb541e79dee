import type { Target } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { CacheMark, CallPart, Part, ReasoningPart, ResultPart, TextPart } from '../../core/text.js'
import { encodeCallId, inputOf } from '../messages/names.js'
import { PROTOCOL } from './media-in.js'
import { type DocumentNames, encodeMedia } from './media-out.js'

const FOREIGN = 'its signature belongs to another protocol'

/** The blocks of a request that a part becomes: one, and a mark behind it; none where it is left out. */
export function encodePart(part: Part, names: DocumentNames, target: Target): readonly JsonObject[] {
  if (part.type !== 'reasoning' && part.seal !== undefined) target.lose('reasoningParts', part.at, FOREIGN)
  switch (part.type) {
    case 'text':
      return encodeText(part, target)
    case 'refusal':
      return isBlank(part.text) ? [] : marked({ text: part.text }, part.cache)
    case 'media':
      return marked(encodeMedia(part, names, target), part.cache)
    case 'reasoning':
      return encodeThought(part, target)
    case 'call':
      return marked(encodeCall(part, target), part.cache)
    case 'result':
      return marked(encodeResult(part, names, target), part.cache)
    case 'hosted':
      if (part.of === PROTOCOL) return [part.value]
      target.lose('hostedParts', part.at)
      return []
  }
}

/** The service refuses blocks without a visible character. */
export function encodeText({ text, citations, cache, at }: TextPart, target: Target): readonly JsonObject[] {
  if (isBlank(text)) return []
  const own = (citations ?? []).flatMap(({ own }) => (own?.of === PROTOCOL ? [own.value] : []))
  if (own.length < (citations ?? []).length) target.lose('turns', at, 'citations of another protocol have no place')
  const block = own.length === 0 ? { text } : { citationsContent: { content: [{ text }], citations: own } }
  return marked(block, cache)
}

function encodeThought({ text, seal, redacted, torn, at }: ReasoningPart, target: Target): readonly JsonObject[] {
  if (seal?.by !== PROTOCOL || torn === true) {
    const unsealed = torn === true ? 'its text came back changed' : FOREIGN
    target.lose('reasoningParts', at, seal === undefined ? 'it has no signature' : unsealed)
    return []
  }
  if (redacted === true) return [{ reasoningContent: { redactedContent: seal.value } }]
  return [{ reasoningContent: { reasoningText: { text, signature: seal.value } } }]
}

function encodeCall({ id, name, arguments: text, custom, at }: CallPart, target: Target): JsonObject {
  const input = custom === true ? { input: text } : inputOf(text)
  if (input === undefined) target.lose('calls', at, 'its arguments are not a JSON object, so they are in _raw')
  return { toolUse: { toolUseId: encodeCallId(id), name, input: input ?? { _raw: text } } }
}

function encodeResult({ id, parts, object, error }: ResultPart, names: DocumentNames, target: Target): JsonObject {
  const content = parts.map((part): JsonObject => {
    if (part.type === 'text') return { text: part.text }
    return encodeMedia(part, names, target)
  })
  const said = object !== undefined && parts.length <= 1 ? [{ json: object }] : content
  return {
    toolResult: {
      toolUseId: encodeCallId(id),
      content: said.length === 0 ? [{ text: '' }] : said,
      ...(error === true && { status: 'error' }),
    },
  }
}

/** A mark is a block of its own, behind what it marks. */
export function marked(block: JsonObject, cache: CacheMark | undefined): readonly JsonObject[] {
  return cache === undefined ? [block] : [block, { cachePoint: { type: 'default', ...cache } }]
}

function isBlank(text: string): boolean {
  return text.trim() === ''
}
