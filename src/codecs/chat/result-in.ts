import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type {
  CallPart,
  Candidate,
  Citation,
  MediaPart,
  Part,
  ReasoningPart,
  TextPart,
  TextResult,
  TokenLogprob,
} from '../../core/text.js'
import { errorInside } from '../compatible-errors.js'
import { sourceOfUrl } from '../data-url.js'
import { readLogprobs } from '../logprobs.js'
import { MadeIds } from '../made-ids.js'
import { given } from '../members.js'
import { arrayOf, badUpstream, numberOf, objectOf, stringOf } from '../read.js'
import { readAnnotations, readSources } from './annotations.js'
import { thoughtsOf } from './content-in.js'
import { readEnd } from './finish.js'
import { MEMBER_SEALS, PROTOCOL, sealOfExtra, thoughtsOfMessage } from './reasoning.js'
import { readUsage } from './usage.js'

/** Most choices of one answer; the protocol allows 128. */
export const MAX_CHOICES = 128

/** An answer (CreateChatCompletionResponse) in canonical form. Throws `bad_upstream_response`, or what the upstream says. */
export function decodeResult(body: Json): TextResult {
  try {
    return readResult(body)
  } catch (error) {
    throw asGatewayError(error)
  }
}

/** Every failure in reading is the document's fault: nested too deep to be written again, for one. */
export function asGatewayError(error: unknown): GatewayError {
  return error instanceof GatewayError ? error : badUpstream('It cannot be read.')
}

function readResult(body: Json): TextResult {
  if (!isObject(body)) throw badUpstream('It is not an object.')
  if (body.error !== undefined && body.error !== null) throw errorInside(body, 'content')
  const choices = arrayOf(body.choices).filter(isObject)
  if (choices.length === 0 || choices.length > MAX_CHOICES) throw badUpstream('It has no choices, or too many.')
  const id = stringOf(body.id) ?? ''
  const ids = new MadeIds(id)
  const inOrder = choices
    .map((choice, i) => ({ choice, index: numberOf(choice.index) ?? i }))
    .sort((a, b) => a.index - b.index)
  return {
    id,
    model: stringOf(body.model) ?? '',
    candidates: inOrder.map(({ choice }, i) => readChoice(choice, i, body, ids)),
    ...given({
      created: numberOf(body.created),
      usage: readUsage(body.usage),
      serviceTier: stringOf(body.service_tier),
    }),
  }
}

function readChoice(choice: JsonObject, index: number, body: JsonObject, ids: MadeIds): Candidate {
  if (choice.finish_reason === 'error' || isObject(choice.error)) {
    throw errorInside(isObject(choice.error) ? choice : body, 'content')
  }
  // Where a filter stopped the answer before it began there may be no message.
  const message = objectOf(choice.message) ?? (choice.finish_reason === 'content_filter' ? {} : undefined)
  if (message === undefined) throw badUpstream('A choice has no message.')
  const annotations = readAnnotations(message.annotations)
  const citations = annotations.length > 0 ? annotations : readSources(body)
  const parts: Part[] = [
    ...readReasoning(message),
    ...readContent(message, citations, readLogprobs(objectOf(choice.logprobs)?.content)),
    ...readRefusal(message),
    ...readImages(message.images),
    ...readAudio(message),
    ...readCalls(message, index, ids),
  ]
  const holds = { calls: parts.some(isCall), refusal: parts.some(({ type }) => type === 'refusal') }
  return { parts, end: readEnd(choice.finish_reason, holds, choice.stop_reason) }
}

function isCall({ type }: Part): boolean {
  return type === 'call'
}

function readReasoning(message: JsonObject): ReasoningPart[] {
  const member = stringOf(message.reasoning_content) ? 'reasoning_content' : 'reasoning'
  const text = stringOf(message[member]) ?? ''
  return thoughtsOfMessage(text, arrayOf(message.reasoning_details), { seal: MEMBER_SEALS[member] })
}

