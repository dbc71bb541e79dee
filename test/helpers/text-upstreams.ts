import { chunk, json, LAST_CHUNK, startStream } from './answers.js'
import { EVENTSTREAM, messageBytes } from './eventstream.js'
import type { Peer, Script } from './raw-upstream.js'
import type { Protocol } from './text-clients.js'

type Members = Readonly<Record<string, unknown>>

/** What an upstream of one protocol sends. The text of its answers is `one two three`. */
export interface TextUpstream {
  /** `generate, array` where a protocol's streams have several framings. */
  readonly name: string
  readonly protocol: Protocol
  /** Members `speaks` and `credential` of its entry in the configuration. */
  readonly yaml: string
  readonly contentType: string
  /** More headers of its streams. */
  readonly headers?: Readonly<Record<string, string>>
  readonly answer: Members
  /** Pieces of a whole stream, a message each: as they are sent, or as {@link TextUpstream.bytes} makes bytes of them. */
  readonly pieces: readonly string[]
  /** So many of them have to come before the answer counts as whole, if the transfer then ends well. */
  readonly enough: number
  /** One message of a stream: the data of an event, or a document. */
  piece(data: string, event?: string): string
  /** The bytes of pieces. */
  bytes(pieces: string): Buffer
  refusal(message: string, more?: Members): Members
  /** A message of a stream that tells of a failure. */
  failure(message: string): string
}

const credential = (name: string, scheme = ''): string =>
  `credential: { in: header, name: ${name}, ${scheme}secret: { env: UPSTREAM_KEY } }`

