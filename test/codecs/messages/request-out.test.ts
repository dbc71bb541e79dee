import t from 'tap'
import { messages } from '../../../src/codecs/messages/index.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { ReasoningWish, TextRequest, Tool } from '../../../src/core/text.js'
import { requestOf, targetOf } from '../support.js'
import { assistant, call, encode, result, text, user } from './support.js'

const CLOCK: Tool = { type: 'function', name: 'clock', at: 'tools[0]' }
const tooled = { tools: [CLOCK] }
const LIMIT = { maxTokens: 50_000 }

t.test('the limit of tokens: the client, then the operator, then an error', async t => {
  t.equal(encode({ maxTokens: 7 }, { max_output: 100 }).body.max_tokens, 7)
  t.equal(encode({}, { max_output: 100 }).body.max_tokens, 100)
  t.throws(() => messages.client.encodeRequest(requestOf(), { ...targetOf(messages), traits: {} }), {
    code: 'untranslatable',
    message: /^The model needs a limit of output tokens.*max_output/,
    details: { param: undefined },
  })
})

t.test('a stream is asked for only where there shall be one', async t => {
  t.equal(encode({ stream: true }).body.stream, true)
  t.equal(encode({}).body.stream, undefined)
})

t.test('a function without arguments takes an object', async t => {
  t.strictSame(encode(tooled).body.tools, [{ name: 'clock', input_schema: { type: 'object' } }])
})

t.test('strict arguments: closed objects, and bounds in the description', async t => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'integer', minimum: 1, description: 'Days' } },
    required: ['n'],
  }
  const { body } = encode({ tools: [{ ...CLOCK, schema, strict: true }] })
  t.strictSame(body.tools, [
    {
      name: 'clock',
      strict: true,
      input_schema: {
        type: 'object',
        properties: { n: { type: 'integer', description: 'Days\n\n{minimum: 1}' } },
        required: ['n'],
        additionalProperties: false,
      },
    },
  ])
})

t.test('a model without structured answers knows no strict arguments', async t => {
  const { body, lost } = encode({ tools: [{ ...CLOCK, strict: true }] }, { structured: 'tool' })
  t.strictSame(body.tools, [{ name: 'clock', input_schema: { type: 'object' } }])
  t.strictSame(lost, ['strictTools tools[0]'])
})

t.test('the choice of tools', async t => {
  const choice = (more: Partial<TextRequest>): unknown => encode({ ...tooled, ...more }).body.tool_choice
  t.equal(choice({}), undefined)
  t.strictSame(choice({ toolChoice: { type: 'required' } }), { type: 'any' })
  t.strictSame(choice({ toolChoice: { type: 'none' }, parallelTools: false }), { type: 'none' })
  t.strictSame(choice({ parallelTools: false }), { type: 'auto', disable_parallel_tool_use: true })
  t.strictSame(choice({ toolChoice: { type: 'tool', name: 'clock' }, parallelTools: false }), {
    type: 'tool',
    name: 'clock',
    disable_parallel_tool_use: true,
  })
})

t.test('a choice among some tools leaves the others out', async t => {
  const tools: Tool[] = [CLOCK, { type: 'function', name: 'weather' }]
  const { body, lost } = encode({ tools, toolChoice: { type: 'subset', mode: 'required', names: ['weather'] } })
  t.match(body, { tools: [{ name: 'weather' }], tool_choice: { type: 'any' } })
  t.strictSame(lost, ['toolSubset'])
})

t.test('without tools there is no choice', async t => {
  t.equal(encode({ toolChoice: { type: 'auto' }, parallelTools: false }).body.tool_choice, undefined)
  t.strictSame(encode({ toolChoice: { type: 'required' } }).lost, ['toolChoice'])
})

t.test('a tool of free text is a function of one string, and comes back as what it was', async t => {
  const { body } = encode({
    tools: [
      { type: 'custom', name: 'sql', description: 'Runs SQL', format: { type: 'grammar', definition: 'start: x' } },
    ],
    toolChoice: { type: 'tool', name: 'sql' },
    turns: [
      user(text('a')),
      assistant({ type: 'call', id: 'c1', name: 'sql', arguments: 'SELECT 1', custom: true }),
      user(result('c1')),
    ],
  })
  const [{ name, description }] = body.tools as [{ name: string; description: string }]
  t.match(description, /Runs SQL\n\n.*\nstart: x/)
  t.match(body, { tool_choice: { name }, messages: [{}, { content: [{ name, input: { input: 'SELECT 1' } }] }] })
  const answer = {
    type: 'message',
    id: 'm',
    content: [{ type: 'tool_use', id: 't', name, input: { input: 'SELECT 2' } }],
  }
  t.match(messages.client.decodeResult(answer).candidates[0]?.parts, [
    { type: 'call', name: 'sql', arguments: 'SELECT 2', custom: true },
  ])
})

