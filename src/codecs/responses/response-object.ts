import type { AnswerContext, Frame } from '../../core/codec.js'
import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { End, Part, TextResult, TextUsage } from '../../core/text.js'
import { answeredTier } from '../compatible-settings.js'
import { arrayOf, compact, countOf, given, objectOf } from '../read.js'

import { tokenCounts, totalOf } from '../token-usage.js'
import { writeOutput } from './output.js'

/** `usage` of a response: input counts cached tokens, output counts thoughts. */
export function readUsage(value: Json | undefined): TextUsage | undefined {
  const usage = objectOf(value)
  if (usage === undefined) return undefined
  const input = objectOf(usage.input_tokens_details)
  const output = objectOf(usage.output_tokens_details)
  const read = given({
    input: countOf(usage.input_tokens),
    output: countOf(usage.output_tokens),
    total: countOf(usage.total_tokens),
    cached: countOf(input?.cached_tokens),
    cacheWrite: countOf(input?.cache_write_tokens),
    reasoning: countOf(output?.reasoning_tokens),
    inputAudio: countOf(input?.audio_tokens),
    outputAudio: countOf(output?.audio_tokens),
  })
  return tokenCounts(read)
}

/** Every answer of this protocol has both details. */
function writeUsage(usage: TextUsage): JsonObject {
  const { input = 0, output = 0, cached = 0, cacheWrite, reasoning = 0 } = usage
  return {
    input_tokens: input,
    input_tokens_details: compact({ cached_tokens: cached, cache_write_tokens: cacheWrite }),
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: totalOf(usage),
  }
}

/** There is no finish reason for a refusal here: a part says it, which other protocols may leave out. */
function declined(parts: readonly Part[], end: End): readonly Part[] {
  if (end.reason !== 'refusal' || parts.some(({ type }) => type === 'refusal')) return parts
  return [...parts, { type: 'refusal', text: end.detail ?? '' }]
}

const UNTOLD: ReadonlySet<End['reason']> = new Set(['pause', 'malformed', 'other'])

/** Reasons that this protocol has no word for. */
export function sayEnd({ reason }: End, answer: AnswerContext): void {
  if (UNTOLD.has(reason)) answer.lose('finish', `this protocol cannot express the end ${reason}`)
}

/** A whole answer as a response object. Answers beside the first have no place here. */
export function encodeResult(result: TextResult, answer: AnswerContext): JsonObject {
  if (result.candidates.length > 1) answer.lose('candidates', 'responses give one answer')
  const { parts: given, end } = result.candidates[0] ?? { parts: [], end: { reason: 'other' as const } }
  const parts = declined(given, end)
  sayEnd(end, answer)
  const status = incompleteReason(end) === undefined ? 'completed' : 'incomplete'
  const output = writeOutput(parts, answer, status)
  return new ResponseBase(answer, result).with(status, output, { usage: result.usage, tier: result.serviceTier, end })
}

/** Members of a request that every answer repeats, with what holds where the request leaves them out. */
const REPEATED: Readonly<Record<string, Json>> = {
  background: false,
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: 'default',
  store: true,
  temperature: 1,
  tool_choice: 'auto',
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
}

const DEFAULT_TEXT: JsonObject = { format: { type: 'text' } }

type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** What all answers to one request have in common: the response object without its outcome. */
export class ResponseBase {
  readonly id: string
  readonly #members: JsonObject

  constructor(answer: AnswerContext, { model, created }: Pick<TextResult, 'model' | 'created'>) {
    const { body, now } = answer
    this.id = answer.newId('resp_')
    this.#members = compact(repeatedMembers(body), {
      id: this.id,
      object: 'response',
      created_at: created ?? now,
      model: model === '' ? answer.request.model : model,
    })
  }

  with(
    status: Status,
    output: readonly JsonObject[],
    outcome: { readonly usage?: TextUsage | undefined; readonly tier?: string | undefined; readonly end?: End } = {},
  ): JsonObject {
    const { usage, tier, end } = outcome
    const word = answeredTier(tier)
    const why = end === undefined ? undefined : incompleteReason(end)
    return compact(this.#members, {
      service_tier: word,
      status,
      completed_at: status === 'completed' ? (this.#members.created_at ?? null) : null,
      error: null,
      incomplete_details: why === undefined ? null : { reason: why },
      output,
      usage: usage === undefined ? null : writeUsage(usage),
    })
  }
}

/** What a response repeats of its request, or says in its place. */
export function repeatedMembers(body: JsonObject): JsonObject {
  const repeated: Record<string, Json> = { ...REPEATED }
  for (const name in REPEATED) {
    const said = Object.hasOwn(body, name) ? body[name] : null
    if (said !== undefined && said !== null) repeated[name] = said
  }
  return {
    ...repeated,
    ...conversationOf(body.conversation),
    text: textOf(objectOf(body.text)),
    tools: arrayOf(body.tools).map(toolOf),
    reasoning: { effort: null, summary: null, ...objectOf(body.reasoning) },
  }
}

/** A conversation may be named by its id alone. */
function conversationOf(said: Json | undefined): JsonObject {
  if (typeof said === 'string') return { conversation: { id: said } }
  return isObject(said) && typeof said.id === 'string' ? { conversation: { id: said.id } } : {}
}

/** A schema is repeated with what its format leaves out. */
function textOf(text: JsonObject | undefined): JsonObject {
  const format = objectOf(text?.format)
  if (format?.type !== 'json_schema') return { ...DEFAULT_TEXT, ...text }
  const { description = null, strict } = format
  return { ...text, format: { ...format, description, strict: strict ?? false } }
}

/** Functions are repeated with what they leave out. */
function toolOf(tool: Json): Json {
  if (!isObject(tool) || tool.type !== 'function') return tool
  const { description = null, parameters = null, strict } = tool
  return { ...tool, description, parameters, strict: strict ?? true }
}

/** Why an answer is not whole; undefined where it is. */
export function incompleteReason({ reason }: End): 'max_output_tokens' | 'content_filter' | undefined {
  if (reason === 'length' || reason === 'context') return 'max_output_tokens'
  return reason === 'filter' ? 'content_filter' : undefined
}

/** Numbers the events of a stream and writes them as frames. */
export class Sequence {
  #number = 0

  /** `members` without `type` and `sequence_number`. */
  frame(type: string, members: JsonObject): Frame {
    return { event: type, data: jsonText({ type, sequence_number: this.#number++, ...members }) }
  }

  /** The same from JSON text: what is between the number and the closing brace. */
  written(type: string, members: string): Frame {
    return { event: type, data: `{"type":"${type}","sequence_number":${this.#number++},${members}}` }
  }
}
