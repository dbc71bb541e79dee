import { isObject, type Json, parseJson } from '../../json.js'
import type { Call } from '../../protocol.js'
import type { ReplyPart, TextReply } from '../../text/conversation.js'
import { compose } from '../../text/engine.js'
import { promptTokens, spoiled } from '../../text/usage.js'
import { citationsOf } from './citations.js'
import type { MessagesRequest } from './request.js'
import { redacted, signature } from './thinking.js'

/** A block of the answer: as it is begun, what comes piece by piece, and as it ends. */
interface ReplyBlock {
  readonly begun: object
  readonly deltas: readonly object[]
  readonly whole: object
}

export interface Reply {
  readonly id: string
  readonly model: string
  readonly blocks: readonly ReplyBlock[]
  readonly stop: Stop
  /** The counts at the beginning, before anything was said, and at the end; nothing where the tester wants none. */
  readonly usage: { readonly begun: object | undefined; readonly ended: object | undefined }
}

interface Stop {
  readonly stop_reason: string
  readonly stop_sequence: string | null
  readonly stop_details: object | null
}

const REASONS = {
  stop: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
  refusal: 'refusal',
  blocked: 'refusal',
} as const
const DIRECT = { caller: { type: 'direct' } } as const

/** Answers a request: the same for the whole message and for its stream. */
export function reply(request: MessagesRequest, { seed, faults }: Call): Reply {
  const answer = compose(request.text)
  return {
    id: `msg_01${seed.fork('id').letters(22)}`,
    model: request.model,
    blocks: answer.parts.flatMap((part, at) => blockOf(part, at, request)),
    stop: stopOf(answer),
    usage: {
      begun: spoiled(usageOf(request, { ...answer, output: 1, reasoning: 0 }), faults),
      ended: spoiled(usageOf(request, answer), faults),
    },
  }
}

function stopOf({ finish, stopped, parts }: TextReply): Stop {
  const refused = finish === 'refusal' || finish === 'blocked'
  const explanation = parts.flatMap(part => (part.type === 'refusal' ? part.tokens : [])).join('')
  return {
    stop_reason: stopped === undefined ? REASONS[finish] : 'stop_sequence',
    stop_sequence: stopped ?? null,
    stop_details: refused ? { type: 'refusal', category: null, explanation: explanation || null } : null,
  }
}

function blockOf(part: ReplyPart, at: number, request: MessagesRequest): readonly ReplyBlock[] {
  const said = part.tokens.join('')
  switch (part.type) {
    case 'reasoning':
      return [request.redacted ? sealedBlock(said) : thinkingBlock(part.tokens, request.omitted)]
    case 'text':
      return said === '' ? [] : [textBlock(part.tokens, citationsOf(part, request.messages))]
    case 'refusal':
      return [textBlock(part.tokens, [])]
    case 'call': {
      const id = `toolu_01${request.text.seed.fork('call', at).letters(22)}`
      return [callBlock({ type: 'tool_use', id, name: part.tool.name }, part.tokens)]
    }
  }
}

function sealedBlock(thought: string): ReplyBlock {
  const whole = { type: 'redacted_thinking', data: redacted(thought) }
  return { begun: whole, deltas: [], whole }
}

function thinkingBlock(tokens: readonly string[], omitted: boolean): ReplyBlock {
  const signed = signature(tokens.join(''), omitted)
  const shown = omitted ? [] : tokens
  return {
    begun: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...shown.map(thinking => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: signed },
    ],
    whole: { type: 'thinking', thinking: shown.join(''), signature: signed },
  }
}

function textBlock(tokens: readonly string[], cited: readonly object[]): ReplyBlock {
  const citations = cited.length === 0 ? {} : { citations: [] }
  return {
    begun: { ...citations, type: 'text', text: '' },
    deltas: [
      ...cited.map(citation => ({ type: 'citations_delta', citation })),
      ...tokens.map(text => ({ type: 'text_delta', text })),
    ],
    whole: { ...(cited.length === 0 ? {} : { citations: cited }), type: 'text', text: tokens.join('') },
  }
}

/** The first piece of the arguments is empty, and always comes. */
function callBlock(head: object, tokens: readonly string[]): ReplyBlock {
  return {
    begun: { ...head, input: {}, ...DIRECT },
    deltas: ['', ...tokens].map(partial_json => ({ type: 'input_json_delta', partial_json })),
    whole: { ...head, input: parsed(tokens.join('')), ...DIRECT },
  }
}

/** Arguments that the limit has cut are none. */
function parsed(text: string): Json {
  const value = parseJson(text)
  return isObject(value) ? value : {}
}

/** Input tokens are counted without those that a cache gave or took. */
function usageOf({ text, cached: { read, written } }: MessagesRequest, { output, reasoning }: TextReply) {
  const creation = written['5m'] + written['1h']
  return {
    input_tokens: promptTokens(text).input - read - creation,
    cache_creation_input_tokens: creation,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: written['5m'], ephemeral_1h_input_tokens: written['1h'] },
    output_tokens: output,
    ...(reasoning === 0 ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: 'not_available',
  }
}
