import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { LineAnswer } from '../../runtime/upstream-line.js'
import { valueAt } from '../testing/client.js'

/** Most tokens that one answer may have. */
export const MAX_OUTPUT_TOKENS = 64
/** More than any model's answer may have: a server that says its limit says it then. */
const TOO_MANY_TOKENS = 100_000_000

/** One tiny request, and how its answer is read. */
export interface Probe {
  readonly name: string
  readonly what: string
  readonly protocol: string
  /** The path, if the upstream is not declared to speak the protocol. */
  readonly path: string
  body(model: string, limit: JsonObject): JsonObject
  /** What was found: `yes`, `no`, or a value. Absent: an answer with status 200 is a yes. */
  read?(answer: LineAnswer): string
}

/** A picture of one pixel, and a tenth of a second of silence. */
const PIXEL =
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
  other('responses', 'the protocol responses', 'responses', '/v1/responses', model => ({
    model,
    input: 'Say yes.',
    max_output_tokens: MAX_OUTPUT_TOKENS,
    store: false,
  })),
  other('messages', 'the protocol messages', 'messages', '/v1/messages', model => ({
    model,
    max_tokens: MAX_OUTPUT_TOKENS,
    messages: said('Say yes.'),
  })),
  other(
    'count_tokens',
    'counting tokens',
    'messages.count_tokens',
    '/v1/messages/count_tokens',
    model => ({ model, messages: said('Say yes.') }),
    ({ body }) => number(valueAt(body, 'input_tokens')),
  ),
  other('generate', 'the protocol generate', 'generate', '/v1beta/models/{model}:generateContent', () => ({
    contents: [{ role: 'user', parts: [{ text: 'Say yes.' }] }],
    generationConfig: { maxOutputTokens: MAX_OUTPUT_TOKENS },
  })),
  other('converse', 'the protocol converse', 'converse', '/model/{model}/converse', () => ({
    messages: [{ role: 'user', content: [{ text: 'Say yes.' }] }],
    inferenceConfig: { maxTokens: MAX_OUTPUT_TOKENS },
  })),
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
    read: namedLimit,
  },
  {
    ...chat('error', 'the shape of errors', () => ({})),
    body: () => ({ model: 'no-such-model-of-a-probe', messages: 'none' }),
    read: shapeOf,
  },
]

function limitProbe(name: string): Probe {
  return {
    ...chat(name, `the limit of output as ${name}`, () => ({})),
    body: model => ({ model, messages: said('Say yes.'), [name]: MAX_OUTPUT_TOKENS }),
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
  const content = valueAt(body, 'choices.0.message.content')
  try {
    const document: unknown = JSON.parse(typeof content === 'string' ? content : '')
    return isObject(document) && typeof document.city === 'string' ? 'yes' : 'no'
  } catch {
    return 'no'
  }
}

function number(value: Json | undefined): string {
  return typeof value === 'number' ? 'yes' : 'no'
}

/** The largest number of an error, other than what was asked. An answer that is no error names none. */
function namedLimit({ status, text }: LineAnswer): string {
  if (status < 400) return 'not named'
  const found = [...text.matchAll(/\d[\d,]{2,8}\b/g)].map(([digits]) => Number(digits.replaceAll(',', '')))
  const limits = found.filter(limit => limit >= 128 && limit < TOO_MANY_TOKENS)
  return limits.length === 0 ? 'not named' : String(Math.max(...limits))
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
