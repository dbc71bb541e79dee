import type { UpstreamError } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { End, EndReason, MediaPart, Part, TextResult, TextUsage } from '../../core/text.js'
import { MadeIds } from '../made-ids.js'
import { decodeCallId } from '../messages/names.js'
import { arrayOf, badUpstream, countOf, given, isBounded, objectOf, parseObject, stringOf } from '../read.js'
import { unwrapSeal } from '../seal.js'
import { decodeCitations } from './citations.js'
import { mimeOf } from './formats.js'
import { PROTOCOL } from './media-in.js'
import { decodeRedacted } from './seals.js'

const REASONS: ReadonlyMap<string, EndReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['tool_use', 'tool'],
  ['content_filtered', 'filter'],
  ['guardrail_intervened', 'filter'],
  ['malformed_model_output', 'malformed'],
  ['malformed_tool_use', 'malformed'],
  ['model_context_window_exceeded', 'context'],
])

/** `stopReason`. */
export function decodeEnd(word: string | undefined): End {
  const reason = (word === undefined ? undefined : REASONS.get(word)) ?? 'other'
  const detail = reason === 'other' || reason === 'malformed' || word === 'guardrail_intervened' ? word : undefined
  return { reason, ...(detail !== undefined && { detail }) }
}

/** `inputTokens` counts neither what came from a cache nor what went into it. */
export function decodeUsage(usage: JsonObject | undefined): TextUsage | undefined {
  const own = countOf(usage?.inputTokens)
  const cached = countOf(usage?.cacheReadInputTokens)
  const cacheWrite = countOf(usage?.cacheWriteInputTokens)
  const inputs = [own, cached, cacheWrite].filter(count => count !== undefined)
  const read = given({
    input: inputs.length === 0 ? undefined : inputs.reduce((sum, count) => sum + count),
    output: countOf(usage?.outputTokens),
    cached,
    cacheWrite,
  })
  return Object.keys(read).length === 0 ? undefined : read
}

/** A whole answer. Throws `bad_upstream_response`, or the error that it is in place of an answer. */
export function decodeResult(body: Json): TextResult {
  if (!isObject(body)) throw badUpstream('It is not an object.')
  const content = objectOf(objectOf(body.output)?.message)?.content
  if (body.output === undefined && messageOf(body) !== undefined) {
    throw exceptionOf(exceptionName(stringOf(body.__type) ?? ''), body)
  }
  if (!Array.isArray(content)) throw badUpstream('It has no message.')
  const ids = new MadeIds('')
  const parts = arrayOf(content).map((block, i) => {
    if (!isObject(block)) throw badUpstream('A block of its content is not an object.')
    return decodeBlock(block, () => ids.of(0, i))
  })
  const usage = decodeUsage(objectOf(body.usage))
  const serviceTier = stringOf(objectOf(body.serviceTier)?.type)
  return {
    id: '',
    model: '',
    candidates: [{ parts: parts.filter(part => part !== undefined), end: decodeEnd(stringOf(body.stopReason)) }],
    ...given({ usage, serviceTier }),
  }
}

/** A block of an answer as a part; undefined for thoughts that say nothing. `made` gives an id to a call that has none. */
function decodeBlock(block: JsonObject, made: () => string): Part | undefined {
  const thought = objectOf(block.reasoningContent)
  const call = objectOf(block.toolUse)
  const cited = objectOf(block.citationsContent)
  const image = objectOf(block.image)
  if (typeof block.text === 'string') return { type: 'text', text: block.text }
  if (thought !== undefined) return decodeThought(thought)
  if (call !== undefined && stringOf(call.type) === undefined) return decodeCall(call, made)
  if (cited !== undefined) return decodeCited(cited)
  if (image !== undefined) return decodeImage(image) ?? hosted(block)
  return hosted(block)
}

/** A block that only this protocol has. */
export function hosted(block: JsonObject): Part {
  if (!isBounded(block)) throw badUpstream('A block is nested too deeply.')
  return { type: 'hosted', of: PROTOCOL, value: block }
}

