import type { AnswerContext, ModerateCodec, RequestHead } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { FieldMapping } from '../../core/fields.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Left, MediaPart, TextPart, TextRequest, TextResult } from '../../core/text.js'
import { decodeError } from '../compatible-errors.js'
import { sourceOfUrl } from '../media.js'
import { arrayOf, badUpstream, invalid, leaveOthers, numberOf, parseObject, Reader } from '../read.js'

import { CATEGORIES, instructions, judgements, memberOf } from './question.js'

/** Members of CreateModerationRequest. */
const MODERATIONS_FIELDS: Readonly<Record<string, FieldMapping>> = {
  model: { here: 'chooses the model' },
  input: 'turns',
  'input[].type': 'turns',
  'input[].text': 'turns',
  'input[].image_url': ['imageUrl', 'imageData'],
  'input[].image_url.url': ['imageUrl', 'imageData'],
}

/** What is judged together: a text, or texts and images. */
interface Input {
  readonly parts: readonly (TextPart | MediaPart)[]
}

/** A request for moderation as a question to a model of texts, its answer in the form of a declared schema. */
function decodeRequest(value: JsonObject, head: RequestHead): TextRequest {
  const inputs = readInputs(value)
  const left: Left[] = []
  leaveOthers(new Reader(value), new Set(['model', 'input']), left)
  return {
    model: head.model,
    stream: false,
    streamUsage: false,
    system: [{ type: 'text', text: instructions(inputs.length) }],
    turns: [{ role: 'user', parts: inputs.flatMap(({ parts }) => parts.map(quoted)) }],
    tools: [],
    format: { type: 'schema', schema: judgements(inputs.length), name: 'moderation', strict: true },
    left,
  }
}

function quoted(part: TextPart | MediaPart): TextPart | MediaPart {
  return part.type === 'text' ? { ...part, text: `${JSON.stringify(part.text)}\n` } : part
}

/** `input`: a text, texts that are judged one by one, or parts that are judged together. */
function readInputs(value: JsonObject): readonly Input[] {
  const body = new Reader(value)
  const input = body.raw('input')
  if (typeof input === 'string') return [ofText(input, 'input')]
  if (!Array.isArray(input) || input.length === 0) throw invalid('input', 'expected a string, strings or parts')
  const list = input as readonly Json[]
  if (list.every(one => typeof one === 'string')) return list.map((one, i) => ofText(one, `input[${i}]`))
  return [{ parts: (body.objects('input') ?? []).map(readPart) }]
}

function ofText(text: string, at: string): Input {
  return { parts: [{ type: 'text', text, at }] }
}

function readPart(part: Reader): TextPart | MediaPart {
  const type = part.required('type')
  if (type === 'text') return { type: 'text', text: part.required('text'), at: part.at }
  if (type !== 'image_url') throw invalid(part.path('type'), "expected 'text' or 'image_url'")
  const image = part.raw('image_url')
  const url = typeof image === 'string' ? image : part.object('image_url')?.required('url')
  if (url === undefined) throw invalid(part.path('image_url'), 'it is required')
  return { type: 'media', kind: 'image', ...sourceOfUrl(url), at: part.at }
}

/** From this score on a category counts as found. */
const FLAG_THRESHOLD = 0.5

/** Categories that the protocol supports for images; the others are for texts only. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['sexual', 'self-harm', 'self-harm/intent', 'self-harm/instructions', 'violence', 'violence/graphic'],
])

/**
 * What a model of texts answered as CreateModerationResponse. Throws `bad_upstream_response` where it is not a judgement of
 * every input: nothing passes as harmless because no one judged it.
 */
function encodeResult(result: TextResult, { request, body, newId }: AnswerContext): JsonObject {
  const inputs = readInputs(body)
  const text = (result.candidates[0]?.parts ?? []).map(part => (part.type === 'text' ? part.text : '')).join('')
  const judged = arrayOf(parseObject(text)?.results)
  if (judged.length !== inputs.length) throw badUpstream('The model did not judge every input.')
  return {
    id: newId('modr-'),
    model: request.model,
    results: inputs.map((input, i) => {
      const one = judged[i]
      return judgement(isObject(one) ? one : {}, input)
    }),
  }
}

function judgement(judged: JsonObject, { parts }: Input): JsonObject {
  const scores = CATEGORIES.map(category => [category, scoreOf(judged, category)] as const)
  const types = [...new Set(parts.map(({ type }) => (type === 'text' ? 'text' : 'image')))]
  return {
    flagged: scores.some(([, score]) => score >= FLAG_THRESHOLD),
    categories: Object.fromEntries(scores.map(([category, score]) => [category, score >= FLAG_THRESHOLD])),
    category_scores: Object.fromEntries(scores),
    category_applied_input_types: Object.fromEntries(
      CATEGORIES.map(category => [category, types.filter(type => type === 'text' || SHOWN.has(category))]),
    ),
  }
}

/** Not every protocol holds a model to the bounds of numbers: what lies beyond them stands for the bound. */
function scoreOf(judged: JsonObject, category: string): number {
  const name = memberOf(category)
  const score = Object.hasOwn(judged, name) ? numberOf(judged[name]) : undefined
  if (score === undefined) throw badUpstream(`The model gave no score of ${category}.`)
  return Math.min(1, Math.max(0, score))
}

/**
 * Moderations: `POST …/moderations`. Upstreams that speak it are relayed to; models of texts that are said to judge are
 * asked by their own protocol.
 */
export const moderations: ModerateCodec = {
  operation: 'moderate',
  protocol: 'moderations',
  server: { decodeRequest, encodeResult, encodeStream: never, fields: MODERATIONS_FIELDS, returnsSeals: true },
  client: { encodeRequest: never, decodeResult: never, decodeError, carries: {} },
}

function never(): never {
  throw new GatewayError('internal', 'Moderations are relayed or answered by a text model, and never streamed.')
}