t.test('a web search of another protocol is its own', async t => {
  const value = {
    type: 'web_search',
    filters: { allowed_domains: ['example.com'] },
    user_location: { type: 'approximate', city: 'Bonn', country: null },
  }
  const { body } = encode({
    tools: [{ type: 'hosted', kind: 'web_search', name: 'web_search', of: 'responses', value }],
  })
  t.strictSame(body.tools, [
    {
      type: 'web_search_20250305',
      name: 'web_search',
      allowed_domains: ['example.com'],
      user_location: { type: 'approximate', city: 'Bonn' },
    },
  ])
})

t.test('tools of another upstream that it does not have are left out', async t => {
  const tool: Tool = { type: 'hosted', kind: 'other', name: 'file_search', of: 'responses', value: {}, at: 'tools[0]' }
  t.equal(encode({ tools: [tool] }).body.tools, undefined)
})

t.test('thinking, where the operator says nothing of it', async t => {
  const out = (reasoning: ReasoningWish): unknown => {
    const { thinking, output_config } = encode({ reasoning, ...LIMIT }).body
    return [thinking, output_config]
  }
  t.strictSame(out({ budget: 2048 }), [{ type: 'enabled', budget_tokens: 2048 }, undefined])
  t.strictSame(out({ budget: -1 }), [{ type: 'adaptive' }, undefined])
  t.strictSame(out({ budget: 0 }), [{ type: 'disabled' }, undefined])
  t.strictSame(out({ effort: 'none' }), [{ type: 'disabled' }, undefined])
  t.strictSame(out({ effort: 'minimal' }), [{ type: 'adaptive' }, { effort: 'low' }])
  t.strictSame(out({ effort: 'xhigh', show: 'detailed' }), [
    { type: 'adaptive', display: 'summarized' },
    { effort: 'xhigh' },
  ])
  t.strictSame(out({ adaptive: true, show: 'none' }), [{ type: 'adaptive', display: 'omitted' }, undefined])
  t.strictSame(out({ show: 'auto' }), [{ type: 'adaptive', display: 'summarized' }, undefined])
  t.strictSame(out({ show: 'none', sealed: true }), [undefined, undefined])
})

t.test('thinking in the terms that the operator declares', async t => {
  const out = (reasoning: ReasoningWish, terms: 'budget' | 'adaptive' | 'effort' | 'none'): unknown => {
    const { body, lost } = encode({ reasoning, ...LIMIT }, { reasoning: terms })
    return [body.thinking, body.output_config, lost]
  }
  t.strictSame(out({ effort: 'medium' }, 'budget'), [{ type: 'enabled', budget_tokens: 8192 }, undefined, ['effort']])
  t.strictSame(out({ budget: 20 }, 'budget'), [{ type: 'enabled', budget_tokens: 1024 }, undefined, ['budget']])
  t.strictSame(out({ budget: 8192 }, 'adaptive'), [{ type: 'adaptive' }, { effort: 'medium' }, ['budget']])
  t.strictSame(out({ effort: 'high' }, 'effort'), [undefined, { effort: 'high' }, []])
  t.strictSame(out({ effort: 'none' }, 'effort'), [undefined, { effort: 'low' }, ['effort']])
  t.strictSame(out({ effort: 'high' }, 'none'), [undefined, undefined, ['effort']])
  t.strictSame(out({ effort: 'none' }, 'none'), [undefined, undefined, []])
})

t.test('a budget stays below the limit of tokens, which stays as it is', async t => {
  const budget = (maxTokens: number, wish: number): unknown => {
    const { max_tokens, thinking } = encode({ maxTokens, reasoning: { budget: wish } }).body
    return [max_tokens, (thinking as { budget_tokens?: number } | undefined)?.budget_tokens]
  }
  t.strictSame(budget(5000, 4999), [5000, 4999])
  t.strictSame(budget(5000, 5000), [5000, 3976])
  t.strictSame(budget(1500, 8000), [1500, 1024])
  t.strictSame(budget(1024, 8000), [1024, undefined])
  t.strictSame(encode({ maxTokens: 1024, reasoning: { budget: 8000 } }).lost, ['budget'])
})

