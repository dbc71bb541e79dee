import t from 'tap'
import { unfold } from '../../../src/codecs/fold.js'
import type { JsonObject } from '../../../src/core/json.js'
import { answerTo, encodeAll, requestOf } from '../support.js'
import { refused, textCodec, translated } from '../translated.js'

// What of clients' requests reaches an upstream that speaks generate, and what of it is said not to.

const ASK = [{ role: 'user', content: 'hi' }]
const chat = (more: JsonObject): JsonObject => ({ model: 'm', messages: ASK, ...more })
const messages = (more: JsonObject): JsonObject => ({ model: 'm', max_tokens: 9, messages: ASK, ...more })

t.test('tools that other upstreams run are left out', async t => {
  const ofResponses = { type: 'file_search', vector_store_ids: ['v'] }
  t.equal(refused('responses', 'generate', { model: 'm', input: 'hi', tools: [ofResponses] }), undefined)
  t.equal(refused('messages', 'generate', messages({ tools: [{ type: 'bash_20250124', name: 'bash' }] })), undefined)
})

t.test('a schema goes out in the keywords that the protocol knows', async t => {
  const schema = {
    type: 'object',
    properties: {
      kind: { const: 'x' },
      level: { const: 3, description: 'always' },
      none: { const: null },
      who: { $ref: '#/$defs/Who', description: 'the one' },
      other: { allOf: [{ $ref: '#/$defs/Who' }], default: null },
      near: { allOf: [{ type: 'string' }], title: 'Near' },
      some: { anyOf: [{ const: 'a' }, { type: 'null' }] },
      list: { type: 'array', items: { $ref: '#/$defs/Who' }, minItems: 1 },
    },
    required: ['kind'],
    additionalProperties: false,
    $defs: { Who: { type: 'object', properties: {} } },
  }
  const format = { type: 'json_schema', json_schema: { name: 'n', schema } }
  const { body, dropped } = translated('chat', 'generate', chat({ response_format: format }))
  t.same(dropped, [])
  t.same((body.generationConfig as JsonObject).responseJsonSchema, {
    ...schema,
    properties: {
      kind: { type: 'string', enum: ['x'] },
      level: { type: 'number', enum: [3], description: 'always' },
      none: { type: 'null' },
      who: { anyOf: [{ $ref: '#/$defs/Who' }], description: 'the one' },
      other: { anyOf: [{ $ref: '#/$defs/Who' }], default: null },
      near: { type: 'string', title: 'Near' },
      some: { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] },
      list: { type: 'array', items: { $ref: '#/$defs/Who' }, minItems: 1 },
    },
  })
})

t.test('bounds of a schema that the upstream does not check are named', async t => {
  const parameters = { type: 'object', properties: { a: { type: 'string', minLength: 2 } } }
  const format = { type: 'json_schema', json_schema: { name: 'n', schema: parameters } }
  t.same(translated('chat', 'generate', chat({ response_format: format })).dropped, ['response_format'])
  const tool = (strict: boolean) => [{ type: 'function', function: { name: 'f', parameters, strict } }]
  t.same(translated('chat', 'generate', chat({ tools: tool(true) })).dropped, ['tools[0]'])
  t.same(translated('chat', 'generate', chat({ tools: tool(false) })).dropped, [])
})

t.test('a schema that is too deep to be rewritten goes out as it is', async t => {
  let schema: JsonObject = { const: 1 }
  for (let i = 0; i < 200; i++) schema = { type: 'object', properties: { a: schema } }
  const format = { type: 'json_schema', json_schema: { name: 'n', schema } }
  const { body } = translated('chat', 'generate', chat({ response_format: format }))
  t.match(JSON.stringify(body), '{"const":1}')
})

t.test('the name of a file is before it', async t => {
  const file = { filename: 'r.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' }
  const parts = (content: JsonObject[], from: 'chat' | 'messages') =>
    translated(from, 'generate', { model: 'm', max_tokens: 9, messages: [{ role: 'user', content }] })
  t.match(parts([{ type: 'file', file }], 'chat'), {
    body: { contents: [{ parts: [{ text: 'r.pdf' }, { inlineData: { mimeType: 'application/pdf' } }] }] },
    dropped: [],
  })
  const source = { type: 'text', media_type: 'text/plain', data: 'body' }
  t.match(parts([{ type: 'document', title: 'T', source }], 'messages').body, {
    contents: [{ parts: [{ text: 'T' }, { inlineData: { mimeType: 'text/plain' } }] }],
  })
})

t.test('a turn that is put before the first is named', async t => {
  const first = translated('chat', 'generate', {
    model: 'm',
    messages: [{ role: 'assistant', content: 'Hello.' }, ...ASK],
  })
  t.same(first.dropped, ['messages'])
  t.same(translated('chat', 'generate', chat({})).dropped, [])
})

t.test('a grammar is in the description, and is named', async t => {
  const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
  const { body, dropped } = translated('responses', 'generate', {
    model: 'm',
    input: 'hi',
    tools: [{ type: 'custom', name: 'c', description: 'D.', format }],
  })
  t.match(body.tools, [{ functionDeclarations: [{ description: /^D\.\n\n.*\nstart: "x"$/ }] }])
  t.same(dropped, ['tools[0]'])
})

t.test('settings of searches and fetches that have no place are named', async t => {
  const search = { type: 'web_search_20250305', name: 'web_search' }
  t.same(translated('messages', 'generate', messages({ tools: [search] })).dropped, [])
  const bounded = { ...search, blocked_domains: ['a.example'] }
  t.same(translated('messages', 'generate', messages({ tools: [bounded] })).dropped, ['tools[0]'])
  const fetch = { type: 'web_fetch_20250910', name: 'web_fetch' }
  t.same(translated('messages', 'generate', messages({ tools: [fetch] })).dropped, [])
  t.same(translated('messages', 'generate', messages({ tools: [{ ...fetch, max_uses: 2 }] })).dropped, ['tools[0]'])
})

t.test('images of several resolutions are named, as one holds for all', async t => {
  const url = 'data:image/png;base64,iVBORw0KGgo='
  const images = (...details: string[]) =>
    translated('chat', 'generate', {
      model: 'm',
      messages: [{ role: 'user', content: details.map(detail => ({ type: 'image_url', image_url: { url, detail } })) }],
    })
  t.match(images('low', 'high'), {
    body: { generationConfig: { mediaResolution: 'MEDIA_RESOLUTION_HIGH' } },
    dropped: ['messages[].content[].image_url.detail'],
  })
  t.same(images('low', 'low').dropped, [])
})

t.test('ends that have no word of their own are named', async t => {
  const { client } = textCodec('messages')
  for (const [stop_reason, told] of [
    ['end_turn', 0],
    ['tool_use', 0],
    ['pause_turn', 1],
    ['model_context_window_exceeded', 1],
  ] as const) {
    const content = [{ type: 'text', text: 'x' }]
    const result = client.decodeResult({ type: 'message', id: 'm', model: 'm', content, stop_reason })
    const [whole, streamed] = [answerTo(requestOf()), answerTo(requestOf({ stream: true }))]
    textCodec('generate').server.encodeResult(result, whole)
    encodeAll(textCodec('generate'), unfold(result), streamed)
    t.equal(whole.lost.length, told, stop_reason)
    t.equal(streamed.lost.length, told, `${stop_reason}, streamed`)
  }
})