const sse = (data: string, event?: string): string =>
  event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`

const EVENTS = 'text/event-stream; charset=utf-8'
/** Pieces are sent as they are. */
const asWritten = (pieces: string): Buffer => Buffer.from(pieces)
const WORDS = ['one ', 'two ', 'three']
export const TEXT = WORDS.join('')

// ── chat

const chatChunk = (delta: Members, more: Members = {}, finish: string | null = null): string =>
  sse(
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'up',
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...more,
    }),
  )

const CHAT_USAGE = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }

const chat: TextUpstream = {
  name: 'chat',
  protocol: 'chat',
  yaml: `speaks: { chat: POST /v1/chat/completions }, ${credential('authorization', 'scheme: Bearer, ')}`,
  contentType: EVENTS,
  answer: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'up',
    choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
    usage: CHAT_USAGE,
  },
  pieces: [
    chatChunk({ role: 'assistant', content: '' }),
    ...WORDS.map(content => chatChunk({ content })),
    chatChunk({}, {}, 'stop'),
    chatChunk({}, { choices: [], usage: CHAT_USAGE }),
    sse('[DONE]'),
  ],
  // Many servers leave out `[DONE]`: a finish reason and a transfer that ended well will do.
  enough: 5,
  piece: sse,
  bytes: asWritten,
  refusal: (message, more) => ({ error: { message, type: 'server_error', param: null, code: null, ...more } }),
  failure: message => sse(JSON.stringify({ error: { message, type: 'server_error', param: null, code: null } })),
}

// ── responses

const RESPONSE = { id: 'resp_up', object: 'response', created_at: 1, model: 'up', output: [], tools: [] }
const RESPONSES_USAGE = {
  input_tokens: 3,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 8,
}
const OUTPUT_TEXT = { type: 'output_text', text: TEXT, annotations: [], logprobs: [] }
const OUTPUT = { type: 'message', id: 'msg_up', role: 'assistant', status: 'completed', content: [OUTPUT_TEXT] }
const PLACE = { item_id: 'msg_up', output_index: 0, content_index: 0 }

const responsesEvents = (): readonly Members[] => [
  { type: 'response.created', response: { ...RESPONSE, status: 'in_progress' } },
  { type: 'response.in_progress', response: { ...RESPONSE, status: 'in_progress' } },
  { type: 'response.output_item.added', output_index: 0, item: { ...OUTPUT, status: 'in_progress', content: [] } },
  { type: 'response.content_part.added', ...PLACE, part: { ...OUTPUT_TEXT, text: '' } },
  ...WORDS.map(delta => ({ type: 'response.output_text.delta', ...PLACE, delta, logprobs: [] })),
  { type: 'response.output_text.done', ...PLACE, text: TEXT, logprobs: [] },
  { type: 'response.content_part.done', ...PLACE, part: OUTPUT_TEXT },
  { type: 'response.output_item.done', output_index: 0, item: OUTPUT },
  {
    type: 'response.completed',
    response: { ...RESPONSE, status: 'completed', output: [OUTPUT], usage: RESPONSES_USAGE },
  },
]

const responses: TextUpstream = {
  name: 'responses',
  protocol: 'responses',
  yaml: `speaks: { responses: POST /v1/responses }, ${credential('authorization', 'scheme: Bearer, ')}`,
  contentType: EVENTS,
  answer: { ...RESPONSE, status: 'completed', output: [OUTPUT], usage: RESPONSES_USAGE },
  pieces: responsesEvents().map((event, sequence_number) =>
    sse(JSON.stringify({ ...event, sequence_number }), String(event.type)),
  ),
  enough: 11,
  piece: sse,
  bytes: asWritten,
  refusal: chat.refusal,
  failure: message =>
    sse(
      JSON.stringify({
        type: 'response.failed',
        sequence_number: 20,
        response: { ...RESPONSE, status: 'failed', error: { code: 'server_error', message } },
      }),
      'response.failed',
    ),
}

// ── messages

const MESSAGE = { id: 'msg_up', type: 'message', role: 'assistant', model: 'up' }

const messagesEvents: readonly Members[] = [
  {
    type: 'message_start',
    message: {
      ...MESSAGE,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...WORDS.map(text => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]

const messages: TextUpstream = {
  name: 'messages',
  protocol: 'messages',
  yaml: `speaks: { messages: POST /v1/messages }, ${credential('x-api-key')}, headers: { anthropic-version: "2023-06-01" }, traits: { max_output: 4096 }`,
  contentType: EVENTS,
  answer: {
    ...MESSAGE,
    content: [{ type: 'text', text: TEXT }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 5 },
  },
  pieces: messagesEvents.map(event => sse(JSON.stringify(event), String(event.type))),
  enough: 8,
  piece: sse,
  bytes: asWritten,
  refusal: (message, more) => ({ type: 'error', error: { type: 'api_error', message, ...more }, request_id: 'req_up' }),
  failure: message => sse(JSON.stringify({ type: 'error', error: { type: 'api_error', message } }), 'error'),
}

// ── generate

const USAGE_METADATA = { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 }

const generateDocuments = WORDS.map((text, index) =>
  JSON.stringify({
    candidates: [
      {
        content: { role: 'model', parts: [{ text }] },
        index: 0,
        ...(index === WORDS.length - 1 && { finishReason: 'STOP' }),
      },
    ],
    usageMetadata: USAGE_METADATA,
    modelVersion: 'up',
    responseId: 'up-1',
  }),
)

const crlf = (data: string): string => `data: ${data}\r\n\r\n`
const nativeFailure = (message: string): Members => ({ error: { code: 503, message, status: 'UNAVAILABLE' } })

const generate: TextUpstream = {
  name: 'generate',
  protocol: 'generate',
  yaml: `speaks: { generate: { call: "POST /v1beta/models/{model}:generateContent", stream: "POST /v1beta/models/{model}:streamGenerateContent?alt=sse" } }, ${credential('x-goog-api-key')}`,
  contentType: 'text/event-stream',
  answer: {
    candidates: [{ content: { role: 'model', parts: [{ text: TEXT }] }, index: 0, finishReason: 'STOP' }],
    usageMetadata: USAGE_METADATA,
    modelVersion: 'up',
    responseId: 'up-1',
  },
  pieces: generateDocuments.map(crlf),
  enough: 3,
  piece: crlf,
  bytes: asWritten,
  refusal: (message, more) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT', ...more } }),
  failure: message => crlf(JSON.stringify(nativeFailure(message))),
}

/** The same, with its streams as one JSON array. */
const generateArray: TextUpstream = {
  ...generate,
  name: 'generate, array',
  contentType: 'application/json; charset=UTF-8',
  pieces: [...generateDocuments.map((document, index) => (index === 0 ? `[${document}` : `,\r\n${document}`)), ']'],
  enough: 4,
  piece: data => `,\r\n${data}`,
  failure: message => `,\r\n${JSON.stringify(nativeFailure(message))}`,
}

// ── converse

const CONVERSE_USAGE = { inputTokens: 3, outputTokens: 5, totalTokens: 8 }
const METRICS = { latencyMs: 1 }

const converseEvents: readonly (readonly [event: string, payload: Members])[] = [
  ['messageStart', { role: 'assistant' }],
  ...WORDS.map(text => ['contentBlockDelta', { contentBlockIndex: 0, delta: { text } }] as const),
  ['contentBlockStop', { contentBlockIndex: 0 }],
  ['messageStop', { stopReason: 'end_turn' }],
  ['metadata', { usage: CONVERSE_USAGE, metrics: METRICS }],
]

/** Its pieces are written as events of text; each becomes a message of the binary framing. */
const converse: TextUpstream = {
  name: 'converse',
  protocol: 'converse',
  yaml: `speaks: { converse: { call: "POST /model/{model}/converse", stream: "POST /model/{model}/converse-stream" } }, ${credential('authorization', 'scheme: Bearer, ')}`,
  contentType: EVENTSTREAM,
  answer: {
    output: { message: { role: 'assistant', content: [{ text: TEXT }] } },
    stopReason: 'end_turn',
    usage: CONVERSE_USAGE,
    metrics: METRICS,
  },
  pieces: converseEvents.map(([event, payload]) => sse(JSON.stringify(payload), event)),
  enough: 7,
  piece: (data, event = 'contentBlockDelta') => sse(data, event),
  bytes: messageBytes,
  refusal: (message, more) => ({ message, ...more }),
  failure: message => sse(JSON.stringify({ message }), 'internalServerException'),
}

export const UPSTREAMS: readonly TextUpstream[] = [chat, responses, messages, generate, generateArray, converse]
export const EACH_UPSTREAM = [chat, responses, messages, generate, converse] as const

export function upstreamOf(protocol: Protocol): TextUpstream {
  const found = EACH_UPSTREAM.find(upstream => upstream.protocol === protocol)
  if (found === undefined) throw new Error(`no upstream of ${protocol}`)
  return found
}

/** The head of a stream, and then these pieces and no end. */
export function begins(upstream: TextUpstream, pieces: readonly string[]): Script {
  return async peer => {
    await startStream(peer, { headers: { 'content-type': upstream.contentType, ...upstream.headers } })
    for (const piece of pieces) await peer.send(chunk(upstream.bytes(piece)))
  }
}

/** A stream of these pieces that ends well, or by `last`. */
export function streams(upstream: TextUpstream, pieces = upstream.pieces, last: Script = ends): Script {
  return async peer => {
    await begins(upstream, pieces)(peer)
    await last(peer)
  }
}

export const ends: Script = peer => peer.send(LAST_CHUNK)

/** A whole answer, or a whole stream where the request asks for one. */
export function answers(upstream: TextUpstream): Script {
  return peer => (isStream(peer) ? streams(upstream)(peer) : json(upstream.answer)(peer))
}

export function isStream(peer: Peer): boolean {
  const { target } = peer.request
  if (target.startsWith('/model/')) return target.endsWith('/converse-stream')
  if (target.includes(':')) return target.includes('stream')
  return (peer.request.json() as { stream?: boolean }).stream === true
}