/** `content` as a string, or, at some servers, an array with thoughts and pictures among the text. */
function readContent(
  message: JsonObject,
  citations: readonly Citation[],
  logprobs: TokenLogprob[] | undefined,
): Part[] {
  const { content } = message
  const parts = typeof content === 'string' ? [textOf(content)] : arrayOf(content).flatMap(readContentPart)
  const said = parts.filter(part => part.type !== 'text' || part.text !== '')
  const seal = sealOfExtra(message.extra_content)
  if ((seal !== undefined || citations.length > 0) && !said.some(({ type }) => type === 'text')) said.push(textOf(''))
  const last = said.findLastIndex(({ type }) => type === 'text')
  return said.map((part, i) => {
    if (i !== last) return part
    return {
      ...part,
      ...(citations.length > 0 && { citations }),
      ...(logprobs !== undefined && { logprobs }),
      ...(seal !== undefined && { seal }),
    }
  })
}

function textOf(text: string): TextPart {
  return { type: 'text', text }
}

function readContentPart(part: Json): Part[] {
  if (!isObject(part)) return []
  switch (part.type) {
    case 'text':
    case 'output_text':
      return typeof part.text === 'string' ? [textOf(part.text)] : []
    case 'thinking':
      return [{ type: 'reasoning', text: thoughtsOf(part.thinking), seal: MEMBER_SEALS.thinking }]
    case 'refusal':
      return typeof part.refusal === 'string' ? [{ type: 'refusal', text: part.refusal }] : []
    case 'image_url':
      return readImages([part])
    default:
      return []
  }
}

function readRefusal({ refusal }: JsonObject): Part[] {
  return typeof refusal === 'string' && refusal !== '' ? [{ type: 'refusal', text: refusal }] : []
}

/** `images: [{type: image_url, image_url: {url}}]`. */
export function readImages(images: Json | undefined): MediaPart[] {
  return arrayOf(images).flatMap(image => {
    const url = isObject(image) ? (stringOf(objectOf(image.image_url)?.url) ?? stringOf(image.image_url)) : undefined
    return url === undefined ? [] : [{ type: 'media' as const, kind: 'image' as const, ...sourceOfUrl(url) }]
  })
}

function readAudio(message: JsonObject): MediaPart[] {
  const audio = objectOf(message.audio)
  return audio === undefined ? [] : audioPart(stringOf(audio.id), stringOf(audio.data), stringOf(audio.transcript))
}

/** Spoken words; the upstream takes the id for them in later turns. */
export function audioPart(
  id: string | undefined,
  data: string | undefined,
  transcript: string | undefined,
): MediaPart[] {
  if (data === undefined && transcript === undefined) return []
  const seal = id === undefined ? {} : { seal: { by: PROTOCOL, value: id } }
  return [{ type: 'media', kind: 'audio', source: { base64: data ?? '' }, ...given({ transcript }), ...seal }]
}

function readCalls(message: JsonObject, candidate: number, ids: MadeIds): CallPart[] {
  const calls = arrayOf(message.tool_calls).map((call, i) => {
    if (!isObject(call)) throw badUpstream('A call is not an object.')
    return readCall(call, ids.of(candidate, i))
  })
  const legacy = objectOf(message.function_call)
  if (legacy === undefined) return calls
  const id = ids.of(candidate, calls.length)
  return [...calls, { type: 'call', id, name: nameOfCall(legacy), arguments: readArguments(legacy.arguments) }]
}

function readCall(call: JsonObject, fallback: string): CallPart {
  const id = stringOf(call.id) || fallback
  const seal = sealOfExtra(call.extra_content)
  const rest = seal === undefined ? {} : { seal }
  const custom = objectOf(call.custom)
  if (custom !== undefined) {
    const input = stringOf(custom.input) ?? ''
    return { type: 'call', id, name: nameOfCall(custom), arguments: input, custom: true, ...rest }
  }
  const called = objectOf(call.function) ?? {}
  return { type: 'call', id, name: nameOfCall(called), arguments: readArguments(called.arguments), ...rest }
}

function nameOfCall({ name }: JsonObject): string {
  if (typeof name === 'string' && name !== '') return name
  throw badUpstream('A call has no name.')
}

/** Text of the arguments; some servers send the object itself. */
export function readArguments(value: Json | undefined): string {
  if (typeof value === 'string') return value
  return isObject(value) ? jsonText(value) : ''
}
