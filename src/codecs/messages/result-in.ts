import type { AnswerContext, UpstreamError } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { End, EndReason, Part, TextResult } from '../../core/text.js'
import { MadeIds } from '../made-ids.js'
import { badUpstream, isBounded, objectOf, parseObject, stringOf } from '../read.js'

import { unwrapSeal } from '../seal.js'
import { decodeCitations } from './citations.js'
import { decodeCallId, decodeToolName } from './names.js'
import { decodeUsage, decodeUsedTier } from './usage.js'

const REASONS: ReadonlyMap<string, EndReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['tool_use', 'tool'],
  ['pause_turn', 'pause'],
  ['compaction', 'pause'],
  ['refusal', 'refusal'],
  ['model_context_window_exceeded', 'context'],
])

/** `stop_reason` (a word), with `stop_sequence` and `stop_details`. */
export function decodeEnd(word: string | undefined, { stop_sequence, stop_details }: JsonObject): End {
  const reason = (word === undefined ? undefined : REASONS.get(word)) ?? 'other'
  const stopSequence = word === 'stop_sequence' ? stringOf(stop_sequence) : undefined
  const detail = reason === 'refusal' ? explanationOf(stop_details) : reason === 'other' ? word : undefined
  return { reason, ...(stopSequence !== undefined && { stopSequence }), ...(detail !== undefined && { detail }) }
}

function explanationOf(details: Json | undefined): string | undefined {
  const { explanation, category } = objectOf(details) ?? {}
  return stringOf(explanation) ?? stringOf(category)
}

const WORDS: Readonly<Record<EndReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  filter: 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
  context: 'model_context_window_exceeded',
  malformed: 'end_turn',
  other: 'end_turn',
}

/** What of an answer decides over its end, beside what the upstream said. */
interface Said {
  readonly calls: boolean
  readonly refusal: boolean
}

/**
 * `stop_reason`, `stop_sequence` and `stop_details`. Clients go by `tool_use` to run tools, so an answer with calls that
 * just stopped has that one.
 */
export function encodeEnd({ reason, stopSequence, detail }: End, { calls, refusal }: Said): JsonObject {
  const isStop = reason === 'stop' || reason === 'other'
  const word = isStop && calls ? 'tool_use' : isStop && refusal ? 'refusal' : WORDS[reason]
  const met = word === 'end_turn' && reason === 'stop' ? stopSequence : undefined
  return {
    stop_reason: met === undefined ? word : 'stop_sequence',
    stop_sequence: met ?? null,
    stop_details: word === 'refusal' ? { type: 'refusal', category: null, explanation: detail ?? null } : null,
  }
}

/** Tells of an end that has no word in this protocol, and goes out as a plain one. */
export function loseEnd({ reason, detail }: End, lose: AnswerContext['lose']): void {
  if (reason === 'malformed' || reason === 'other') {
    const unsaid = reason === 'malformed' ? 'a malformed call' : 'a reason that this protocol cannot express'
    lose('stop_reason', `the upstream ended with ${detail ?? unsaid}`)
  }
}

/** Longest message of an upstream that is passed on, in characters. */
const MAX_MESSAGE_CHARS = 4000

/** Status by `error.type`, for errors that come where there is no status. Others are the upstream's own fault (502). */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

/** Codes that clients of other families match, by `error.type`. */
const CODES: ReadonlyMap<string, string> = new Map([
  ['rate_limit_error', 'rate_limit_exceeded'],
  ['authentication_error', 'authentication_error'],
  ['billing_error', 'insufficient_quota'],
])

