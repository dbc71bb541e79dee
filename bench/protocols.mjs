// What an upstream of each text protocol answers in the measurements: one JSON document of about 1 KiB, and a stream of
// EVENTS deltas. The text is the same in all of them.
import { EventStreamCodec } from '@smithy/core/event-streams'
import { EVENTS } from './workloads.mjs'

const TEXT = 'the gateway reads a line and sends it on. '.repeat(16).trim()
const PIECE = ' token'

const sse = (data, event) => `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
const times = piece => Array.from({ length: EVENTS }, () => piece)
/** Events that carry their own name, as the stateful and the block protocols have them. */
const typed = data => sse(data, data.type)

const CHAT_HEAD = { id: 'chatcmpl-bench-0123456789abcdef', created: 1_700_000_000, model: 'bench-1' }
const CHAT_USAGE = { prompt_tokens: 73, completion_tokens: 200, total_tokens: 273 }

function chatChunk(delta, finish_reason = null) {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }]
  return sse({ ...CHAT_HEAD, object: 'chat.completion.chunk', choices, usage: null })
}

const RESPONSE = { id: 'resp_bench', object: 'response', created_at: 1_700_000_000, model: 'bench-1' }
const RESPONSE_USAGE = {
  input_tokens: 73,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 200,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 273,
}
const outputText = text => ({ type: 'output_text', text, annotations: [], logprobs: [] })
const outputMessage = (text, status) => {
  const content = text === undefined ? [] : [outputText(text)]
  return { type: 'message', id: 'msg_bench', status, role: 'assistant', content }
}
const response = (status, output, usage = null) => ({ ...RESPONSE, status, output, usage, error: null })

const MESSAGE = { id: 'msg_bench', type: 'message', role: 'assistant', model: 'bench-1' }
const MESSAGE_USAGE = {
  input_tokens: 73,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 200,
}

const GENERATE_USAGE = { promptTokenCount: 73, candidatesTokenCount: 200, totalTokenCount: 273 }
function generated(text, finishReason) {
  const candidate = { content: { parts: [{ text }], role: 'model' }, ...(finishReason && { finishReason }), index: 0 }
  return { candidates: [candidate], usageMetadata: GENERATE_USAGE, modelVersion: 'bench-1', responseId: 'bench' }
}

const codec = new EventStreamCodec(
  bytes => Buffer.from(bytes).toString('utf8'),
  text => Buffer.from(text),
)
/** A message of the binary framing, as a text of its bytes. */
function binary(event, payload) {
  const texts = { ':event-type': event, ':content-type': 'application/json', ':message-type': 'event' }
  const headers = Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, { type: 'string', value }]))
  return Buffer.from(codec.encode({ headers, body: Buffer.from(JSON.stringify(payload)) })).toString('latin1')
}
const CONVERSE_USAGE = { inputTokens: 73, outputTokens: 200, totalTokens: 273 }
const METRICS = { latencyMs: 100 }

export const PROTOCOLS = {
  chat: {
    path: '/v1/chat/completions',
    body: stream => ({
      model: 'bench-MODEL',
      ...(stream && { stream, stream_options: { include_usage: true } }),
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: TEXT },
      ],
      max_completion_tokens: 1000,
    }),
    document: {
      ...CHAT_HEAD,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: TEXT, refusal: null }, finish_reason: 'stop' }],
      usage: CHAT_USAGE,
    },
    start: chatChunk({ role: 'assistant', content: '' }),
    deltas: times(chatChunk({ content: PIECE })),
    end: `${chatChunk({}, 'stop')}${sse({ ...CHAT_HEAD, object: 'chat.completion.chunk', choices: [], usage: CHAT_USAGE })}data: [DONE]\n\n`,
  },
  responses: {
    path: '/v1/responses',
    body: stream => ({
      model: 'bench-MODEL',
      ...(stream && { stream }),
      instructions: 'You are a helpful assistant.',
      input: TEXT,
      store: false,
      max_output_tokens: 1000,
    }),
    document: response('completed', [outputMessage(TEXT, 'completed')], RESPONSE_USAGE),
    start: [
      { type: 'response.created', sequence_number: 0, response: response('in_progress', []) },
      { type: 'response.in_progress', sequence_number: 1, response: response('in_progress', []) },
      {
        type: 'response.output_item.added',
        sequence_number: 2,
        output_index: 0,
        item: outputMessage(undefined, 'in_progress'),
      },
      {
        type: 'response.content_part.added',
        sequence_number: 3,
        item_id: 'msg_bench',
        output_index: 0,
        content_index: 0,
        part: outputText(''),
      },
    ]
      .map(typed)
      .join(''),
    deltas: Array.from({ length: EVENTS }, (_, i) =>
      typed({
        type: 'response.output_text.delta',
        sequence_number: 4 + i,
        item_id: 'msg_bench',
        output_index: 0,
        content_index: 0,
        delta: PIECE,
        logprobs: [],
      }),
    ),
    end: [
      {
        type: 'response.output_text.done',
        sequence_number: 4 + EVENTS,
        item_id: 'msg_bench',
        output_index: 0,
        content_index: 0,
        text: PIECE.repeat(EVENTS),
        logprobs: [],
      },
      {
        type: 'response.output_item.done',
        sequence_number: 5 + EVENTS,
        output_index: 0,
        item: outputMessage(PIECE.repeat(EVENTS), 'completed'),
      },
      {
        type: 'response.completed',
        sequence_number: 6 + EVENTS,
        response: response('completed', [outputMessage(PIECE.repeat(EVENTS), 'completed')], RESPONSE_USAGE),
      },
    ]
      .map(typed)
      .join(''),
  },
  messages: {
    path: '/v1/messages',
    body: stream => ({
      model: 'bench-MODEL',
      ...(stream && { stream }),
      system: 'You are a helpful assistant.',
      max_tokens: 1000,
      messages: [{ role: 'user', content: TEXT }],
    }),
    document: {
      ...MESSAGE,
      content: [{ type: 'text', text: TEXT }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: MESSAGE_USAGE,
    },
    start: [
      {
        type: 'message_start',
        message: { ...MESSAGE, content: [], stop_reason: null, stop_sequence: null, usage: MESSAGE_USAGE },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ]
      .map(typed)
      .join(''),
    deltas: times(typed({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: PIECE } })),
    end: [
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: MESSAGE_USAGE },
      { type: 'message_stop' },
    ]
      .map(typed)
      .join(''),
  },
  generate: {
    path: '/v1beta/models/bench-MODEL:generateContent',
    streamPath: '/v1beta/models/bench-MODEL:streamGenerateContent?alt=sse',
    body: () => ({
      systemInstruction: { parts: [{ text: 'You are a helpful assistant.' }] },
      contents: [{ role: 'user', parts: [{ text: TEXT }] }],
      generationConfig: { maxOutputTokens: 1000 },
    }),
    document: generated(TEXT, 'STOP'),
    start: '',
    deltas: times(sse(generated(PIECE)).replaceAll('\n', '\r\n')),
    end: sse(generated('', 'STOP')).replaceAll('\n', '\r\n'),
  },
  converse: {
    path: '/model/bench-MODEL/converse',
    streamPath: '/model/bench-MODEL/converse-stream',
    type: 'application/vnd.amazon.eventstream',
    body: () => ({
      system: [{ text: 'You are a helpful assistant.' }],
      messages: [{ role: 'user', content: [{ text: TEXT }] }],
      inferenceConfig: { maxTokens: 1000 },
    }),
    document: {
      output: { message: { role: 'assistant', content: [{ text: TEXT }] } },
      stopReason: 'end_turn',
      usage: CONVERSE_USAGE,
      metrics: METRICS,
    },
    start: binary('messageStart', { role: 'assistant' }),
    deltas: times(binary('contentBlockDelta', { contentBlockIndex: 0, delta: { text: PIECE } })),
    end: [
      binary('contentBlockStop', { contentBlockIndex: 0 }),
      binary('messageStop', { stopReason: 'end_turn' }),
      binary('metadata', { usage: CONVERSE_USAGE, metrics: METRICS }),
    ].join(''),
  },
}

/** The protocol that a request's path speaks. */
export function protocolOf(path) {
  if (path.includes('/chat/')) return PROTOCOLS.chat
  if (path.includes('/responses')) return PROTOCOLS.responses
  if (path.includes('/converse')) return PROTOCOLS.converse
  return path.includes('/messages') ? PROTOCOLS.messages : PROTOCOLS.generate
}
