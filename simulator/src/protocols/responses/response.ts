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
  /** The response object as it stands before the first item, at its end, or where it fails. */
  readonly object: (at: 'begun' | 'ended' | 'failed') => object
}

/** Answers a request, and keeps the answer where it is to be stored. */
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

/** The response object. It tells back nearly every parameter of the request, with the defaults filled in. */
function envelope({ id, created, model }: Identity, body: Fields, progress: Progress): object {
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
