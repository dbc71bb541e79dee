import type { AnswerContext } from '../../core/codec.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { End, TextResult, TextUsage } from '../../core/text.js'
import { answeredTier } from '../compatible-tiers.js'
import { arrayOf, compact, objectOf } from '../read.js'
import { writeUsage } from './usage.js'

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
