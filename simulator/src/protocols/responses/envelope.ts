import type { Fields } from '../../families/fields.js'
import type { JsonObject } from '../../json.js'
import { isObject } from '../../json.js'

/** What changes while a response comes about. */
export interface Progress {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  readonly output: readonly object[]
  readonly usage: object | null | undefined
  readonly error: object | null
  /** Why it is incomplete. */
  readonly reason?: string
}

export interface Identity {
  readonly id: string
  readonly created: number
  readonly model: string
}

/** The response object. It tells back nearly every parameter of the request, with the defaults filled in. */
export function envelope({ id, created, model }: Identity, body: Fields, progress: Progress): object {
  const { status, output, usage, error, reason } = progress
  return {
    id,
    object: 'response',
    created_at: created,
    status,
    background: false,
    completed_at: status === 'completed' ? created + 1 : null,
    error,
    frequency_penalty: body.raw('frequency_penalty') ?? 0,
    incomplete_details: status === 'incomplete' ? { reason } : null,
    instructions: body.raw('instructions') ?? null,
    max_output_tokens: body.raw('max_output_tokens') ?? null,
    max_tool_calls: body.raw('max_tool_calls') ?? null,
    model,
    output,
    parallel_tool_calls: body.raw('parallel_tool_calls') ?? true,
    presence_penalty: body.raw('presence_penalty') ?? 0,
    previous_response_id: body.raw('previous_response_id') ?? null,
    prompt_cache_key: body.raw('prompt_cache_key') ?? null,
    reasoning: reasoning(body),
    safety_identifier: body.raw('safety_identifier') ?? null,
    service_tier: 'default',
    store: body.raw('store') ?? true,
    temperature: body.raw('temperature') ?? 1,
    text: text(body),
    tool_choice: body.raw('tool_choice') ?? 'auto',
    tools: (body.array('tools') ?? []).map(tool => (isObject(tool) ? told(tool) : tool)),
    top_logprobs: body.raw('top_logprobs') ?? 0,
    top_p: body.raw('top_p') ?? 1,
    truncation: body.raw('truncation') ?? 'disabled',
    usage,
    user: body.raw('user') ?? null,
    metadata: body.raw('metadata') ?? {},
  }
}

function reasoning(body: Fields): object {
  const asked = body.fields('reasoning')
  return { effort: asked?.raw('effort') ?? null, summary: asked?.raw('summary') ?? null }
}

function text(body: Fields): object {
  const asked = body.fields('text')
  const format = asked?.raw('format') ?? { type: 'text' }
  const shown = isObject(format) && format.type === 'json_schema' ? toldFormat(format) : format
  return { format: shown, verbosity: asked?.raw('verbosity') ?? 'medium' }
}

function toldFormat(format: JsonObject): JsonObject {
  return { ...format, description: format.description ?? null, strict: format.strict ?? false }
}

/** Functions are strict here unless they say otherwise, and are told back with a description that may be none. */
function told(tool: JsonObject): JsonObject {
  if (tool.type !== 'function') return tool
  return { ...tool, description: tool.description ?? null, strict: tool.strict ?? true }
}