function decodeThought(thought: JsonObject): Part | undefined {
  const redacted = stringOf(thought.redactedContent)
  if (redacted !== undefined) return { type: 'reasoning', text: '', redacted: true, ...decodeRedacted(redacted) }
  const reasoning = objectOf(thought.reasoningText)
  const text = stringOf(reasoning?.text) ?? ''
  const signature = stringOf(reasoning?.signature) ?? ''
  if (text === '' && signature === '') return undefined
  return { type: 'reasoning', text, ...(signature !== '' && { seal: unwrapSeal(signature, PROTOCOL) }) }
}

function decodeCall(call: JsonObject, made: () => string): Part {
  const input = objectOf(call.input) ?? parseObject(stringOf(call.input) ?? '') ?? {}
  if (!isBounded(input)) throw badUpstream('The input of a call is nested too deeply.')
  const id = decodeCallId(stringOf(call.toolUseId) ?? '')
  return { type: 'call', id: id === '' ? made() : id, name: stringOf(call.name) ?? '', arguments: jsonText(input) }
}

function decodeCited(cited: JsonObject): Part {
  const text = arrayOf(cited.content)
    .map(one => stringOf(objectOf(one)?.text) ?? '')
    .join('')
  const citations = decodeCitations(cited.citations)
  return { type: 'text', text, ...(citations.length > 0 && { citations }) }
}

/** `{format, source: {bytes}}`; undefined for one that is elsewhere. */
export function decodeImage(image: JsonObject): MediaPart | undefined {
  const base64 = stringOf(objectOf(image.source)?.bytes)
  if (base64 === undefined) return undefined
  return {
    type: 'media',
    kind: 'image',
    mime: mimeOf('image', stringOf(image.format)) ?? 'image/png',
    source: { base64 },
  }
}

/** Longest message of an upstream that is passed on, in characters. */
const MAX_MESSAGE_CHARS = 4000

/** Status by the name of an error. Others are the upstream's own fault (502). */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['validationexception', 400],
  ['resourcenotfoundexception', 404],
  ['throttlingexception', 429],
  ['servicequotaexceededexception', 429],
  ['serviceunavailableexception', 503],
  ['modelnotreadyexception', 503],
  ['modeltimeoutexception', 504],
])

/** Of `com.amazon.coral.service#ThrottlingException:http://…`. */
function exceptionName(type: string): string {
  const [named = ''] = type.split(':')
  return named.slice(named.lastIndexOf('#') + 1)
}

/** An exception that came as an event of a stream, or in place of an answer. */
export function exceptionOf(name: string, body: JsonObject | undefined): GatewayError {
  const word = name.toLowerCase()
  if (word === 'accessdeniedexception' || word === 'unrecognizedclientexception') {
    return new GatewayError('upstream_auth', "The upstream refused the gateway's credential.", {
      phase: 'stream_error',
    })
  }
  const message = messageOf(body)?.slice(0, MAX_MESSAGE_CHARS) || 'The upstream failed.'
  const status = STATUSES.get(word)
  if (status === 429) return new GatewayError('rate_limited', message, { phase: 'stream_error' })
  return new GatewayError('upstream_failed', message, {
    phase: 'stream_error',
    ...(status !== undefined && { status }),
  })
}

function messageOf(body: JsonObject | undefined): string | undefined {
  return stringOf(body?.message) ?? stringOf(body?.Message)
}

/** What the service writes where a conversation is longer than the model's window. */
const TOO_LONG = /input is too long|prompt is too long|too many (?:input )?tokens|exceeds? .{0,40}context/i

/** `{message}`, with the name of the error in a header or in `__type`. Never throws. */
export function decodeError(status: number, body: Json | undefined): UpstreamError {
  const document = objectOf(body)
  const message = messageOf(document)
  return { message, ...given({ code: codeOf(status, message ?? '') }) }
}

function codeOf(status: number, message: string): string | undefined {
  if (status === 429) return 'rate_limit_exceeded'
  if (status === 400 && TOO_LONG.test(message.slice(0, 512))) return 'context_length_exceeded'
  if (/model identifier is invalid/i.test(message.slice(0, 512))) return 'model_not_found'
  return status === 404 ? 'model_not_found' : undefined
}
