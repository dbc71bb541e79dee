import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { copyWith } from '../../core/keeper.js'
import type { Exchange } from '../../core/plan.js'
import type { Transform } from '../../core/transform.js'
import type { Body } from '../../kernel/body.js'
import { documentOfBody } from '../../kernel/body-document.js'
import type { Call } from '../../kernel/call.js'
import { type Slot, slot } from '../../kernel/slot.js'
import { addToTranslation } from '../../kernel/translate/hooks.js'
import { jsonBytes, yieldToEventLoop } from '../../kernel/translate/steps.js'
import { findValue, setValue } from '../../wire/json-edit.js'
import { withoutKept } from '../../wire/kept-members.js'
import { type ConversationRecord, withItems } from '../responses/conversation-lines.js'
import { tooLargeToKeep } from '../responses/faults.js'
import { readMetadata } from '../responses/metadata.js'
import { COMPLETION_STORE, type CompletionDraft } from './completions.js'
import { CompletionTap } from './tap.js'

/** Set if the request asks to store its answer. */
export const WANTS_STORED: Slot<true> = slot('wants_stored')
/** What to store then. */
export const COMPLETION: Slot<CompletionDraft> = slot('completion')

/** Members of the request that a stored completion repeats, with their defaults. */
const REPEATED: Readonly<Record<string, Json>> = {
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  seed: null,
  tools: null,
  tool_choice: null,
  response_format: null,
}
const READ = new Set([...Object.keys(REPEATED), 'messages', 'metadata', 'user', 'functions'])

/**
 * Prepares the stored form of a chat completion, and observes its answer. Returns the body for upstreams: it tells them to
 * store nothing, so that all upstreams behave alike, and so that what is deleted here is gone. Throws `invalid_parameter` if
 * the request is over a bound.
 */
export async function draftCompletion(call: Call, body: Body): Promise<Body> {
  if (body.type !== 'bytes') return body
  const completions = call.kernel.need(COMPLETION_STORE)
  const { bounds } = completions
  if (body.bytes.length > bounds.bytes) throw tooLargeToKeep(`${bounds.bytes} bytes`, 'conversation_bytes')
  const document = await documentOfBody(call, body, { isKnown: name => READ.has(name), exact: true })
  const metadata = readMetadata(document.metadata)
  const { id, created } = completions.newId()
  await yieldToEventLoop(body.bytes.length)
  const messages = messagesOf(document, id, created)
  if (messages.head.items > bounds.items) throw tooLargeToKeep(`${bounds.items} messages`, 'conversation_items')
  const room = call.bodyMemory.reserve(messages.lines.length)
  if (room !== undefined) await room
  const repeated = repeatedOf(document, metadata, call.id)
  const isLegacy = Array.isArray(document.functions) && !Array.isArray(document.tools)
  call.memory.release()

  const keep = async (answer: JsonObject, size: number): Promise<void> => {
    if (call.error !== undefined || call.status !== 200) return
    const completion = { ...answer, id, object: 'chat.completion', ...repeated }
    const json = await jsonBytes(completion, size)
    if (json.length > bounds.bytes) return
    const answered = typeof answer.model === 'string' ? answer.model : call.model
    await completions.keep(call.key, { id, head: { model: call.model, answered, metadata }, json }, created, messages)
  }
  const context = {
    request: { model: call.model, streamUsage: true },
    newId: () => id,
    id,
    now: Math.floor(created / 1000),
    body: isLegacy ? { functions: [] } : {},
    lose: () => undefined,
  }
  call.taps.add(new CompletionTap(context, bounds.bytes, keep))
  addToTranslation(call, { id })
  call.set(COMPLETION, { id, named: exchanges => exchanges.map(exchange => withId(exchange, id)) })
  await yieldToEventLoop(body.bytes.length)
  const bytes = Buffer.from(withoutKept(body.bytes))
  return { ...body, bytes, model: undefined, demand: undefined, document: undefined }
}

/** The messages in the form of the message list. */
function messagesOf({ messages }: JsonObject, id: string, created: number): ConversationRecord {
  const items = (Array.isArray(messages) ? messages : []).filter(isObject).map((message, index) => {
    const { content = null, refusal = null, name = null } = message
    const parts = Array.isArray(content) ? content : null
    return {
      ...message,
      id: `${id}-${index}`,
      content: parts === null ? content : null,
      refusal,
      name,
      content_parts: parts,
    }
  })
  const empty = { head: { created, metadata: {}, lines: 0, items: 0, bytes: 0 }, lines: Buffer.alloc(0) }
  return withItems(empty, items)
}

function repeatedOf(document: JsonObject, metadata: JsonObject, request: string): JsonObject {
  const said = Object.entries(REPEATED).map(([name, usual]) => [name, document[name] ?? usual] as const)
  return { request_id: request, ...Object.fromEntries(said), input_user: document.user ?? null, metadata }
}

/** The exchange, with the gateway's id in its answers: an upstream's ids may repeat, or be absent. */
function withId(exchange: Exchange, id: string): Exchange {
  if (exchange.translation !== undefined) return exchange
  const { response: declared } = exchange
  const json = jsonText(id)
  const response: Transform = bytes => {
    const document = declared?.(bytes) ?? bytes
    return findValue(document, ['choices']) === undefined ? document : setValue(document, ['id'], json, 'always')
  }
  return copyWith(exchange, { response })
}
