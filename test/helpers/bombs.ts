import { deflateSync } from 'node:zlib'
import { pngChunk } from './png.js'
import type { Protocol } from './text-clients.js'
import { upstreamOf } from './text-upstreams.js'

// Documents that are small on the wire and large, or slow, as objects: what a caller or an upstream may send on purpose.

/** Makes JSON of about so many bytes. */
export interface Shape {
  readonly name: string
  readonly json: (bytes: number) => string
}

/** As deep as `limits.depth` allows at any place of a body. */
const DEPTH = 50

const list = (item: string, bytes: number): string => {
  const one = `${item},`
  return `[${one.repeat(Math.max(1, Math.floor(bytes / one.length)))}${item}]`
}

/** Numbered items up to so many bytes. */
const numbered = (bytes: number, item: (index: number) => string): string[] => {
  const items: string[] = []
  for (let size = 0; size < bytes; ) {
    const one = item(items.length)
    items.push(one)
    size += one.length + 1
  }
  return items
}

/** Most distinct documents are made small and repeated: to write 30 MB of them takes longer than to serve them. */
const DISTINCT_BYTES = 1024 * 1024

const repeated = (bytes: number, item: (index: number) => string): string =>
  list(numbered(Math.min(bytes, DISTINCT_BYTES), item).join(','), bytes)

export const SHAPES: readonly Shape[] = [
  { name: 'deep lists', json: bytes => list('['.repeat(DEPTH) + ']'.repeat(DEPTH), bytes) },
  { name: 'empty lists', json: bytes => list('[]', bytes) },
  { name: 'deep objects', json: bytes => list(`${'{"a":'.repeat(DEPTH)}0${'}'.repeat(DEPTH)}`, bytes) },
  { name: 'small objects', json: bytes => list('{"a":{}}', bytes) },
  { name: 'zeros', json: bytes => list('0', bytes) },
  { name: 'short strings', json: bytes => repeated(bytes, index => `"${index.toString(36)}"`) },
  { name: 'distinct keys', json: bytes => repeated(bytes, index => `{"${index.toString(36)}":0}`) },
  { name: 'numeric keys', json: bytes => repeated(bytes, index => `{"${index}":0}`) },
  {
    name: 'wide objects',
    json: bytes => list(`{${numbered(64 * 1024, index => `"k${index}":0`).join(',')}}`, bytes),
  },
  { name: 'long numbers', json: bytes => list(`0.${'1234567890'.repeat(100)}`, bytes) },
  { name: 'long string', json: bytes => `["${'x'.repeat(bytes)}"]` },
  { name: 'wide string', json: bytes => `["\u0436${'x'.repeat(bytes)}"]` },
  { name: 'escapes', json: bytes => `["${'\\u0436\\n'.repeat(Math.floor(bytes / 8))}"]` },
]

/** Where a document is in a request: a member that no one knows, or one that translation has to read. */
export interface Place {
  readonly name: string
  /** A whole body with the document in it. */
  readonly body: (protocol: Protocol, model: string, json: string) => string
}

const HEADS: Readonly<Record<Protocol, (model: string) => string>> = {
  chat: model => `"model":"${model}","messages":[{"role":"user","content":"hello"}]`,
  responses: model => `"model":"${model}","store":false,"input":"hello"`,
  messages: model => `"model":"${model}","max_tokens":100,"messages":[{"role":"user","content":"hello"}]`,
  generate: () => `"contents":[{"role":"user","parts":[{"text":"hello"}]}]`,
  converse: () => `"messages":[{"role":"user","content":[{"text":"hello"}]}]`,
}

const tools: Readonly<Record<Protocol, (json: string) => string>> = {
  chat: json => `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","x":${json}}}}]`,
  responses: json =>
    `"tools":[{"type":"function","name":"f","strict":false,"parameters":{"type":"object","x":${json}}}]`,
  messages: json => `"tools":[{"name":"f","input_schema":{"type":"object","x":${json}}}]`,
  generate: json =>
    `"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object","x":${json}}}]}]`,
  converse: json =>
    `"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","x":${json}}}}}]}`,
}

