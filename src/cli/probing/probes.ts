import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.js'
import type { LineAnswer } from '../../runtime/upstream-line.js'
import { valueAt } from '../testing/client.js'
import { namedLimit } from './named-limit.js'

/** Most tokens that one answer may have. */
export const MAX_OUTPUT_TOKENS = 64
/** More than any model's answer may have: a server that says its limit says it then. */
const TOO_MANY_TOKENS = 100_000_000

/** A server that knows the request, and was started without what it needs. */
export const NOT_IMPLEMENTED = 501
/** Words by which servers say that they cannot do something: some by 500, as if it were a fault of their own. */
export const REFUSAL = /\b(?:(?:not|un) ?support|unknown|unrecognized)/i

/** What was found by a probe's name; `unknown` where it was not asked. */
export type Found = (name: string) => string

/** One tiny request, and how its answer is read. */
export interface Probe {
  readonly name: string
  readonly what: string
  readonly protocol: string
  /** Whether `read` reads refusals, too: they are what is asked for. */
  readonly readsRefusals?: true
  /** The path, if the upstream is not declared to speak the protocol. */
  readonly path: string
  /** It costs more than a tiny request of texts, and is asked by leave alone. */
  readonly makesPictures?: true
  /** Which of the probes with one name is asked. Absent: this one. */
  isFor?(found: Found): boolean
  /** Why it is not asked after what was found. */
  skips?(found: Found): string | undefined
  body(model: string, limit: JsonObject): JsonObject
  /** What a server that reads what is asked about must refuse: sent after a yes. */
  nonsense?(model: string): JsonObject
  /** What was found: `yes`, `no`, or a value. Absent: an answer with status 200 is a yes. */
  read?(answer: LineAnswer): string
}

/** A picture of one pixel, and a tenth of a second of silence. */
export const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SILENCE_BYTES = 1600

const TOOL = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

const chat = (
  name: string,
  what: string,
  more: (model: string) => JsonObject,
  read?: (answer: LineAnswer) => string,
): Probe => ({
  name,
  what,
  protocol: 'chat',
  path: '/v1/chat/completions',
  body: (model, limit) => ({ model, messages: said('Say yes.'), ...limit, ...more(model) }),
  ...(read === undefined ? {} : { read }),
})

const other = (
  name: string,
  what: string,
  protocol: string,
  path: string,
  body: Probe['body'],
  read?: Probe['read'],
): Probe => ({
  ...{ name, what, protocol, path, body },
  ...(read === undefined ? {} : { read }),
})

/** Whether the server answers chat at all: without that its refusals say nothing of what was asked. */
export function speaksChat(found: Found): boolean {
  return ['max_completion_tokens', 'max_tokens', 'system', 'developer'].some(name => found(name) === 'yes')
}

/** All probes. Those of the limit come first: the others name it as they have found. */
export const LIMIT_PROBES: readonly Probe[] = [limitProbe('max_completion_tokens'), limitProbe('max_tokens')]