t.test('a demanded call and thinking exclude each other', async t => {
  const { body, lost } = encode({ ...tooled, ...LIMIT, toolChoice: { type: 'required' }, reasoning: { budget: 2048 } })
  t.equal(body.thinking, undefined)
  t.strictSame(lost, ['budget'])
})

t.test('a turn of tools whose thoughts are missing continues without a thinking budget', async t => {
  const turns = [user(text('a')), assistant(call('c1')), user(result('c1'))]
  const budget = encode({ ...tooled, ...LIMIT, turns, reasoning: { budget: 2048 } })
  t.equal(budget.body.thinking, undefined)
  t.strictSame(budget.lost, ['reasoningParts'])
  const adaptive = encode({ ...tooled, ...LIMIT, turns, reasoning: { effort: 'high' } })
  t.strictSame(adaptive.body.thinking, { type: 'adaptive' }, 'there the model may have had no thoughts')
  t.strictSame(adaptive.lost, [])
})

t.test('a turn of tools that has its thoughts continues thinking', async t => {
  const thought = { type: 'reasoning', text: 'I look.', seal: { by: 'messages', value: 's' } } as const
  const turns = [user(text('a')), assistant(thought, call('c1')), user(result('c1'))]
  const { body, lost } = encode({ ...tooled, ...LIMIT, turns, reasoning: { budget: 2048 } })
  t.match(body.thinking, { type: 'enabled', budget_tokens: 2048 })
  t.strictSame(lost, [])
})

t.test('an answer that continues from words of the assistant comes without thinking', async t => {
  const { body, lost } = encode({
    ...LIMIT,
    turns: [user(text('a')), assistant(text('It'))],
    reasoning: { effort: 'low' },
  })
  t.equal(body.thinking, undefined)
  t.strictSame(lost, ['effort'])
})

t.test('sampling', async t => {
  const out = (request: Partial<TextRequest>, sampling?: boolean): unknown => {
    const { body, lost } = encode({ ...LIMIT, ...request }, sampling === undefined ? {} : { sampling })
    return [body.temperature, body.top_p, body.top_k, lost]
  }
  t.strictSame(out({ temperature: 0.5, topK: 3 }), [0.5, undefined, 3, []])
  t.strictSame(out({ temperature: 1.7 }), [1, undefined, undefined, ['temperature']])
  t.strictSame(out({ temperature: 0.2, topP: 0.9 }), [0.2, undefined, undefined, ['topP']])
  t.strictSame(out({ temperature: 1, topP: 0.9, topK: 1 }, false), [
    undefined,
    undefined,
    undefined,
    ['temperature', 'topP', 'topK'],
  ])
  const reasoning = { effort: 'high' } as const
  t.strictSame(out({ temperature: 0.2, topK: 3, reasoning }), [
    undefined,
    undefined,
    undefined,
    ['temperature', 'topK'],
  ])
  t.strictSame(out({ temperature: 1, topP: 0.97, reasoning }), [undefined, 0.97, undefined, []])
  t.strictSame(out({ topP: 0.5, reasoning }), [undefined, undefined, undefined, ['topP']])
  t.strictSame(out({ temperature: 0.2, topK: 3, reasoning: { effort: 'none' } }), [0.2, undefined, 3, []])
})

t.test('stop sequences of white space are left out and named', async t => {
  const { body, lost } = encode({ stop: ['END', '\n\n'] })
  t.strictSame(body.stop_sequences, ['END'])
  t.strictSame(lost, ['stop'])
  t.equal(encode({ stop: ['\n'] }).body.stop_sequences, undefined)
})

t.test('a structured answer by a schema, and by an instruction where there is none', async t => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string', maxLength: 3 } },
    additionalProperties: { type: 'string' },
  }
  const { body } = encode({ format: { type: 'schema', name: 'x', schema } })
  t.strictSame(body.output_config, {
    format: {
      type: 'json_schema',
      schema: {
        type: 'object',
        properties: { a: { type: 'string', description: '{maxLength: 3}' } },
        additionalProperties: false,
        description: '{additionalProperties: {"type":"string"}}',
      },
    },
  })
  const plain = encode({ system: [{ type: 'text', text: 'Be kind.' }], format: { type: 'json' } })
  t.match(plain.body.system, [{ text: 'Be kind.' }, { text: /JSON object/ }])
  t.strictSame(plain.lost, ['formatJson'])
})