/** Turns of a conversation, each with the document in the arguments of a call, or as an unknown member of a part. */
const parts: Readonly<Record<Protocol, (model: string, json: string) => string>> = {
  chat: (model, json) =>
    `"model":"${model}","messages":[{"role":"user","content":[{"type":"text","text":"hello","x":${json}}]}]`,
  responses: (model, json) =>
    `"model":"${model}","store":false,"input":[{"role":"user","content":[{"type":"input_text","text":"hello","x":${json}}]}]`,
  messages: (model, json) =>
    `"model":"${model}","max_tokens":100,"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{"x":${json}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}]`,
  generate: (_model, json) =>
    `"contents":[{"role":"user","parts":[{"text":"hello"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"x":${json}}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"ok":true}}}]}]`,
  converse: (_model, json) =>
    `"messages":[{"role":"user","content":[{"text":"hello"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{"x":${json}}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"json":{"ok":true}}]}}]}]`,
}

export const PLACES: readonly Place[] = [
  { name: 'an unknown member', body: (protocol, model, json) => `{${HEADS[protocol](model)},"m":${json}}` },
  { name: "a tool's schema", body: (protocol, model, json) => `{${HEADS[protocol](model)},${tools[protocol](json)}}` },
  { name: 'a part', body: (protocol, model, json) => `{${parts[protocol](model, json)}}` },
]

/** A conversation of so many bytes in the shortest turns that there are. */
export function manyTurns(protocol: Protocol, model: string, bytes: number): string {
  switch (protocol) {
    case 'chat':
      return `{"model":"${model}","messages":${list('{"role":"user","content":"a"}', bytes)}}`
    case 'responses':
      return `{"model":"${model}","store":false,"input":${list('{"role":"user","content":"a"}', bytes)}}`
    case 'messages':
      return `{"model":"${model}","max_tokens":100,"messages":${list('{"role":"user","content":"a"}', bytes)}}`
    case 'generate':
      return `{"contents":${list('{"role":"user","parts":[{"text":"a"}]}', bytes)}}`
    case 'converse':
      return `{"messages":${list('{"role":"user","content":[{"text":"a"}]}', bytes)}}`
  }
}

/** A good answer of the protocol with the document as an unknown member, or as the arguments of a call. */
export function bombAnswer(protocol: Protocol, place: 'unknown' | 'call', json: string): string {
  const { answer } = upstreamOf(protocol)
  if (place === 'unknown') return `{"m":${json},${JSON.stringify(answer).slice(1)}`
  const args = `{"x":${json}}`
  switch (protocol) {
    case 'chat': {
      const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: args } }
      const message = { role: 'assistant', content: null, tool_calls: [call] }
      return JSON.stringify({ ...answer, choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
    }
    case 'responses': {
      const output = [
        { type: 'function_call', id: 'fc1', call_id: 'c1', name: 'f', arguments: args, status: 'completed' },
      ]
      return JSON.stringify({ ...answer, output })
    }
    case 'messages': {
      const text = JSON.stringify({ ...answer, stop_reason: 'tool_use', content: 'CONTENT' })
      return text.replace('"CONTENT"', () => `[{"type":"tool_use","id":"c1","name":"f","input":${args}}]`)
    }
    case 'generate': {
      const content = { role: 'model', parts: 'PARTS' }
      const text = JSON.stringify({ ...answer, candidates: [{ content, index: 0, finishReason: 'STOP' }] })
      return text.replace('"PARTS"', () => `[{"functionCall":{"name":"f","args":${args}}}]`)
    }
    case 'converse': {
      const message = { role: 'assistant', content: 'CONTENT' }
      const text = JSON.stringify({ ...answer, output: { message }, stopReason: 'tool_use' })
      return text.replace('"CONTENT"', () => `[{"toolUse":{"toolUseId":"c1","name":"f","input":${args}}}]`)
    }
  }
}

/** A whole stream whose first event holds the document as an unknown member, so many times. */
export function bombStream(protocol: Protocol, json: string, times: number): readonly string[] {
  const [first = '', ...rest] = upstreamOf(protocol).pieces
  const one = first.replace('{', () => `{"m":${json},`)
  // The event after the first is one that may come again and again.
  const [second = '', ...others] = rest
  const more = second.replace('{', () => `{"m":${json},`)
  return protocol === 'messages' || protocol === 'responses'
    ? [one, ...rest]
    : [one, ...Array.from({ length: times - 1 }, () => more), ...others]
}

/** A PNG with colours and alpha, no columns, and so many bytes of rows. */
export function bombMask(bytes: number): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(bytes, 4)
  head.set([8, 6], 8)
  const chunks = [pngChunk('IHDR', head), pngChunk('IDAT', deflateSync(Buffer.alloc(bytes)))]
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks, pngChunk('IEND', Buffer.alloc(0))])
}