export const PROBES: readonly Probe[] = [
  chat('system', 'instructions in the role system', () => ({
    messages: [{ role: 'system', content: 'Be short.' }, ...said('Say yes.')],
  })),
  chat('developer', 'instructions in the role developer', () => ({
    messages: [{ role: 'developer', content: 'Be short.' }, ...said('Say yes.')],
  })),
  chat('sampling', 'temperature and top_p', () => ({ temperature: 0.5, top_p: 0.9 })),
  chat('reasoning_effort', 'the amount of thinking', () => ({ reasoning_effort: 'low' })),
  chat(
    'structured',
    'answers by a JSON schema',
    () => ({
      messages: said('Name a city as JSON.'),
      response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: SCHEMA } },
    }),
    fitsSchema,
  ),
  chat(
    'tools',
    'a tool that must be called',
    () => ({ messages: said('weather city=Paris'), tools: [TOOL], tool_choice: 'required' }),
    answer => (calls(answer) > 0 ? 'yes' : 'no'),
  ),
  chat('parallel_calls', 'whether several calls may be wanted', () => ({
    messages: said('weather city=Paris'),
    tools: [TOOL],
    parallel_tool_calls: true,
  })),
  chat(
    'stream',
    'a stream',
    () => ({ stream: true }),
    ({ text }) => (/^data: *\[DONE\]/m.test(text) ? 'yes' : /^data:/m.test(text) ? 'without an end' : 'no'),
  ),
  chat(
    'stream_usage',
    'usage in streams',
    () => ({ stream: true, stream_options: { include_usage: true } }),
    ({ text }) => (/"prompt_tokens"\s*:\s*\d/.test(text) ? 'yes' : 'no'),
  ),
  chat('images', 'a picture', () => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Say yes.' },
          { type: 'image_url', image_url: { url: PIXEL } },
        ],
      },
    ],
  })),
  chat('audio', 'a recording', () => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Say yes.' },
          { type: 'input_audio', input_audio: { data: silence(), format: 'wav' } },
        ],
      },
    ],
  })),
  other(
    'responses',
    'the protocol responses',
    'responses',
    '/v1/responses',
    model => ({ model, input: 'Say yes.', max_output_tokens: MAX_OUTPUT_TOKENS, store: false }),
    ({ body }) => (Array.isArray(valueAt(body, 'output')) ? 'yes' : 'no'),
  ),
  other(
    'structured_responses',
    'answers by a JSON schema in the protocol responses',
    'responses',
    '/v1/responses',
    model => ({
      model,
      input: 'Name a city as JSON.',
      max_output_tokens: MAX_OUTPUT_TOKENS,
      store: false,
      text: { format: { type: 'json_schema', name: 'city', strict: true, schema: SCHEMA } },
    }),
    ({ body }) => fits(textOf(valueAt(body, 'output'))),
  ),
  {
    ...other('kept_responses', 'whether it keeps responses', 'responses', '/v1/responses', model => ({
      model,
      input: 'Say yes.',
      max_output_tokens: MAX_OUTPUT_TOKENS,
      previous_response_id: `resp_${'0'.repeat(48)}`,
    })),
    readsRefusals: true,
    read: keepsResponses,
  },
  other(
    'messages',
    'the protocol messages',
    'messages',
    '/v1/messages',
    model => ({ model, max_tokens: MAX_OUTPUT_TOKENS, messages: said('Say yes.') }),
    ({ body }) => (valueAt(body, 'type') === 'message' ? 'yes' : 'no'),
  ),
  other(
    'count_tokens',
    'counting tokens',
    'messages.count_tokens',
    '/v1/messages/count_tokens',
    model => ({ model, messages: said('Say yes.') }),
    ({ body }) => number(valueAt(body, 'input_tokens')),
  ),
  other(
    'generate',
    'the protocol generate',
    'generate',
    '/v1beta/models/{model}:generateContent',
    () => ({
      contents: [{ role: 'user', parts: [{ text: 'Say yes.' }] }],
      generationConfig: { maxOutputTokens: MAX_OUTPUT_TOKENS },
    }),
    ({ body }) => (Array.isArray(valueAt(body, 'candidates')) ? 'yes' : 'no'),
  ),
  other(
    'converse',
    'the protocol converse',
    'converse',
    '/model/{model}/converse',
    () => ({
      messages: [{ role: 'user', content: [{ text: 'Say yes.' }] }],
      inferenceConfig: { maxTokens: MAX_OUTPUT_TOKENS },
    }),
    ({ body }) => (valueAt(body, 'output.message.role') === 'assistant' ? 'yes' : 'no'),
  ),
  other(
    'embeddings',
    'the dimension of embeddings',
    'embeddings',
    '/v1/embeddings',
    model => ({ model, input: 'yes' }),
    ({ body }) => {
      const vector = valueAt(body, 'data.0.embedding')
      return Array.isArray(vector) ? String(vector.length) : 'no'
    },
  ),
  {
    ...chat('max_output', 'the limit of output that an error names', () => ({})),
    body: (model, limit) => ({
      model,
      messages: said('Say yes.'),
      ...Object.fromEntries(Object.keys(limit).map(name => [name, TOO_MANY_TOKENS])),
    }),
    readsRefusals: true,
    read: limitIn,
  },
  {
    ...chat('error', 'the shape of errors', () => ({})),
    body: () => ({ model: 'no-such-model-of-a-probe', messages: 'none' }),
    readsRefusals: true,
    read: shapeOf,
  },
]

function limitProbe(name: string): Probe {
  return {
    ...chat(name, `the limit of output as ${name}`, () => ({})),
    // A long answer shows whether the limit holds.
    body: model => ({ model, messages: said('Count from 1 to 100.'), [name]: MAX_OUTPUT_TOKENS }),
    read: ({ body }) => (Number(valueAt(body, 'usage.completion_tokens')) > MAX_OUTPUT_TOKENS ? 'no' : 'yes'),
  }
}

function said(content: string): Json[] {
  return [{ role: 'user', content }]
}

function calls({ body }: LineAnswer): number {
  const made = valueAt(body, 'choices.0.message.tool_calls')
  return Array.isArray(made) ? made.length : 0
}

function fitsSchema({ body }: LineAnswer): string {
  return fits(valueAt(body, 'choices.0.message.content'))
}

function fits(content: Json | undefined): string {
  const document = parseJson(typeof content === 'string' ? content : '')
  return isObject(document) && typeof document.city === 'string' ? 'yes' : 'no'
}

/** The text of a response: other items are thoughts. */
function textOf(output: Json | undefined): Json | undefined {
  const items = Array.isArray(output) ? output : []
  const message = items.find(item => valueAt(item, 'type') === 'message')
  return valueAt(message, 'content.0.text')
}

/** Asked to continue a response that no one made: who looks for it keeps responses. */
function keepsResponses({ status, text }: LineAnswer): string {
  if (status < 300 || status === NOT_IMPLEMENTED || REFUSAL.test(text)) return 'no'
  if (status !== 400 && status !== 404) return 'unknown'
  return /previous.response|resp_0{8}/i.test(text) ? 'yes' : 'no'
}

function number(value: Json | undefined): string {
  return typeof value === 'number' ? 'yes' : 'no'
}

/** The limit that an error names. An answer that is no error names none. */
function limitIn({ status, text, body }: LineAnswer): string {
  // Written anew, JSON has no escapes for > and <.
  const said = body === undefined ? text : JSON.stringify(body)
  const limit = status < 400 ? undefined : namedLimit(said, TOO_MANY_TOKENS)
  return limit === undefined ? 'not named' : String(limit)
}

/** The family whose errors have this shape. */
function shapeOf({ status, body }: LineAnswer): string {
  if (status < 400) return 'answered'
  const error = valueAt(body, 'error')
  if (!isObject(error)) return body === undefined ? 'no JSON' : 'its own'
  if (valueAt(body, 'type') === 'error') return 'messages'
  return typeof error.status === 'string' && typeof error.code === 'number' ? 'native' : 'compatible'
}

function silence(): string {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + SILENCE_BYTES, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8000, 24)
  head.writeUInt32LE(16_000, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(SILENCE_BYTES, 40)
  return Buffer.concat([head, Buffer.alloc(SILENCE_BYTES)]).toString('base64')
}
