import type { Fields } from '../../families/fields.js'
import { isObject, type JsonObject } from '../../json.js'
import type { Call } from '../../protocol.js'
import type { TextReply } from '../../text/conversation.js'
import { compose } from '../../text/engine.js'
import { promptTokens, spoiled } from '../../text/usage.js'
import { type Item, idOf, itemJson, itemsOf } from './items.js'
import type { ResponsesRequest } from './request.js'
import { plain } from './stored.js'

/** An answer: the same for the whole object and for its stream. */
export interface Response {
  readonly items: readonly Item[]
  readonly end: 'completed' | 'incomplete'
  /** The response object before the first item, at its end, or when it fails. */
  readonly object: (at: 'begun' | 'ended' | 'failed') => object
}

/** Answers a request, and keeps the answer if `store` is set. */
export function respond(request: ResponsesRequest, { seed, faults, memory }: Call): Response {
  const { body, model, text, input, store } = request
  const reply = compose(text)
  const items = itemsOf(reply, request)
  const reason = REASONS[reply.finish]
  const end = reason === undefined ? 'completed' : 'incomplete'
  const asked = promptTokens(text).input
  const usage = spoiled(
    {
      input_tokens: asked,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: reply.output,
      output_tokens_details: { reasoning_tokens: reply.reasoning },
      total_tokens: asked + reply.output,
    },
    faults,
  )
  const identity: Identity = { id: idOf('resp_', seed.fork('id'), store), created: seed.created(), model }
  const progress: Readonly<Record<'begun' | 'ended' | 'failed', Progress>> = {
    begun: { status: 'in_progress', output: [], usage: null, error: null },
    ended: {
      status: end,
      output: items.map(item => itemJson(item, 'done')),
      usage,
      error: null,
      ...(reason && { reason }),
    },
    failed: { status: 'failed', output: [], usage: null, error: FAILURE },
  }
  const object = (at: keyof typeof progress) => envelope(identity, body, progress[at])
  if (store) {
    memory.keep(identity.id, { object: plain(object('ended')), input, output: progress.ended.output.map(plain) })
  }
  return { items, end, object }
}

const FAILURE = { code: 'server_error', message: 'The server had an error while processing your request.' } as const
const REASONS: Partial<Record<TextReply['finish'], string>> = {
  length: 'max_output_tokens',
  blocked: 'content_filter',
}

/** What changes while a response comes about. */
interface Progress {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  readonly output: readonly object[]
  readonly usage: object | null | undefined
  readonly error: object | null
  /** Why it is incomplete. */
  readonly reason?: string
}

interface Identity {
  readonly id: string
  readonly created: number
  readonly model: string
}

/** Parameters that the response echoes, with their defaults. */
const ECHOED: JsonObject = {
  ...{ frequency_penalty: 0, presence_penalty: 0, temperature: 1, top_p: 1, top_logprobs: 0, truncation: 'disabled' },
  ...{ instructions: null, max_output_tokens: null, max_tool_calls: null, previous_response_id: null },
  ...{ parallel_tool_calls: true, tool_choice: 'auto', store: true, metadata: {} },
  ...{ prompt_cache_key: null, safety_identifier: null, user: null },
}

/** The response object. It echoes nearly every parameter of the request. */
function envelope({ id, created, model }: Identity, body: Fields, progress: Progress): object {
  const { status, output, usage, error, reason } = progress
  const completed_at = status === 'completed' ? created + 1 : null
  return {
    ...{ id, object: 'response', created_at: created, completed_at, status, background: false, error },
    ...{
      incomplete_details: status === 'incomplete' ? { reason } : null,
      model,
      output,
      usage,
      service_tier: 'default',
    },
    ...Object.fromEntries(Object.entries(ECHOED).map(([name, usual]) => [name, body.raw(name) ?? usual])),
    reasoning: reasoning(body),
    text: text(body),
    tools: (body.array('tools') ?? []).map(tool => (isObject(tool) ? echoedTool(tool) : tool)),
  }
}

function reasoning(body: Fields): object {
  const asked = body.fields('reasoning')
  return { effort: asked?.raw('effort') ?? null, summary: asked?.raw('summary') ?? null }
}

function text(body: Fields): object {
  const asked = body.fields('text')
  const format = asked?.raw('format') ?? { type: 'text' }
  const shown = isObject(format) && format.type === 'json_schema' ? echoedFormat(format) : format
  return { format: shown, verbosity: asked?.raw('verbosity') ?? 'medium' }
}

function echoedFormat(format: JsonObject): JsonObject {
  return { ...format, description: format.description ?? null, strict: format.strict ?? false }
}

/** Functions are strict by default here, and are echoed with a description that may be null. */
function echoedTool(tool: JsonObject): JsonObject {
  if (tool.type !== 'function') return tool
  return { ...tool, description: tool.description ?? null, strict: tool.strict ?? true }
}
