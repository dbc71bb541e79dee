import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { describe, Fields } from '../../families/fields.js'
import { modelOf, type Prompt, readPrompts } from '../../families/options.js'
import { emptyArray, missing, wrongType, wrongValue } from '../../families/refusals.js'
import { IMAGE_TOKENS, wordsIn } from '../../image/measure.js'
import { isObject, type Json } from '../../json.js'
import { endpoint, json } from '../../protocol.js'
import { countTokens } from '../../text/tokens.js'
import { spoiled } from '../../text/usage.js'

const DEFAULT_DIMENSIONS = 256
const MAX_DIMENSIONS = 4096
const MAX_INPUTS = 2048
const MAX_INPUT_TOKENS = 8192
/** The purpose of vectors, as two families of servers name it. */
const INPUT_TYPES = ['query', 'document']
const TASKS = ['retrieval.query', 'retrieval.passage', 'text-matching', 'classification']

export const embeddings = endpoint(
  compatible,
  'POST /v1/embeddings',
  { body: 'json', models: ['sim-embed'] },
  ({ body: object, faults }) => {
    const body = new Fields(object)
    const model = modelOf(body)
    const inputs = checked(body)
    body.oneOf('input_type', INPUT_TYPES)
    body.oneOf('task', TASKS)
    const dimensions = dimensionsOf(body)
    const write = body.oneOf('encoding_format', ['float', 'base64']) === 'base64' ? base64 : numbers
    const tokens = inputs.reduce((sum, input) => sum + input.tokens, 0)
    const data = inputs.map(({ prompt }, index) => ({
      object: 'embedding',
      index,
      embedding: write(typeof prompt === 'string' ? embedText(prompt, dimensions) : embedTokens(prompt, dimensions)),
    }))
    return json({
      object: 'list',
      data,
      model,
      usage: spoiled({ prompt_tokens: tokens, total_tokens: tokens }, faults),
    })
  },
)

function checked(body: Fields): readonly Input[] {
  const inputs = readInputs(body)
  if (inputs === undefined) throw missing('input')
  if (inputs.length === 0) throw emptyArray('input')
  if (inputs.length > MAX_INPUTS) throw refused(`'input' may have at most ${MAX_INPUTS} items, not ${inputs.length}.`)
  if (inputs.some(({ prompt }) => prompt.length === 0)) throw refused("'input' cannot be an empty string.")
  const longest = Math.max(...inputs.map(({ tokens }) => tokens))
  if (longest <= MAX_INPUT_TOKENS) return inputs
  throw refused(
    `This model's maximum context length is ${MAX_INPUT_TOKENS} tokens, however you requested ${longest} tokens.`,
  )
}

/** The words of this refusal are the family's own. */
function dimensionsOf(body: Fields): number {
  const dimensions = body.integer('dimensions') ?? DEFAULT_DIMENSIONS
  if (dimensions < 1) throw new SimulatorError(400, `${dimensions} is less than the minimum of 1 - 'dimensions'`)
  if (dimensions <= MAX_DIMENSIONS) return dimensions
  throw new SimulatorError(400, `${dimensions} is more than the maximum of ${MAX_DIMENSIONS} - 'dimensions'`)
}

function numbers(vector: Float32Array): readonly number[] {
  return [...vector]
}

/** Little-endian float32 values on every machine. */
function base64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * 4)
  return bytes.toString('base64')
}

function refused(message: string): SimulatorError {
  return new SimulatorError(400, message, { param: 'input' })
}

/** What one vector is made of, and what it costs. */
interface Input {
  readonly prompt: Prompt
  readonly tokens: number
}

/** `input`: texts and tokens, or objects with texts and images, as servers of such models take them. */
function readInputs(body: Fields): readonly Input[] | undefined {
  const value = body.raw('input')
  if (!Array.isArray(value) || !value.some(isObject)) return readPrompts(body, 'input')?.map(plain)
  return value.map((one: Json, i) => (typeof one === 'string' ? plain(one) : readObject(one, `input[${i}]`)))
}

function plain(prompt: Prompt): Input {
  return { prompt, tokens: typeof prompt === 'string' ? countTokens(prompt) : prompt.length }
}

/** `{text}`, `{image}`, or parts of either in `{content}`. */
function readObject(value: Json, param: string): Input {
  if (!isObject(value)) throw wrongType(param, 'a string or an object', describe(value))
  const fields = new Fields(value, param)
  const parts = (fields.list('content') ?? [fields]).map(readPart)
  return {
    prompt: parts.map(part => part.prompt).join('\n'),
    tokens: parts.reduce((sum, part) => sum + part.tokens, 0),
  }
}

function readPart(part: Fields): Input {
  const text = part.string('text')
  if (text !== undefined) return plain(text)
  const name = part.raw('image') === undefined ? 'image_url' : 'image'
  const image = isObject(part.raw(name)) ? part.need(name, part.fields).string('url') : part.need(name, part.string)
  if (image !== undefined && !/^https?:/i.test(image)) {
    return {
      prompt: wordsIn(image.startsWith('data:') ? image.slice(image.indexOf(',') + 1) : image),
      tokens: IMAGE_TOKENS,
    }
  }
  throw wrongValue(part.param(name), `Invalid '${part.param(name)}': the simulator fetches nothing; send the bytes.`)
}

/**
 * Text embeddings by feature hashing (Weinberger et al., 2009): every word, every group of three letters within a word
 * and every token number is a feature; a hash gives it a place in the vector and a sign. Texts that share words, or
 * parts of words, are near one another; the vectors have length 1.
 */
const WORD = 1
const TRIGRAM = 0.6
const WORDS = /[\p{L}\p{N}]+/gu

/** The vector of a text. */
export function embedText(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (const [word] of text.normalize('NFKC').toLowerCase().matchAll(WORDS)) {
    add(vector, `word ${word}`, WORD)
    const padded = `^${word}$`
    for (let at = 0; at + 3 <= padded.length; at += 1) add(vector, `part ${padded.slice(at, at + 3)}`, TRIGRAM)
  }
  return normalised(vector, text)
}

/** The vector of a list of token numbers. */
function embedTokens(tokens: readonly number[], dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (const token of tokens) add(vector, `token ${token}`, WORD)
  return normalised(vector, tokens.join(' '))
}

function add(vector: Float32Array, feature: string, weight: number): void {
  const hash = fnv1a(feature)
  const place = hash % vector.length
  vector[place] = (vector[place] ?? 0) + (hash & 0x8000_0000 ? weight : -weight)
}

/** A text without a word, or whose features cancel out, still has a direction of its own. */
function normalised(vector: Float32Array, text: string): Float32Array {
  if (!vector.some(each => each !== 0)) vector[fnv1a(text) % vector.length] = 1
  const length = Math.hypot(...vector)
  return vector.map(each => each / length)
}

/** FNV-1a, 32 bits, mixed once more: its low bits alone are poor for short texts. */
function fnv1a(text: string): number {
  let hash = 0x811c_9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
