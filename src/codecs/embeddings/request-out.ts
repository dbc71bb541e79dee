import type { Target } from '../../core/codec.js'
import type { EmbedField, EmbedInput, EmbedRequest } from '../../core/embed.js'
import { GatewayError } from '../../core/errors.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { MediaPart, TextPart } from '../../core/text.js'
import { urlOf } from '../data-url.js'
import { holdsMedia } from '../embed-media.js'
import { sniffed } from '../native-media.js'
import { compact } from '../read.js'

type EmbedTarget = Target<EmbedField>
type Parts = readonly (TextPart | MediaPart)[]

/** A canonical request in the words of the compatible protocol. Vectors are asked for as numbers. */
export function encodeRequest(request: EmbedRequest, target: EmbedTarget): JsonObject {
  const task = taskOf(request, target)
  if (request.title !== undefined) target.lose('title')
  return compact({
    model: target.model,
    input: writeInputs(request.inputs, target),
    encoding_format: 'float',
    dimensions: request.dimensions,
    user: request.user,
    ...task,
  })
}

/** In the upstream's own word, where it is declared. */
function taskOf({ task }: EmbedRequest, target: EmbedTarget): JsonObject {
  if (task === undefined) return {}
  const { field, words = {} } = target.traits.embedding_tasks ?? {}
  const word = Object.hasOwn(words, task) ? words[task] : undefined
  if (field !== undefined && word !== undefined) return { [field]: word }
  target.lose('task')
  return {}
}

/** Texts stay strings unless there are images beside them. */
function writeInputs(inputs: readonly EmbedInput[], target: EmbedTarget): Json {
  const tokens = inputs.some(input => 'tokens' in input)
  if (tokens && !inputs.every(input => 'tokens' in input)) {
    throw new GatewayError('untranslatable', 'Texts and tokens cannot be mixed in one request.', { param: 'input' })
  }
  const form = inputs.some(holdsMedia) ? target.traits.image_inputs : undefined
  return inputs.map(input => {
    if ('tokens' in input) return input.tokens
    if (form === 'parts') return { content: input.parts.map(part => writePart(part, target)) }
    return form === 'objects' ? writeObject(input.parts, input.at, target) : writeText(input.parts, target)
  })
}

function writeText(parts: Parts, target: EmbedTarget): string {
  const texts: string[] = []
  for (const part of parts) {
    if (part.type === 'text') texts.push(part.text)
    else target.lose('mediaInputs', part.at)
  }
  return texts.join('\n')
}

/** `{text}` or `{image}`: one thing a vector. */
function writeObject(parts: Parts, at: string | undefined, target: EmbedTarget): JsonObject {
  const [first, ...others] = parts
  const isAlone = others.length === 0 && first?.type === 'media'
  if (!isAlone && parts.some(({ type }) => type === 'media')) {
    target.lose('mediaInputs', at, 'an input of its model is a text or an image, not both')
  }
  if (first?.type !== 'media') return { text: writeText(parts, target) }
  const { source } = first
  return { image: 'base64' in source ? source.base64 : imageUrl(first, target) }
}

function writePart(part: TextPart | MediaPart, target: EmbedTarget): JsonObject {
  if (part.type === 'text') return { type: 'text', text: part.text }
  return { type: 'image_url', image_url: { url: imageUrl(part, target) } }
}

function imageUrl(part: MediaPart, target: EmbedTarget): string {
  const mime = 'base64' in part.source ? sniffed(part.kind, part.source.base64) : undefined
  const url = part.kind === 'image' ? urlOf(part, mime) : undefined
  if (url === undefined) target.lose('mediaInputs', part.at, 'the only media it embeds are images')
  return url ?? ''
}
