import type { RequestHead, Target } from '../../core/codec.js'
import type { EmbedField, EmbedInput, EmbedRequest } from '../../core/embed.js'
import { GatewayError } from '../../core/errors.js'
import type { Carry, FieldMapping } from '../../core/fields.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Left, MediaPart, TextPart } from '../../core/text.js'
import { sourceOfUrl, urlOf } from '../media.js'
import { sniffed } from '../native-media.js'
import { compact, invalid, leaveOthers, Reader } from '../read.js'

import { holdsMedia, NOT_DECLARED } from '../vectors.js'

/** Members of a request, by the protocol's reference (CreateEmbeddingRequest), and what compatible clients add. */
export const EMBEDDINGS_FIELDS: Readonly<Record<string, FieldMapping<EmbedField>>> = {
  model: { here: 'chooses the model' },
  input: ['inputs', 'tokenInputs', 'mediaInputs'],
  encoding_format: 'encoding',
  dimensions: 'dimensions',
  output_dimension: 'dimensions',
  task: 'task',
  input_type: 'task',
  user: 'user',
}

export const EMBEDDINGS_CARRIES: Readonly<Record<EmbedField, Carry>> = {
  inputs: 'carried',
  tokenInputs: 'carried',
  mediaInputs: NOT_DECLARED,
  dimensions: 'carried',
  encoding: 'carried',
  task: { dropped: 'the protocol has no such member' },
  title: { dropped: 'the protocol has no such member' },
  user: 'carried',
}

/** A request of the compatible protocol (CreateEmbeddingRequest) in canonical form. */
export function decodeRequest(value: JsonObject, head: RequestHead): EmbedRequest {
  const body = new Reader(value)
  const left: Left[] = []
  for (const field of Object.keys(value)) {
    const known = Object.hasOwn(EMBEDDINGS_FIELDS, field)
    if (!known && body.has(field)) left.push({ field, why: 'the protocol has no such member' })
  }
  const dimensions = body.number('dimensions') ?? body.number('output_dimension')
  const task = readTask(body, left)
  const user = body.string('user')
  return {
    model: head.model,
    inputs: readInputs(body, left),
    encoding: readEncoding(body),
    ...(dimensions !== undefined && { dimensions }),
    ...(task !== undefined && { task }),
    ...(user !== undefined && { user }),
    left,
  }
}

function readEncoding(body: Reader): 'float' | 'base64' {
  const encoding = body.string('encoding_format') ?? 'float'
  if (encoding === 'float' || encoding === 'base64') return encoding
  throw invalid('encoding_format', "expected 'float' or 'base64'")
}

/** Words of compatible servers for what vectors are for. */
const TASKS: Readonly<Record<string, string>> = {
  query: 'RETRIEVAL_QUERY',
  search_query: 'RETRIEVAL_QUERY',
  'retrieval.query': 'RETRIEVAL_QUERY',
  document: 'RETRIEVAL_DOCUMENT',
  search_document: 'RETRIEVAL_DOCUMENT',
  'retrieval.passage': 'RETRIEVAL_DOCUMENT',
  'text-matching': 'SEMANTIC_SIMILARITY',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
  separation: 'CLUSTERING',
}

function readTask(body: Reader, left: Left[]): string | undefined {
  const field = body.has('task') ? 'task' : 'input_type'
  const word = body.string(field)
  if (word === undefined) return undefined
  const task = Object.hasOwn(TASKS, word) ? TASKS[word] : undefined
  if (task === undefined) left.push({ field, why: 'unknown use of the vectors' })
  return task
}

/** `input`: a text, texts, the tokens of one text or of several, or objects with text and media. */
function readInputs(body: Reader, left: Left[]): readonly EmbedInput[] {
  const input = body.raw('input')
  if (input === undefined) throw invalid('input', 'it is required')
  if (!Array.isArray(input)) return [readInput(input, 'input', left)]
  if (input.length === 0) throw invalid('input', 'expected at least one input')
  if (input.every(one => typeof one === 'number')) return [{ tokens: readTokens(input, 'input'), at: 'input' }]
  return input.map((one: Json, i) => readInput(one, `input[${i}]`, left))
}

function readInput(value: Json, at: string, left: Left[]): EmbedInput {
  if (typeof value === 'string') return { parts: [{ type: 'text', text: value, at }], at }
  if (Array.isArray(value)) return { tokens: readTokens(value, at), at }
  if (!isObject(value)) throw invalid(at, 'expected a string, tokens or an object')
  const content = value.content ?? [value]
  if (typeof content === 'string') return { parts: [{ type: 'text', text: content, at }], at }
  if (!Array.isArray(content)) throw invalid(`${at}.content`, 'expected an array of parts')
  return {
    parts: content.flatMap((part: Json, i) => {
      return readParts(part, content === value.content ? `${at}.content[${i}]` : at, left)
    }),
    at,
  }
}

function readTokens(values: readonly Json[], at: string): readonly number[] {
  return values.map((token, i) => {
    if (typeof token !== 'number' || !Number.isSafeInteger(token)) throw invalid(`${at}[${i}]`, 'expected a token')
    return token
  })
}

/** Names of images, and what they are said to be. */
const IMAGES = ['image', 'image_url', 'image_base64']
const MEMBERS = new Set(['type', 'text', 'content', ...IMAGES])

/** `{text}`, `{image}` or both, or a part of the form `{type, …}`. */
function readParts(value: Json, at: string, left: Left[]): (TextPart | MediaPart)[] {
  if (typeof value === 'string') return [{ type: 'text', text: value, at }]
  if (!isObject(value)) throw invalid(at, 'expected an object')
  const part = new Reader(value, at)
  leaveOthers(part, MEMBERS, left)
  const text = part.string('text')
  const parts: (TextPart | MediaPart)[] = text === undefined ? [] : [{ type: 'text', text, at }]
  for (const name of IMAGES) {
    const url = isObject(part.raw(name)) ? part.object(name)?.required('url') : part.string(name)
    if (url !== undefined) parts.push({ ...readImage(url, part.path(name)), at })
  }
  if (parts.length === 0) throw invalid(at, "expected 'text' or 'image'")
  return parts
}

/** An address, a `data:` URL, or bare base64. */
function readImage(image: string, at: string): MediaPart {
  const isUrl = /^(https?|data):/i.test(image)
  // An address of another kind is not base64 either: a look at its beginning is enough to tell.
  if (!isUrl && !/^[\w+/=-]+$/.test(image.slice(0, 64))) throw invalid(at, 'expected a URL or base64')
  return { type: 'media', kind: 'image', ...(isUrl ? sourceOfUrl(image) : { source: { base64: image } }) }
}

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
