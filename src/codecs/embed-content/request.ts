import type { RequestHead, Target } from '../../core/codec.js'
import type { EmbedField, EmbedInput, EmbedRequest } from '../../core/embed.js'
import { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import type { Left, MediaPart, TextPart } from '../../core/text.js'
import { child, children, readerOf, whole } from '../native-casing.js'
import { fileMedia, inlineMedia, mediaData } from '../native-media.js'
import { compact, given, invalid, leaveOthers, type Reader } from '../read.js'

import { isDeclared } from '../vectors.js'

const MEMBERS = new Set(['model', 'content', 'taskType', 'title', 'outputDimensionality', 'embedContentConfig'])
const CONFIG_MEMBERS = new Set(['taskType', 'title', 'outputDimensionality'])

/** EmbedContentRequest, in camelCase or snake_case, in canonical form. */
export function decodeSingle(value: JsonObject, head: RequestHead): EmbedRequest {
  const left: Left[] = []
  const { input, options } = readOne(readerOf(value, ''), left)
  return { model: head.model, inputs: [input], encoding: 'float', ...options, left }
}

/**
 * BatchEmbedContentsRequest in canonical form. Its requests may differ in all that they say, but here only in what they
 * embed: dimensions and tasks that differ are refused, titles that differ are left.
 */
export function decodeBatch(value: JsonObject, head: RequestHead): EmbedRequest {
  const left: Left[] = []
  const body = readerOf(value, '')
  leaveOthers(body, new Set(['model', 'requests']), left)
  const requests = children(body, 'requests').map(request => readOne(request, left))
  const [first] = requests
  if (first === undefined) throw invalid('requests', 'expected at least one request')
  const { title, ...options } = first.options
  for (const [i, other] of requests.entries()) {
    alike('taskType', options.task, other.options.task, i)
    alike('outputDimensionality', options.dimensions, other.options.dimensions, i)
  }
  const oneTitle = requests.every(request => request.options.title === title)
  if (!oneTitle) left.push({ field: 'requests[].title', why: 'the titles differ' })
  return {
    model: head.model,
    inputs: requests.map(({ input }) => input),
    encoding: 'float',
    ...options,
    ...(oneTitle && title !== undefined && { title }),
    left,
  }
}

function alike(name: string, first: string | number | undefined, other: string | number | undefined, i: number): void {
  if (first === other) return
  const param = `requests[${i}].${name}`
  const message = `The model speaks another protocol, where all inputs of a request share one '${name}'.`
  throw new GatewayError('untranslatable', message, { param })
}

interface Options {
  readonly task?: string
  readonly title?: string
  readonly dimensions?: number
}

function readOne(request: Reader, left: Left[]): { readonly input: EmbedInput; readonly options: Options } {
  leaveOthers(request, MEMBERS, left)
  const config = child(request, 'embedContentConfig')
  if (config !== undefined) leaveOthers(config, CONFIG_MEMBERS, left)
  const task = config?.string('taskType') ?? request.string('taskType')
  const options = given({
    task: task === 'TASK_TYPE_UNSPECIFIED' ? undefined : task,
    title: config?.string('title') ?? request.string('title'),
    dimensions:
      (config === undefined ? undefined : whole(config, 'outputDimensionality')) ??
      whole(request, 'outputDimensionality'),
  })
  return { input: { parts: readContent(request, left), at: request.path('content') }, options }
}

function readContent(request: Reader, left: Left[]): readonly (TextPart | MediaPart)[] {
  const at = request.path('content')
  const raw = request.raw('content')
  if (typeof raw === 'string') return [{ type: 'text', text: raw, at }]
  const content = child(request, 'content')
  if (content === undefined) throw invalid(at, 'it is required')
  const parts = children(content, 'parts').map(part => readPart(part, left))
  if (parts.length === 0) throw invalid(content.path('parts'), 'expected at least one part')
  return parts
}

function readPart(part: Reader, left: Left[]): TextPart | MediaPart {
  leaveOthers(part, new Set(['text', 'inlineData', 'fileData']), left)
  const { at } = part
  if (part.has('text')) return { type: 'text', text: part.required('text'), at }
  const data = child(part, 'inlineData')
  if (data !== undefined) return { ...inlineMedia(data.required('data'), data.string('mimeType')), at }
  const file = child(part, 'fileData')
  if (file !== undefined) return { ...fileMedia(file.required('fileUri'), file.string('mimeType')), at }
  throw invalid(at, "expected 'text', 'inlineData' or 'fileData'")
}

/** A canonical request as EmbedContentRequest, which holds one input. */
export function encodeSingle(request: EmbedRequest, target: Target<EmbedField>): JsonObject {
  const [input, ...others] = request.inputs
  if (input === undefined || others.length > 0) {
    const at = others[0]?.at
    const message = "The model's upstream speaks another protocol, which embeds one input at a time."
    throw new GatewayError('untranslatable', message, at === undefined ? {} : { param: at })
  }
  if (request.user !== undefined) target.lose('user')
  return writeOne(input, request, target)
}

/** A canonical request as BatchEmbedContentsRequest. */
export function encodeBatch(request: EmbedRequest, target: Target<EmbedField>): JsonObject {
  if (request.user !== undefined) target.lose('user')
  return { requests: request.inputs.map(input => writeOne(input, request, target)) }
}

function writeOne(input: EmbedInput, request: EmbedRequest, target: Target<EmbedField>): JsonObject {
  return compact({
    model: target.model.includes('/') ? target.model : `models/${target.model}`,
    content: { parts: writeParts(input, target) },
    taskType: request.task,
    title: request.title,
    outputDimensionality: request.dimensions,
  })
}

function writeParts(input: EmbedInput, target: Target<EmbedField>): readonly JsonObject[] {
  if ('tokens' in input) {
    target.lose('tokenInputs', input.at)
    return []
  }
  return input.parts.map(part => {
    if (part.type === 'text') return { text: part.text }
    if (!isDeclared(target.traits)) target.lose('mediaInputs', part.at)
    const data = mediaData(part)
    if (data !== undefined) return data
    throw new GatewayError('untranslatable', 'The upstream cannot use a file id of another protocol.', {
      param: part.at,
    })
  })
}
