import type { Target } from '../../core/codec.js'
import { Glob } from '../../core/glob.js'
import type { JsonObject } from '../../core/json.js'
import type { CallPart, Part, ReasoningPart, ResultPart, TextPart, Tool } from '../../core/text.js'
import { encodeCallId, inputOf, refuse } from '../messages/names.js'
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
      return isBlank(part.text) ? [] : marked({ text: part.text }, part, target)
    case 'media':
      return marked(encodeMedia(part, names, target), part, target)
    case 'reasoning':
      return encodeThought(part, target)
    case 'call':
      return marked(encodeCall(part, target), part, target)
    case 'result':
      return marked(encodeResult(part, names, target), part, target)
    case 'hosted':
      if (part.of === PROTOCOL) return [part.value]
      target.lose('hostedParts', part.at)
      return []
  }
}

/** The service refuses blocks without a visible character. */
export function encodeText(part: TextPart, target: Target): readonly JsonObject[] {
  const { text, citations, at } = part
  if (isBlank(text)) return []
  const own = (citations ?? []).flatMap(({ own }) => (own?.of === PROTOCOL ? [own.value] : []))
  if (own.length < (citations ?? []).length) target.lose('turns', at, 'citations of another protocol have no place')
  const block = own.length === 0 ? { text } : { citationsContent: { content: [{ text }], citations: own } }
  return marked(block, part, target)
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
    if (part.kind === 'audio') throw refuse(part.at, 'it accepts no audio in results')
    if (part.cite === true) target.lose('cite', part.at, 'documents in results are not cited')
    return encodeMedia({ ...part, cite: false }, names, target)
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

/** A mark is a block of its own, behind what it marks. A model that caches no prompts refuses a request with one. */
export function marked(block: JsonObject, { cache, at, type }: Part | Tool, target: Target): readonly JsonObject[] {
  if (cache === undefined) return [block]
  const caches = cachesOf(target)
  if (caches === true || (caches === 'text' && type === 'text')) {
    return [block, { cachePoint: { type: 'default', ...cache } }]
  }
  target.lose('cacheMarks', at, `the model takes ${caches === 'text' ? 'marks only behind text' : 'no marks'}`)
  return [block]
}

function cachesOf({ model, traits: { prompt_cache: declared = true } }: Target): boolean | 'text' {
  if (typeof declared !== 'object') return declared
  return Object.entries(declared).find(([pattern]) => new Glob(pattern).matches(model))?.[1] ?? false
}

function isBlank(text: string): boolean {
  return text.trim() === ''
}
