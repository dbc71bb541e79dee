import type { RequestHead, Target } from '../../core/codec.js'
import type { EmbedField, EmbedInput, EmbedRequest } from '../../core/embed.js'
import { GatewayError } from '../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Left, MediaPart, TextPart } from '../../core/text.js'
import { sourceOfUrl } from '../data-url.js'
import { compact, invalid, Reader } from '../read.js'
import { EMBEDDINGS_FIELDS } from './fields.js'

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
    inputs: readInputs(body),
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
  if (task === undefined) left.push({ field, why: 'no such use of vectors is known' })
  return task
}

/** `input`: a text, texts, the tokens of one text or of several, or objects with text and media. */
function readInputs(body: Reader): readonly EmbedInput[] {
  const input = body.raw('input')
  if (input === undefined) throw invalid('input', 'it is required')
  if (!Array.isArray(input)) return [readInput(input, 'input')]
  if (input.length === 0) throw invalid('input', 'expected at least one input')
  if (input.every(one => typeof one === 'number')) return [{ tokens: readTokens(input, 'input'), at: 'input' }]
  return input.map((one: Json, i) => readInput(one, `input[${i}]`))
}

function readInput(value: Json, at: string): EmbedInput {
  if (typeof value === 'string') return { parts: [{ type: 'text', text: value, at }], at }
  if (Array.isArray(value)) return { tokens: readTokens(value, at), at }
  if (!isObject(value)) throw invalid(at, 'expected a text, tokens or an object')
  const content = value.content ?? [value]
  if (typeof content === 'string') return { parts: [{ type: 'text', text: content, at }], at }
  if (!Array.isArray(content)) throw invalid(`${at}.content`, 'expected an array of parts')
  return {
    parts: content.map((part: Json, i) => readPart(part, value.content === undefined ? at : `${at}.content[${i}]`)),
    at,
  }
}

function readTokens(values: readonly Json[], at: string): readonly number[] {
  return values.map((token, i) => {
    if (typeof token !== 'number' || !Number.isSafeInteger(token)) throw invalid(`${at}[${i}]`, 'expected a token')
    return token
  })
}

/** `{text}` or `{image}`, or a part of the form `{type, …}`. */
function readPart(value: Json, at: string): TextPart | MediaPart {
  if (typeof value === 'string') return { type: 'text', text: value, at }
  if (!isObject(value)) throw invalid(at, 'expected an object')
  const part = new Reader(value, at)
  if (part.has('text')) return { type: 'text', text: part.required('text'), at }
  for (const name of ['image', 'image_url', 'image_base64']) {
    if (!part.has(name)) continue
    const url = isObject(part.raw(name)) ? part.object(name)?.required('url') : part.string(name)
    if (url !== undefined) return { ...readImage(url), at }
  }
  throw invalid(at, "expected 'text' or 'image'")
}

/** An address, a `data:` URL, or bare base64. */
function readImage(image: string): MediaPart {
  const isUrl = /^(https?|data):/i.test(image)
  return { type: 'media', kind: 'image', ...(isUrl ? sourceOfUrl(image) : { source: { base64: image } }) }
}

/** A canonical request in the words of the compatible protocol. Vectors are asked for as numbers. */
export function encodeRequest(request: EmbedRequest, target: Target<EmbedField>): JsonObject {
  if (request.task !== undefined) target.lose('task')
  if (request.title !== undefined) target.lose('title')
  return compact({
    model: target.model,
    input: writeInputs(request.inputs, target),
    encoding_format: 'float',
    dimensions: request.dimensions,
    user: request.user,
  })
}

function writeInputs(inputs: readonly EmbedInput[], target: Target<EmbedField>): Json {
  const tokens = inputs.some(input => 'tokens' in input)
  if (tokens && !inputs.every(input => 'tokens' in input)) {
    throw new GatewayError('untranslatable', 'Texts and tokens cannot stand in one request.', { param: 'input' })
  }
  return inputs.map(input => ('tokens' in input ? input.tokens : writeText(input.parts, target)))
}

function writeText(parts: readonly (TextPart | MediaPart)[], target: Target<EmbedField>): string {
  const texts: string[] = []
  for (const part of parts) {
    if (part.type === 'text') texts.push(part.text)
    else target.lose('mediaInputs', part.at)
  }
  return texts.join('\n')
}
