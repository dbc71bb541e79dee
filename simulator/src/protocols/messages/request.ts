import type { Fields } from '../../families/fields.js'
import { invalid, messageFields } from '../../families/messages.js'
import { modelOf } from '../../families/options.js'
import type { Call } from '../../protocol.js'
import type { TextRequest, Turn } from '../../text/conversation.js'
import { lastUserText } from '../../text/conversation.js'
import { partTokens, toolTokens } from '../../text/usage.js'
import { says } from '../../text/words.js'
import { type Block, readBlocks } from './blocks.js'
import { type Cached, cached, type Piece, readMark } from './cache.js'
import { type Message, readMessages, turnsOf } from './conversation.js'
import { checkThoughts, readThinking } from './thinking.js'
import { readFormat, readTools, type ToolSet } from './tools.js'

export interface MessagesRequest {
  readonly model: string
  readonly text: TextRequest
  readonly messages: readonly Message[]
  readonly stream: boolean
  /** Whether thoughts are left out, and only signed. */
  readonly omitted: boolean
  /** Whether thoughts are sent sealed. */
  readonly redacted: boolean
  readonly cached: Cached
}

const COUNTED = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config', 'cache_control']
/** Members of the version that is still in the making are accepted without asking for its header. */
const BETA = ['betas', 'container', 'mcp_servers', 'context_management', 'output_format', 'speed', 'fallbacks']
const MEMBERS = [
  ...[...COUNTED, ...BETA, 'max_tokens', 'stream', 'metadata', 'stop_sequences', 'temperature', 'top_k', 'top_p'],
  ...['service_tier', 'inference_geo'],
]

/** Reads the body of `POST /v1/messages`. Throws where it is not one. */
export function readMessagesRequest(call: Call): MessagesRequest {
  const body = messageFields(call.body).only(MEMBERS)
  const limit = body.need('max_tokens', name => body.integer(name, { min: 0 }))
  checkRest(body)
  return read(body, limit, call)
}

/** Reads the body of `POST /v1/messages/count_tokens`, which has nothing that only an answer needs. */
export function readCountRequest(call: Call): MessagesRequest {
  return read(messageFields(call.body).only([...COUNTED, ...BETA]), Number.POSITIVE_INFINITY, call)
}

function read(body: Fields, limit: number, { faults, seed }: Call): MessagesRequest {
  const model = modelOf(body)
  const system = body.raw('system') === undefined ? [] : readBlocks(body, 'system', 'system')
  const messages = readMessages(body)
  const { effort, omitted } = readThinking(body, limit, faults)
  checkThoughts(messages, body)
  const set = readTools(body)
  const { tools, choice, parallel } = set
  const turns: readonly Turn[] = [
    ...turnsOf(system.length === 0 ? [] : [{ role: 'system', blocks: system, path: 'system' }]),
    ...turnsOf(messages),
  ]
  const text: TextRequest = {
    turns,
    tools,
    choice,
    parallel,
    format: readFormat(body),
    limit,
    stop: body.strings('stop_sequences'),
    effort,
    length: faults.tokens,
    seed,
  }
  return {
    model,
    text,
    messages,
    stream: body.boolean('stream') ?? false,
    omitted,
    redacted: says(lastUserText(turns), 'simulate_redacted_thinking'),
    cached: cached(piecesOf(body, set, system, messages)),
  }
}

function checkRest(body: Fields): void {
  body.number('temperature', { min: 0, max: 1 })
  body.number('top_p', { min: 0, max: 1 })
  body.integer('top_k', { min: 0 })
  body.oneOf('service_tier', ['auto', 'standard_only'])
  body.fields('metadata')?.only(['user_id']).string('user_id')
  const blank = body.strings('stop_sequences').findIndex(each => each.trim() === '')
  if (blank >= 0) throw invalid('stop_sequences', 'each stop sequence must contain non-whitespace')
}

function piecesOf(
  body: Fields,
  { tools, marks }: ToolSet,
  system: readonly Block[],
  messages: readonly Message[],
): readonly Piece[] {
  const answered = messages.findLastIndex(({ role }) => role === 'assistant')
  const old = answered >= 0
  const pieces = [
    ...tools.map((tool, at) => ({ tokens: toolTokens(tool), mark: marks[at], old })),
    ...system.map(block => piece(block, old)),
    ...messages.flatMap(({ blocks }, at) => blocks.map(block => piece(block, at < answered))),
  ]
  const whole = readMark(body)
  return whole === undefined ? pieces : [...pieces, { tokens: 0, mark: whole, old: false }]
}

function piece({ part, mark }: Block, old: boolean): Piece {
  return { tokens: part === undefined ? 0 : partTokens(part), mark, old }
}