/** What the service writes where a conversation is longer than the model's window. */
const TOO_LONG = /prompt is too long|exceeds? (?:the )?(?:model's )?(?:maximum )?context/i

/** `messages.0.content.1: …`, `max_tokens: …`: the field at fault, before the first colon. */
const FIELD = /^([a-z_]+(?:\.[a-z0-9_]+){0,16}): /

/** An error that came as a document with status 200, or as an event of a stream. */
export function errorOf(body: JsonObject): GatewayError {
  const error = objectOf(body.error) ?? {}
  const type = stringOf(error.type) ?? ''
  if (type === 'authentication_error' || type === 'permission_error') {
    return new GatewayError('upstream_auth', "The upstream refused the gateway's credential.", {
      phase: 'stream_error',
    })
  }
  const message = stringOf(error.message)?.slice(0, MAX_MESSAGE_CHARS) || 'The upstream failed.'
  const status = STATUSES.get(type)
  if (status === 429) return new GatewayError('rate_limited', message, { phase: 'stream_error' })
  return new GatewayError('upstream_failed', message, {
    phase: 'stream_error',
    ...(status !== undefined && { status }),
  })
}

/** `{type: "error", error: {type, message}, request_id}`. */
export function decodeError(_status: number, body: Json | undefined): UpstreamError {
  const error = objectOf(objectOf(body)?.error)
  const message = stringOf(error?.message)
  const type = stringOf(error?.type) ?? ''
  const param = FIELD.exec(message?.slice(0, 512) ?? '')?.[1]
  const code = codeOf(type, message ?? '')
  return { message, ...(param !== undefined && { param }), ...(code !== undefined && { code }) }
}

function codeOf(type: string, message: string): string | undefined {
  if (type === 'invalid_request_error' && TOO_LONG.test(message.slice(0, 512))) return 'context_length_exceeded'
  if (type === 'not_found_error' && message.startsWith('model:')) return 'model_not_found'
  return CODES.get(type)
}

/** A whole message. Throws `bad_upstream_response`; an error with status 200 as that error. */
export function decodeResult(body: Json): TextResult {
  if (!isObject(body)) throw badUpstream('It is not an object.')
  if (body.type === 'error' || isObject(body.error)) throw errorOf(body)
  const { content } = body
  if (!Array.isArray(content)) throw badUpstream('It has no content.')
  const id = stringOf(body.id) ?? ''
  const ids = new MadeIds(id)
  const parts = (content as readonly Json[]).map((block, i) => {
    if (!isObject(block)) throw badUpstream('A block of its content is not an object.')
    return decodeBlock(block, ids.of(0, i))
  })
  const usage = objectOf(body.usage)
  const counted = decodeUsage(usage)
  const tier = decodeUsedTier(stringOf(usage?.service_tier))
  return {
    id,
    model: stringOf(body.model) ?? '',
    candidates: [{ parts: parts.filter(part => part !== undefined), end: decodeEnd(stringOf(body.stop_reason), body) }],
    ...(counted !== undefined && { usage: counted }),
    ...(tier !== undefined && { serviceTier: tier }),
  }
}

/** A block of an answer as a part; undefined for thoughts that say nothing. `id` is for a call that has none. */
export function decodeBlock(block: JsonObject, id: string): Part | undefined {
  switch (block.type) {
    case 'text':
      return decodeText(block)
    case 'thinking': {
      const text = stringOf(block.thinking) ?? ''
      const signature = stringOf(block.signature) ?? ''
      if (text === '' && signature === '') return undefined
      return { type: 'reasoning', text, ...(signature !== '' && { seal: unwrapSeal(signature, 'messages') }) }
    }
    case 'redacted_thinking': {
      const seal = unwrapSeal(stringOf(block.data) ?? '', 'messages')
      return { type: 'reasoning', text: '', redacted: true, seal }
    }
    case 'tool_use':
      return decodeCall(block, id)
    default:
      if (!isBounded(block)) throw badUpstream('A block is nested too deeply.')
      return { type: 'hosted', of: 'messages', value: block }
  }
}

function decodeText(block: JsonObject): Part {
  const citations = decodeCitations(block.citations)
  return {
    type: 'text',
    text: stringOf(block.text) ?? '',
    ...(citations.length > 0 && { citations }),
  }
}

function decodeCall(block: JsonObject, made: string): Part {
  const { name, custom } = decodeToolName(stringOf(block.name) ?? '')
  const input = objectOf(block.input) ?? parseObject(stringOf(block.input) ?? '') ?? {}
  if (!isBounded(input)) throw badUpstream('The input of a call is nested too deeply.')
  const given = decodeCallId(stringOf(block.id) ?? '')
  const id = given === '' ? made : given
  if (!custom) return { type: 'call', id, name, arguments: jsonText(input) }
  return { type: 'call', id, name, arguments: customInput(input), custom: true }
}

/** The free text of a tool that was given to the service as a function of one string. */
export function customInput(input: JsonObject): string {
  return stringOf(input.input) ?? jsonText(input)
}
