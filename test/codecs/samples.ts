import type { Field } from '../../src/core/fields.js'
import type { Json, JsonObject } from '../../src/core/json.js'
import type { HostedTool, MediaPart, Part, ReasoningWish, TextRequest, Tool, Turn } from '../../src/core/text.js'
import { requestOf } from './support.js'

/** A request that says one field, and what has to be read again of it where it was carried. */
export interface Sample {
  readonly name: string
  readonly request: TextRequest
  readonly read: (request: TextRequest) => unknown
}

export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='
const PDF = 'JVBERi0xLjQKJSVFT0YK'
const MP4 = 'AAAAGGZ0eXBpc29tAAAAAGlzb21tcDQy'

const SCHEMA: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
  additionalProperties: false,
}

const WEATHER: Tool = { type: 'function', name: 'weather', description: 'The weather of a city', schema: SCHEMA }
const CLOCK: Tool = { type: 'function', name: 'clock', description: 'The time of day' }

function user(...parts: Part[]): Turn {
  return { role: 'user', parts }
}

function assistant(...parts: Part[]): Turn {
  return { role: 'assistant', parts }
}

function text(words: string): Part {
  return { type: 'text', text: words }
}

const ASK = user(text('What is the weather?'))
const CALL: Part = { type: 'call', id: 'call_1', name: 'weather', arguments: '{"city":"Bonn","days":1}' }
const CALL2: Part = { type: 'call', id: 'call_2', name: 'weather', arguments: '{"city":"Rom","days":2}' }
const RESULT: Part = { type: 'result', id: 'call_1', parts: [{ type: 'text', text: 'Rain.' }] }
const RESULT2: Part = { type: 'result', id: 'call_2', parts: [{ type: 'text', text: 'Sun.' }] }

function parts(request: TextRequest): Part[] {
  return request.turns.flatMap(turn => turn.parts)
}

function media(request: TextRequest): MediaPart[] {
  return parts(request).filter((part): part is MediaPart => part.type === 'media')
}

/** Role and words of each turn; neighbours of one role are one. */
export function conversation(request: TextRequest): readonly (readonly [string, string])[] {
  const turns: [string, string][] = []
  for (const { role, parts } of request.turns) {
    const words = parts.map(part => (part.type === 'text' || part.type === 'refusal' ? part.text : '')).join('')
    const last = turns.at(-1)
    if (last?.[0] === role) last[1] += words
    else turns.push([role, words])
  }
  return turns
}

/** Each result by the call that it answers. */
function answered(request: TextRequest): unknown {
  const calls = parts(request).filter(part => part.type === 'call')
  const results = parts(request).filter(part => part.type === 'result')
  return {
    calls: calls.map(call => [call.name, JSON.parse(call.arguments)]),
    results: results.map(({ id, parts, error }) => [
      calls.findIndex(call => call.id === id),
      parts.map(part => (part.type === 'text' ? part.text : part.kind)),
      error ?? false,
    ]),
  }
}

function one(request: Partial<TextRequest>, read: Sample['read'], name = ''): Sample {
  return { name, request: requestOf(request), read }
}

function said<K extends keyof TextRequest>(key: K, value: TextRequest[K], more: Partial<TextRequest> = {}): Sample {
  return one({ ...more, [key]: value }, request => request[key], JSON.stringify(value))
}

function shown(part: MediaPart, read: (part: MediaPart | undefined) => unknown): Sample {
  return one({ turns: [user(text('Look at this.'), part)] }, request => read(media(request)[0]))
}

function thinks(wish: ReasoningWish, key: keyof ReasoningWish): Sample {
  return one({ reasoning: wish, maxTokens: 60_000 }, ({ reasoning }) => reasoning?.[key], JSON.stringify(wish))
}

const tooled = { tools: [WEATHER, CLOCK], turns: [ASK] }
const answers = [ASK, assistant(CALL, CALL2), user(RESULT, RESULT2)]

/** Tools that run at the upstream, as each protocol writes them. */
const SEARCH: Readonly<Record<string, JsonObject>> = {
  chat: { search_context_size: 'medium' },
  responses: { type: 'web_search' },
  messages: { type: 'web_search_20250305', name: 'web_search' },
  generate: { googleSearch: {} },
}
const CODE: Readonly<Record<string, JsonObject>> = {
  responses: { type: 'code_interpreter', container: { type: 'auto' } },
  messages: { type: 'code_execution_20250825', name: 'code_execution' },
  generate: { codeExecution: {} },
}
const OTHER: Readonly<Record<string, JsonObject>> = {
  responses: { type: 'file_search', vector_store_ids: ['vs_1'] },
  messages: { type: 'memory_20250818', name: 'memory' },
  generate: { googleMaps: {} },
}

