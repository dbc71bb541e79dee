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

export type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** What all answers to one request have in common: the response object without its outcome. */
export class ResponseBase {
  readonly id: string
  readonly #members: JsonObject

  constructor(answer: AnswerContext, { model, created }: Pick<TextResult, 'model' | 'created'>) {
    const { body, now } = answer
    this.id = answer.newId('resp_')
    const repeated: Record<string, Json> = { ...REPEATED }
    for (const name in REPEATED) {
      const said = Object.hasOwn(body, name) ? body[name] : null
      if (said !== undefined && said !== null) repeated[name] = said
    }
    this.#members = compact(repeated, {
      ...conversationOf(body.conversation),
      text: { ...DEFAULT_TEXT, ...objectOf(body.text) },
      tools: arrayOf(body.tools).map(toolOf),
      id: this.id,
      object: 'response',
      created_at: created ?? now,
      model: model === '' ? answer.request.model : model,
      reasoning: { effort: null, summary: null, ...objectOf(body.reasoning) },
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

/** A conversation may be named by its id alone. */
function conversationOf(said: Json | undefined): JsonObject {
  if (typeof said === 'string') return { conversation: { id: said } }
  return isObject(said) && typeof said.id === 'string' ? { conversation: { id: said.id } } : {}
}

/** Functions are repeated with what they leave out. */
function toolOf(tool: Json): Json {
  if (!isObject(tool) || tool.type !== 'function') return tool
  return { ...tool, parameters: tool.parameters ?? null, strict: tool.strict ?? true }
}

/** Why an answer is not whole; undefined where it is. */
export function incompleteReason({ reason }: End): 'max_output_tokens' | 'content_filter' | undefined {
  if (reason === 'length' || reason === 'context') return 'max_output_tokens'
  return reason === 'filter' ? 'content_filter' : undefined
}
