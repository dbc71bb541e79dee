import type { RequestHead } from '../../core/codec.js'
import { isObject, type JsonObject } from '../../core/json.js'
import type { Format, Left, ReasoningWish, TextRequest } from '../../core/text.js'
import { readSchemaFormat, readSettings, readVerbosity } from '../compatible-settings.js'
import { isEffort } from '../effort.js'
import { given, invalid, leaveOthers, numberOf, Reader, UNKNOWN } from '../read.js'

import { CHAT_FIELDS } from './fields.js'
import { readMessages } from './messages-in.js'
import { readToolChoice, readTools } from './tools-in.js'

/** A request of the chat protocol (CreateChatCompletionRequest, and the legacy functions) in canonical form. */
export function decodeRequest(value: JsonObject, head: RequestHead): TextRequest {
  const body = new Reader(value)
  const left: Left[] = []
  const { system, turns } = readMessages(body, left)
  const tools = readTools(body, left)
  const legacy = body.has('functions') && !body.has('tools')
  return {
    model: head.model,
    stream: head.stream,
    streamUsage: body.object('stream_options')?.boolean('include_usage') === true,
    system,
    turns,
    tools,
    ...readSettings(body),
    ...given({
      toolChoice: readToolChoice(body, left),
      // One function_call is all that a message of the older form can hold.
      parallelTools: legacy ? false : body.boolean('parallel_tool_calls'),
      maxTokens: readMaxTokens(body, left),
      temperature: body.number('temperature'),
      topP: body.number('top_p'),
      topK: body.number('top_k'),
      stop: readStop(body),
      seed: body.number('seed'),
      presencePenalty: body.number('presence_penalty'),
      frequencyPenalty: body.number('frequency_penalty'),
      logitBias: readLogitBias(body),
      candidates: body.number('n'),
      logprobs: readLogprobs(body, left),
      format: readFormat(body, left),
      verbosity: readVerbosity(body, left),
      reasoning: readReasoning(body, left),
      modalities: readModalities(body, left),
      audio: readAudio(body),
    }),
    left: [...left, ...leftOf(body)],
  }
}

/** Members of members that are read here. */
const INNER: readonly (readonly [string, ReadonlySet<string>])[] = [
  ['stream_options', new Set(['include_usage', 'include_obfuscation'])],
  ['response_format', new Set(['type', 'json_schema'])],
  ['reasoning', new Set(['effort', 'max_tokens', 'exclude', 'enabled'])],
  ['thinking', new Set(['type', 'budget_tokens'])],
  ['audio', new Set(['voice', 'format'])],
]

/** Members that no canonical field holds, and those that no one knows. */
function leftOf(body: Reader): Left[] {
  const left: Left[] = []
  for (const field of Object.keys(body.value)) {
    if (!body.has(field)) continue
    const held = Object.hasOwn(CHAT_FIELDS, field) ? CHAT_FIELDS[field] : undefined
    if (held === undefined) left.push({ field, why: UNKNOWN })
    else if (typeof held === 'object' && 'left' in held) left.push({ field, why: held.left })
  }
  if (body.object('stream_options')?.boolean('include_obfuscation') === true) {
    left.push({ field: 'stream_options.include_obfuscation', why: 'translated streams are never padded' })
  }
  for (const [name, members] of INNER) {
    const inner = body.raw(name)
    if (isObject(inner)) leaveOthers(new Reader(inner, name), members, left)
  }
  return left
}

function readMaxTokens(body: Reader, left: Left[]): number | undefined {
  const [older, newer] = [body.number('max_tokens'), body.number('max_completion_tokens')]
  if (older !== undefined && newer !== undefined && older !== newer) {
    left.push({ field: 'max_tokens', why: 'max_completion_tokens is set too' })
  }
  return newer ?? older
}

function readStop(body: Reader): readonly string[] | undefined {
  const stop = body.raw('stop')
  if (typeof stop === 'string') return [stop]
  const stops = body.strings('stop')
  return stops?.length === 0 ? undefined : stops
}

function readLogitBias(body: Reader): Readonly<Record<string, number>> | undefined {
  const bias = body.object('logit_bias')
  if (bias === undefined) return undefined
  return Object.fromEntries(Object.keys(bias.value).map(token => [token, bias.number(token) ?? 0]))
}

/** `logprobs` is a switch, or, at some servers, how many. */
function readLogprobs(body: Reader, left: Left[]): number | undefined {
  const wanted = numberOf(body.raw('logprobs'))
  if (wanted !== undefined) return wanted
  const top = body.number('top_logprobs')
  if (body.boolean('logprobs') === true) return top ?? 0
  if (top !== undefined && top > 0) left.push({ field: 'top_logprobs', why: 'logprobs is not true' })
  return undefined
}

function readFormat(body: Reader, left: Left[]): Format | undefined {
  const format = body.object('response_format')
  if (format === undefined) return undefined
  const type = format.string('type')
  if (type === 'json_object') return { type: 'json' }
  if (type === 'json_schema') {
    const schema = format.object('json_schema')
    if (schema === undefined) throw invalid(format.path('json_schema'), 'it is required')
    return readSchemaFormat(schema)
  }
  if (type !== 'text') left.push({ field: format.path('type'), why: 'unknown answer format' })
  return undefined
}

/** `reasoning_effort`, and what compatible clients send instead: `reasoning: {…}`, `thinking: {…}`. */
function readReasoning(body: Reader, left: Left[]): ReasoningWish | undefined {
  const reasoning = body.object('reasoning')
  const thinking = body.object('thinking')
  const off = thinking?.raw('type') === 'disabled' || reasoning?.raw('enabled') === false
  const said = body.raw('reasoning_effort') ?? reasoning?.raw('effort')
  if (said !== undefined && !isEffort(said)) left.push({ field: 'reasoning_effort', why: 'unknown effort' })
  const effort = isEffort(said) ? said : off ? 'none' : undefined
  const budget = reasoning?.number('max_tokens') ?? thinking?.number('budget_tokens')
  const on = ['enabled', 'adaptive'].includes(thinking?.string('type') ?? '') || reasoning?.raw('enabled') === true
  const wish = given({
    effort,
    budget,
    adaptive: on && effort === undefined && budget === undefined ? true : undefined,
    show: reasoning?.boolean('exclude') === true ? ('none' as const) : undefined,
  })
  return Object.keys(wish).length === 0 ? undefined : wish
}

const MODALITIES = ['text', 'image', 'audio'] as const

function readModalities(body: Reader, left: Left[]): TextRequest['modalities'] {
  const words = body.strings('modalities')
  if (words === undefined) return undefined
  const known = MODALITIES.filter(modality => words.includes(modality))
  if (known.length < new Set(words).size)
    left.push({ field: 'modalities', why: `it contains others than ${MODALITIES}` })
  return known.some(modality => modality !== 'text') ? known : undefined
}

function readAudio(body: Reader): TextRequest['audio'] {
  const audio = body.object('audio')
  return audio === undefined ? undefined : given({ voice: audio.raw('voice'), format: audio.string('format') })
}
