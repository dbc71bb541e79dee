import { isObject, type JsonObject } from '../json.js'
import { instanceOf } from '../schema/instance.js'
import type { Hints } from '../schema/scalars.js'
import type { CallPart, Citation, ReplyPart, TextPart, TextReply, TextRequest, Tool } from './conversation.js'
import { lastUserText } from './conversation.js'
import { heldIn, hintsIn } from './held.js'
import { filler, shortAnswer, THOUGHTS } from './phrases.js'
import { tokenize } from './tokens.js'
import { toolsToCall } from './tools.js'
import { says } from './words.js'

/** Reasoning tokens that an effort costs. */
const EFFORTS: ReadonlyMap<string, number> = new Map([
  ['none', 0],
  ['minimal', 16],
  ['low', 32],
  ['medium', 64],
  ['high', 128],
  ['xhigh', 256],
  ['max', 512],
])
const UNKNOWN_EFFORT_TOKENS = 64
const MAX_CUSTOM_INPUT_CHARS = 1000

/**
 * The text model: a pure function from a conversation to an answer. It calls the tools that the request names, keeps to
 * the format, the stop sequences and the limit, and otherwise quotes the prompt.
 */
export function compose(request: TextRequest): TextReply {
  const said = lastUserText(request.turns)
  if (says(said, 'simulate_block')) return BLOCKED
  const thoughts = reason(request)
  if (says(said, 'simulate_refusal')) return settle(request.limit, [...thoughts, REFUSAL], 'refusal', undefined)
  const calls = toolsToCall(request).map((tool, index) => call(request, tool, index))
  if (calls.length > 0) return settle(request.limit, [...thoughts, ...calls], 'calls', undefined)
  const { text, stopped } = cutAtStop(content(request), request.stop)
  const part: TextPart = { type: 'text', tokens: tokenize(text) }
  const cited = says(said, 'simulate_citation') && text.length > 0 ? { ...part, citation: citationIn(text) } : part
  return settle(request.limit, [...thoughts, cited], 'stop', stopped)
}

const BLOCKED: TextReply = { parts: [], finish: 'blocked', stopped: undefined, output: 0, reasoning: 0 }
const REFUSAL: ReplyPart = { type: 'refusal', tokens: tokenize('I am the simulator, and I was asked to refuse.') }

/** The first sentence comes from somewhere. */
function citationIn(text: string): Citation {
  const end = text.indexOf('. ')
  return { end: end < 0 ? text.length : end + 1, url: 'https://example.com/simulator', title: 'About the simulator' }
}

function reason({ effort, seed }: TextRequest): readonly ReplyPart[] {
  const length = effort === undefined ? 0 : (EFFORTS.get(effort) ?? UNKNOWN_EFFORT_TOKENS)
  return length === 0 ? [] : [{ type: 'reasoning', tokens: tokenize(filler(length, seed.fork('reasoning'), THOUGHTS)) }]
}

function call(request: TextRequest, tool: Tool, index: number): CallPart {
  const text = lastUserText(request.turns)
  if (tool.kind === 'custom') return { type: 'call', tool, tokens: tokenize(text.slice(0, MAX_CUSTOM_INPUT_CHARS)) }
  const schema = { type: 'object', ...tool.schema }
  const { hints } = heldIn(text, tool.schema)
  const value = instanceOf(withoutExtras(schema, hints), request.seed.fork('arguments', index), hints)
  return { type: 'call', tool, tokens: tokenize(JSON.stringify(value)) }
}

/**
 * A model gives the arguments that a tool requires, and others only if the prompt names them: invented limits and offsets
 * make real tools fail. A schema that does not say what it requires is filled in whole.
 */
function withoutExtras(schema: JsonObject, hints: Hints): JsonObject {
  const { required, properties } = schema
  if (!Array.isArray(required) || !isObject(properties)) return schema
  const given = Object.entries(properties).filter(([name]) => required.includes(name) || hints.has(name))
  return { ...schema, properties: Object.fromEntries(given) }
}

function content(request: TextRequest): string {
  const { format, seed, length } = request
  if (format.type === 'json') return JSON.stringify({ reply: shortAnswer(request), simulated: true })
  if (format.type !== 'text') {
    const value = instanceOf(format.schema, seed.fork('format'), hintsIn(lastUserText(request.turns)))
    return format.type === 'plain' && typeof value === 'string' ? value : JSON.stringify(value)
  }
  return length === undefined ? shortAnswer(request) : filler(length, seed.fork('filler'))
}

function cutAtStop(text: string, stops: readonly string[]): { text: string; stopped: string | undefined } {
  let cut = text.length
  let stopped: string | undefined
  for (const stop of stops) {
    const at = stop === '' ? -1 : text.indexOf(stop)
    if (at >= 0 && at < cut) [cut, stopped] = [at, stop]
  }
  return { text: text.slice(0, cut), stopped }
}

/** Reasoning comes first and is paid for first: a small limit can leave nothing for the answer. */
function settle(
  limit = Number.POSITIVE_INFINITY,
  parts: readonly ReplyPart[],
  finish: 'stop' | 'calls' | 'refusal',
  stopped: string | undefined,
): TextReply {
  let left = limit
  const kept = parts.flatMap(part => {
    const tokens = part.tokens.slice(0, left)
    left -= tokens.length
    const begun = part.type === 'text' || tokens.length > 0 || part.tokens.length === 0
    return begun ? [cut(part, tokens)] : []
  })
  const short = count(parts) > limit
  return {
    parts: kept,
    finish: short ? 'length' : finish,
    stopped: short ? undefined : stopped,
    output: count(kept),
    reasoning: count(kept.filter(part => part.type === 'reasoning')),
  }
}

/** A part with the tokens that are left of it; what cites more than is left cites nothing. */
function cut(part: ReplyPart, tokens: readonly string[]): ReplyPart {
  if (part.type !== 'text' || part.citation === undefined || part.citation.end <= tokens.join('').length)
    return { ...part, tokens }
  return { type: 'text', tokens }
}

function count(parts: readonly ReplyPart[]): number {
  return parts.reduce((sum, part) => sum + part.tokens.length, 0)
}