/** One tool for each other protocol that knows such tools. */
function hosted(own: string, kind: HostedTool['kind'], tools: Readonly<Record<string, JsonObject>>): Sample[] {
  return Object.entries(tools)
    .filter(([of]) => of !== own)
    .map(([of, value]) => {
      const name = typeof value.type === 'string' ? value.type : (Object.keys(value)[0] ?? kind)
      const tool: Tool = { type: 'hosted', kind, name, of, value }
      return one({ tools: [tool] }, ({ tools }) => tools.map(one => (one.type === 'hosted' ? one.kind : one.type)), of)
    })
}

const IMAGE: MediaPart = { type: 'media', kind: 'image', mime: 'image/png', source: { base64: PNG } }
const DOCUMENT: MediaPart = {
  type: 'media',
  kind: 'document',
  mime: 'application/pdf',
  name: 'report.pdf',
  source: { base64: PDF },
}

/** Requests for each field, as a client of another protocol than `own` may have sent them. */
export const SAMPLES: Readonly<Record<Field, (own: string, other: string) => readonly Sample[]>> = {
  system: () => [
    one({ system: [{ type: 'text', text: 'Be kind.' }] }, ({ system }) => system.map(({ text }) => text).join()),
  ],
  midSystem: () => [
    one(
      { turns: [user(text('Hi.')), assistant(text('Hello.')), { role: 'system', parts: [text('Be brief.')] }, ASK] },
      conversation,
    ),
  ],
  turns: () => [
    one({ turns: [user(text('Hi.')), assistant(text('Hello.')), ASK] }, conversation),
    one({ turns: [user(text('One.'), text(' Two.'))] }, conversation, 'two parts'),
  ],
  participant: () => [one({ turns: [{ ...ASK, name: 'ann' }] }, ({ turns }) => turns.map(({ name }) => name))],
  prefill: () => [one({ turns: [ASK, assistant(text('It is'))] }, conversation)],
  imageData: () => [shown(IMAGE, part => [part?.kind, part?.mime, part?.source])],
  imageUrl: () => [
    shown({ type: 'media', kind: 'image', source: { url: 'https://example.com/a.png' } }, part => [
      part?.kind,
      part?.source,
    ]),
  ],
  imageDetail: () => [shown({ ...IMAGE, detail: 'low' }, part => part?.detail)],
  audioData: () => [
    shown({ type: 'media', kind: 'audio', mime: 'audio/wav', source: { base64: WAV } }, part => [
      part?.kind,
      part?.source,
    ]),
  ],
  videoData: () => [
    shown({ type: 'media', kind: 'video', mime: 'video/mp4', source: { base64: MP4 } }, part => [
      part?.kind,
      part?.source,
    ]),
  ],
  mediaUrl: () => [
    shown(
      { type: 'media', kind: 'audio', mime: 'audio/mpeg', source: { url: 'https://example.com/a.mp3' } },
      part => part?.source,
    ),
    shown(
      { type: 'media', kind: 'video', mime: 'video/mp4', source: { url: 'https://example.com/a.mp4' } },
      part => part?.source,
    ),
  ],
  documentData: () => [shown(DOCUMENT, part => [part?.kind, part?.mime, part?.source])],
  documentText: () => [
    shown(
      { type: 'media', kind: 'document', mime: 'text/plain', name: 'notes', source: { text: 'Rain.' } },
      part => part?.source,
    ),
  ],
  documentUrl: () => [
    shown(
      { type: 'media', kind: 'document', mime: 'application/pdf', source: { url: 'https://example.com/a.pdf' } },
      part => [part?.kind, part?.source],
    ),
  ],
  documentContext: () => [shown({ ...DOCUMENT, context: 'A report of March.' }, part => part?.context)],
  fileId: (_own, of) => [
    shown({ type: 'media', kind: 'document', source: { file: 'file_1', of } }, part => part?.source),
    shown({ type: 'media', kind: 'image', source: { file: 'file_1', of } }, part => part?.source),
  ],
  cite: () => [shown({ ...DOCUMENT, cite: true }, part => part?.cite)],
  tools: () => [
    one(tooled, ({ tools }) =>
      tools.map(tool =>
        tool.type === 'function' ? [tool.name, tool.description, tool.schema?.properties ?? {}] : tool.type,
      ),
    ),
  ],
  strictTools: () => [
    one({ ...tooled, tools: [{ ...WEATHER, strict: true }] as Tool[] }, ({ tools }) =>
      tools.map(tool => tool.type === 'function' && tool.strict),
    ),
  ],
  customTools: () => [
    one({ ...tooled, tools: [{ type: 'custom', name: 'shell', description: 'Runs a command' }] }, ({ tools }) =>
      tools.map(tool => [tool.type, tool.name]),
    ),
  ],
  hostedWebSearch: own => hosted(own, 'web_search', SEARCH),
  hostedCode: own => hosted(own, 'code_execution', CODE),
  hostedOther: own => hosted(own, 'other', OTHER),
  toolChoice: () => [
    said('toolChoice', { type: 'auto' }, tooled),
    said('toolChoice', { type: 'none' }, tooled),
    said('toolChoice', { type: 'required' }, tooled),
    said('toolChoice', { type: 'tool', name: 'clock' }, tooled),
  ],
  toolSubset: () => [
    said('toolChoice', { type: 'subset', mode: 'required', names: ['clock', 'weather'] }, tooled),
    said('toolChoice', { type: 'subset', mode: 'auto', names: ['clock'] }, tooled),
  ],
  parallelTools: () => [said('parallelTools', false, tooled)],
  calls: () => [
    one({ ...tooled, turns: answers }, answered),
    one(
      { ...tooled, turns: [ASK, assistant(text('I look.'), CALL), user(RESULT, text('Go on.'))] },
      answered,
      'among text',
    ),
  ],
  results: () => [
    one({ ...tooled, turns: answers }, answered),
    one({ ...tooled, turns: [ASK, assistant(CALL, CALL2), user(RESULT), user(RESULT2)] }, answered, 'a turn each'),
  ],
  resultError: () => [
    one({ ...tooled, turns: [ASK, assistant(CALL), user({ ...RESULT, error: true } as Part)] }, answered),
  ],
  resultMedia: () => [
    one(
      {
        ...tooled,
        turns: [ASK, assistant(CALL), user({ ...RESULT, parts: [{ type: 'text', text: 'A map.' }, IMAGE] } as Part)],
      },
      answered,
    ),
  ],
  reasoningParts: (_own, by) => [
    one(
      {
        ...tooled,
        turns: [
          ASK,
          assistant({ type: 'reasoning', text: 'I have to look.', seal: { by, value: 'c2VhbA==' } }, CALL),
          user(RESULT),
        ],
        reasoning: { effort: 'high' },
        maxTokens: 60_000,
      },
      request => parts(request).flatMap(part => (part.type === 'reasoning' ? [part.text] : [])),
    ),
  ],
  refusals: () => [one({ turns: [ASK, assistant({ type: 'refusal', text: 'No.' }), ASK] }, conversation)],
  hostedParts: (_own, of) => [
    one(
      { turns: [ASK, assistant({ type: 'hosted', of, value: { type: 'trace', id: 't_1' } }, text('Rain.')), ASK] },
      request => parts(request).filter(({ type }) => type === 'hosted'),
    ),
  ],
  cacheMarks: () => [
    one({ turns: [user({ ...text('A long text.'), cache: { ttl: '1h' } } as Part, text('And?'))] }, request =>
      parts(request).map(({ cache }) => cache),
    ),
    one({ ...tooled, tools: [{ ...WEATHER, cache: {} }] }, ({ tools }) => tools.map(({ cache }) => cache), 'of a tool'),
    one(
      { system: [{ type: 'text', text: 'Long.', cache: {} }] },
      ({ system }) => system.map(({ cache }) => cache),
      'of system',
    ),
  ],
  maxTokens: () => [said('maxTokens', 100)],
  temperature: () => [said('temperature', 0.5), said('temperature', 0)],
  topP: () => [said('topP', 0.25)],
  topK: () => [said('topK', 40)],
  stop: () => [said('stop', ['END']), said('stop', ['END', 'STOP'])],
  seed: () => [said('seed', 7)],
  presencePenalty: () => [said('presencePenalty', 0.5)],
  frequencyPenalty: () => [said('frequencyPenalty', -0.5)],
  logitBias: () => [said('logitBias', { '50256': -100 })],
  candidates: () => [said('candidates', 2)],
  logprobs: () => [said('logprobs', 3), said('logprobs', 0)],
  formatJson: () => [said('format', { type: 'json' })],
  formatSchema: () => [
    one({ format: { type: 'schema', schema: SCHEMA, name: 'forecast', strict: true } }, ({ format }) =>
      format?.type === 'schema' ? (format.schema.properties as Json) : format,
    ),
  ],
  verbosity: () => [said('verbosity', 'low')],
  effort: () => [thinks({ effort: 'high' }, 'effort'), thinks({ effort: 'low' }, 'effort')],
  budget: () => [thinks({ budget: 8192 }, 'budget')],
  showReasoning: () => [thinks({ effort: 'high', show: 'auto' }, 'show')],
  sealedReasoning: () => [thinks({ effort: 'high', sealed: true }, 'sealed')],
  user: () => [said('user', 'user-1')],
  safetyId: () => [said('safetyId', 'hash-1')],
  metadata: () => [said('metadata', { team: 'a' })],
  serviceTier: () => [said('serviceTier', 'flex')],
  cacheKey: () => [said('cacheKey', 'key-1')],
  cacheRetention: () => [said('cacheRetention', '24h')],
  store: () => [said('store', true)],
  modalities: () => [said('modalities', ['text', 'audio'])],
  audioOutput: () => [said('audio', { voice: 'alloy', format: 'wav' })],
}
