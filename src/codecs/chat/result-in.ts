import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type {
  CallPart,
  Candidate,
  Citation,
  End,
  EndReason,
  MediaPart,
  Part,
  ReasoningPart,
  TextPart,
  TextResult,
  TextUsage,
  TokenLogprob,
} from '../../core/text.js'
import { errorInside } from '../compatible-errors.js'
import { readLogprobs } from '../compatible-settings.js'
import { MadeIds } from '../made-ids.js'
import { sourceOfUrl } from '../media.js'
import { arrayOf, badUpstream, compact, countOf, given, numberOf, objectOf, stringOf } from '../read.js'

import { tokenCounts, totalOf } from '../token-usage.js'
import { thoughtsOf } from './content-in.js'
import { MEMBER_SEALS, PROTOCOL, sealOfExtra, thoughtsOfMessage } from './reasoning.js'

const REASONS: Readonly<Record<string, EndReason>> = {
  stop: 'stop',
  eos: 'stop',
  length: 'length',
  model_length: 'length',
  tool_calls: 'tool',
  function_call: 'tool',
  content_filter: 'filter',
}

/**
 * `finish_reason`. Servers say `stop` where the model was made to call a tool by name, and after a refusal; what the
 * answer holds tells better.
 */
export function readEnd(reason: Json | undefined, holds: { calls: boolean; refusal: boolean }, stopped?: Json): End {
  const word = typeof reason === 'string' ? reason : ''
  const known = Object.hasOwn(REASONS, word) ? REASONS[word] : undefined
  if (word === '') return { reason: holds.calls ? 'tool' : 'other' }
  if (known === undefined) return { reason: 'other', detail: word.slice(0, 200) }
  if (known === 'stop' && holds.calls) return { reason: 'tool' }
  if (known === 'stop' && holds.refusal) return { reason: 'refusal' }
  if (known === 'tool' && !holds.calls) return { reason: 'stop' }
  return typeof stopped === 'string' ? { reason: known, stopSequence: stopped } : { reason: known }
}

type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

/** The protocol's word for an end, and what cannot be said with it. */
export function writeEnd(end: End, refused: boolean, lose: (what: string, why: string) => void): FinishReason {
  if (end.stopSequence !== undefined) lose('stop sequence', 'chat does not say which one was met')
  switch (end.reason) {
    case 'stop':
      return 'stop'
    case 'length':
      return 'length'
    case 'tool':
      return 'tool_calls'
    case 'filter':
      return 'content_filter'
    case 'refusal':
      return refused ? 'stop' : 'content_filter'
    case 'context':
      lose('finish reason', 'chat does not distinguish a full context window from a limit')
      return 'length'
    default:
      lose('finish reason', `chat has no word for '${end.reason}'`)
      return 'stop'
  }
}

/** `annotations` of a message; other kinds than `url_citation` are not citations. */
export function readAnnotations(value: Json | undefined): Citation[] {
  return arrayOf(value).flatMap(annotation => {
    const cited = isObject(annotation) ? objectOf(annotation.url_citation) : undefined
    if (cited === undefined) return []
    return [
      given({
        url: stringOf(cited.url),
        title: stringOf(cited.title),
        quote: stringOf(cited.content),
        start: numberOf(cited.start_index),
        end: numberOf(cited.end_index),
      }),
    ]
  })
}

/** Sources that some servers name beside the choices: `search_results: [{url, title, snippet}]`, `citations: [url]`. */
export function readSources(answer: JsonObject): Citation[] {
  const results = arrayOf(answer.search_results).flatMap(result => {
    if (!isObject(result) || typeof result.url !== 'string') return []
    return [given({ url: result.url, title: stringOf(result.title), quote: stringOf(result.snippet) })]
  })
  if (results.length > 0) return results
  return arrayOf(answer.citations).flatMap(url => (typeof url === 'string' ? [{ url }] : []))
}

/**
 * A citation as an annotation; undefined if it has no URL, which annotations need. `before`: number of characters before
 * its text; `length`: number of characters of that text so far.
 */
export function writeAnnotation(citation: Citation, before: number, length: number): JsonObject | undefined {
  if (citation.url === undefined) return undefined
  return {
    type: 'url_citation',
    url_citation: {
      start_index: before + (citation.start ?? 0),
      end_index: before + (citation.end ?? length),
      url: citation.url,
      title: citation.title ?? '',
      ...(citation.quote !== undefined && { content: citation.quote }),
    },
  }
}

export function writeLogprobs(logprobs: readonly TokenLogprob[]): JsonObject {
  return {
    content: logprobs.map(entry => ({
      ...writeToken(entry),
      top_logprobs: (entry.top ?? []).map(writeToken),
    })),
    refusal: null,
  }
}

function writeToken({ token, logprob, bytes }: Omit<TokenLogprob, 'top'>): JsonObject {
  return { token, logprob, bytes: bytes ?? null }
}

/** `usage` of an answer. Servers differ in where they report cached tokens and sound. */
export function readUsage(value: Json | undefined): TextUsage | undefined {
  const usage = objectOf(value)
  if (usage === undefined) return undefined
  const prompt = objectOf(usage.prompt_tokens_details)
  const completion = objectOf(usage.completion_tokens_details)
  const read = given({
    input: countOf(usage.prompt_tokens),
    output: countOf(usage.completion_tokens),
    total: countOf(usage.total_tokens),
    cached: first(prompt?.cached_tokens, usage.prompt_cache_hit_tokens, usage.num_cached_tokens, usage.cached_tokens),
    cacheWrite: countOf(prompt?.cache_write_tokens),
    reasoning: countOf(completion?.reasoning_tokens),
    inputAudio: first(prompt?.audio_tokens, usage.audio_prompt_tokens),
    outputAudio: countOf(completion?.audio_tokens),
  })
  return tokenCounts(read)
}

function first(...values: readonly (Json | undefined)[]): number | undefined {
  return values.map(countOf).find(count => count !== undefined)
}

export function writeUsage(usage: TextUsage): JsonObject {
  const { input = 0, output = 0 } = usage
  const prompt = compact({
    cached_tokens: usage.cached,
    cache_write_tokens: usage.cacheWrite,
    audio_tokens: usage.inputAudio,
  })
  const completion = compact({ reasoning_tokens: usage.reasoning, audio_tokens: usage.outputAudio })
  return compact({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: totalOf(usage),
    prompt_tokens_details: Object.keys(prompt).length > 0 ? prompt : undefined,
    completion_tokens_details: Object.keys(completion).length > 0 ? completion : undefined,
  })
}

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