t.test('alternatives at the top of a schema are merged: the upstream takes none there', async t => {
  const schemaOf = (schema: JsonObject, strict = false): unknown => {
    const { body, lost } = encode({ tools: [{ type: 'function', name: 'f', schema, strict, at: 'tools[0]' }] })
    t.ok(lost.includes('tools tools[0]'))
    return (body.tools as JsonObject[])[0]?.input_schema
  }
  const [text, number] = [{ type: 'string' }, { type: 'number' }]
  const byFile = { properties: { kind: { const: 'file' }, path: text }, required: ['kind', 'path'] }
  const byPage = { properties: { kind: { const: 'page' }, page: number }, required: ['kind', 'page'] }
  const anyOf = [{ $ref: '#/$defs/file' }, byPage]
  const $defs = { file: byFile }
  t.strictSame(schemaOf({ anyOf, $defs, description: 'Where.', properties: { all: text }, required: ['all'] }), {
    $defs,
    type: 'object',
    properties: { all: text, kind: { anyOf: [{ const: 'file' }, { const: 'page' }] }, path: text, page: number },
    required: ['all', 'kind'],
    description: `Where.\n\n{anyOf: ${JSON.stringify(anyOf)}}`,
  })
  t.match(schemaOf({ allOf: [byFile, { oneOf: [byPage, { properties: { page: text } }] }] }), {
    properties: { path: text, page: { anyOf: [number, text] } },
    required: ['kind', 'path'],
    allOf: undefined,
  })
  t.match(schemaOf({ oneOf: [{ required: ['a'] }, true] }), { properties: {}, required: undefined, oneOf: undefined })
  t.match(schemaOf({ anyOf: [byFile] }, true), { additionalProperties: false, anyOf: undefined })
})

t.test('two kinds of alternatives at one place: the second is in the description', async t => {
  const place = { anyOf: [{ type: 'string' }], oneOf: [{ type: 'number' }] }
  const { body } = encode({ format: { type: 'schema', schema: { type: 'object', properties: { place } } } })
  const expected = { anyOf: place.anyOf, description: `{oneOf: ${JSON.stringify(place.oneOf)}}` }
  t.match(body, { output_config: { format: { schema: { properties: { place: expected } } } } })
})

t.test('the end user', async t => {
  t.strictSame(encode({ user: 'u' }).body.metadata, { user_id: 'u' })
  t.strictSame(encode({ safetyId: 's' }).body.metadata, { user_id: 's' })
  const both = encode({ user: 'u', safetyId: 's' })
  t.strictSame([both.body.metadata, both.lost], [{ user_id: 'u' }, ['safetyId']])
  for (const user of ['u'.repeat(600), 'a@example.com', 'mailto:a.b@example.com?x', '+49 (30) 1234-567']) {
    const { body, lost } = encode({ user })
    t.match(body.metadata, { user_id: /^[0-9a-f]{64}$/ }, user)
    t.strictSame([encode({ user }).body.metadata, lost], [body.metadata, ['user']])
  }
  t.strictSame(encode({ safetyId: 'a@example.com' }).lost, ['safetyId'])
  for (const user of ['123456789', '+1', 'a@b', '@home', '+a-team-of-12', 'u'.repeat(512)]) {
    t.strictSame(encode({ user }).body.metadata, { user_id: user }, 'nothing to hide')
  }
})

t.test('service tiers', async t => {
  const tier = (serviceTier: string): unknown => encode({ serviceTier }).body.service_tier
  t.strictSame(['auto', 'default', 'priority', 'flex'].map(tier), ['auto', 'standard_only', 'auto', undefined])
  t.strictSame(encode({ serviceTier: 'flex' }).lost, ['serviceTier'])
})

t.test('an upstream fetches images and documents by URL, unless its operator says otherwise', async t => {
  const part = { type: 'media', kind: 'image', source: { url: 'https://example.com/' } } as const
  t.equal(messages.client.takesUrl(part, {}), true)
  t.equal(messages.client.takesUrl(part, { fetches_urls: false }), false)
})
