import { isObject, type Json, type JsonObject } from '../../core/json.js'

/** Members that a response repeats from its request, and what stands there where the request is silent. */
const REPEATED: Readonly<Record<string, Json>> = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: 'auto',
  store: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
}

/** A response of which nothing but its request is known yet. `created` in milliseconds since the epoch. */
export function blankResponse(id: string, created: number, body: JsonObject, status: string): JsonObject {
  const repeated = Object.entries(REPEATED).map(([name, usual]) => [name, body[name] ?? usual] as const)
  const reasoning = isObject(body.reasoning) ? body.reasoning : {}
  const text = isObject(body.text) ? body.text : {}
  return {
    id,
    object: 'response',
    created_at: Math.floor(created / 1000),
    status,
    background: false,
    error: null,
    incomplete_details: null,
    model: body.model ?? '',
    output: [],
    ...Object.fromEntries(repeated),
    ...(body.conversation !== undefined && { conversation: body.conversation }),
    reasoning: { effort: null, summary: null, ...reasoning },
    text: { format: { type: 'text' }, ...text },
    usage: null,
  }
}
