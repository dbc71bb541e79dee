import type { RequestHead } from '../../core/codec.js'
import type { FieldMapping } from '../../core/fields.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Left, MediaPart, TextPart, TextRequest } from '../../core/text.js'
import { sourceOfUrl } from '../data-url.js'
import { leaveOthers } from '../members.js'
import { invalid, Reader } from '../read.js'
import { instructions, judgements } from './question.js'

/** Members of CreateModerationRequest. */
export const MODERATIONS_FIELDS: Readonly<Record<string, FieldMapping>> = {
  model: { here: 'chooses the model' },
  input: 'turns',
  'input[].type': 'turns',
  'input[].text': 'turns',
  'input[].image_url': ['imageUrl', 'imageData'],
  'input[].image_url.url': ['imageUrl', 'imageData'],
}

/** What is judged together: a text, or texts and images. */
export interface Input {
  readonly parts: readonly (TextPart | MediaPart)[]
}

/** A request for moderation as a question to a model of texts, its answer in the form of a declared schema. */
export function decodeRequest(value: JsonObject, head: RequestHead): TextRequest {
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
export function readInputs(value: JsonObject): readonly Input[] {
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
