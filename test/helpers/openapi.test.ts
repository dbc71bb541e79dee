import t from 'tap'
import type { Json } from '../../src/core/json.js'
import { checkBy, OPEN_API_NAMES, type OpenApiName, openApi, openApiFolder } from './openapi.js'
import { OpenApiSchemas } from './openapi-schemas.js'
import { type TextExchange, textExchanges } from './text-recordings.js'

const skip = openApiFolder() === undefined

const USAGE = { input_tokens: 1, output_tokens: 1, service_tier: 'standard' }
const CANDIDATE = { content: { role: 'model', parts: [{ text: 'a' }] }, finishReason: 'STOP', index: 0 }

/** Documents that are sound, and what each of the broken ones has to be told about. */
const CASES: Partial<Record<OpenApiName, { sound: readonly Json[]; broken: readonly (readonly [string, Json])[] }>> = {
  'chat.request': {
    sound: [
      { model: 'm', messages: [{ role: 'user', content: 'a' }] },
      { model: 'm', messages: [{ role: 'assistant', tool_calls: [call('{}')] }, toolResult()], stream_options: null },
    ],
    broken: [
      ['the document', { model: 'm' }],
      ['messages[0].role', { model: 'm', messages: [{ role: 'robot', content: 'a' }] }],
      [
        'messages[0].tool_calls[0].function.arguments',
        { model: 'm', messages: [{ role: 'assistant', tool_calls: [call({})] }] },
      ],
      [
        'messages[0].content[0].image_url',
        { model: 'm', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'x' }] }] },
      ],
      ['temperature', { model: 'm', messages: [{ role: 'user', content: 'a' }], temperature: 3 }],
    ],
  },
  'chat.response': {
    sound: [chatResult({ role: 'assistant', content: 'a', refusal: null })],
    broken: [
      [
        'choices[0].message.tool_calls[0].function.arguments',
        chatResult({ role: 'assistant', content: null, tool_calls: [call({})] }),
      ],
      ['choices[0].message.role', chatResult({ role: 'user', content: 'a' })],
    ],
  },
  'chat.event': {
    sound: [chatChunk({ content: 'a' }), chatChunk({ tool_calls: [{ index: 0, function: { arguments: '{' } }] })],
    broken: [['choices[0].delta.tool_calls[0]', chatChunk({ tool_calls: [{ id: 'a' }] })]],
  },
  'responses.request': {
    sound: [
      { model: 'm', input: 'a' },
      { model: 'm', input: [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }, functionCall('{}')] },
    ],
    broken: [
      ['input[0].arguments', { model: 'm', input: [functionCall({})] }],
      ['input[0]', { model: 'm', input: [{ type: 'nonsense' }] }],
      [
        'tools[0].name',
        { model: 'm', input: 'a', tools: [{ type: 'function', name: 1, parameters: {}, strict: true }] },
      ],
    ],
  },
  'responses.event': {
    sound: [
      { type: 'response.function_call_arguments.delta', item_id: 'a', output_index: 0, delta: '', sequence_number: 1 },
    ],
    broken: [
      ['the document', { type: 'response.output_text.delta', sequence_number: 1, delta: 'a' }],
      ['type', { type: 'response.nonsense', sequence_number: 1 }],
    ],
  },
  'messages.request': {
    sound: [messages('a'), messages([{ type: 'text', text: 'a' }])],
    broken: [
      ['the document', { model: 'm', messages: [] }],
      ['messages[0].content[0].text', messages([{ type: 'text', text: '' }])],
      ['messages[0].content[0]', messages([{ type: 'text', text: 'a', colour: 1 }])],
      ['messages[0].content[0].input', messages([{ type: 'tool_use', id: 'a', name: 'f', input: '{}' }])],
      ['the document', { ...messages('a'), frequency_penalty: 1 }],
    ],
  },
  'messages.response': {
    sound: [messagesResult([{ type: 'text', text: 'a' }])],
    broken: [
      ['content[0].text', messagesResult([{ type: 'text', text: 1 }])],
      ['content[0].type', messagesResult([{ type: 'song' }])],
    ],
  },
  'messages.event': {
    sound: [{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } }, { type: 'ping' }],
    broken: [
      ['the document', { type: 'content_block_delta', delta: { type: 'text_delta', text: 'a' } }],
      ['delta.text', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 1 } }],
    ],
  },
  'generate.request': {
    sound: [
      {
        contents: [{ role: 'user', parts: [{ text: 'a' }] }],
        generationConfig: { thinkingConfig: { thinkingBudget: 1 } },
      },
      {
        contents: [],
        tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'string', maxLength: '3' } }] }],
      },
    ],
    broken: [
      ['the document', { generationConfig: {} }],
      ['the document', { contents: [], temperature: 1 }],
      ['the document', { contents: [], generation_config: {} }],
      ['generationConfig.responseMimeType', { contents: [], generationConfig: { responseMimeType: 1 } }],
      ['contents[0].parts[0].functionResponse', { contents: [{ parts: [{ functionResponse: { name: 'f' } }] }] }],
      [
        'contents[0].parts[0].functionCall.args',
        { contents: [{ parts: [{ functionCall: { name: 'f', args: '{}' } }] }] },
      ],
      [
        'tools[0].functionDeclarations[0].parameters',
        {
          contents: [],
          tools: [
            { functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT', additionalProperties: false } }] },
          ],
        },
      ],
    ],
  },
  'generate-client.request': {
    sound: [
      {
        contents: [{ parts: [{ inline_data: { mime_type: 'image/png', data: 'aa==' } }] }],
        generation_config: { top_p: 1 },
      },
    ],
    broken: [['contents[0].parts[0].inline_data', { contents: [{ parts: [{ inline_data: { data: 'aa==' } }] }] }]],
  },
  'generate.response': {
    sound: [{ candidates: [CANDIDATE], usageMetadata: { promptTokenCount: 1 }, somethingNew: 1 }],
    broken: [
      ['candidates[0].finishReason', { candidates: [{ ...CANDIDATE, finishReason: 'tool_calls' }] }],
      ['usageMetadata.promptTokenCount', { candidates: [CANDIDATE], usageMetadata: { promptTokenCount: 'many' } }],
    ],
  },
  'embeddings.request': { sound: [{ model: 'm', input: ['a'] }], broken: [['the document', { model: 'm' }]] },
  'embed-batch.request': {
    sound: [{ requests: [{ model: 'models/m', content: { parts: [{ text: 'a' }] } }] }],
    broken: [['requests[0]', { requests: [{ model: 'models/m' }] }]],
  },
}

function call(args: Json): Json {
  return { id: 'call_1', type: 'function', function: { name: 'f', arguments: args } }
}

function toolResult(): Json {
  return { role: 'tool', tool_call_id: 'call_1', content: 'a' }
}

function functionCall(args: Json): Json {
  return { type: 'function_call', call_id: 'a', name: 'f', arguments: args }
}

function messages(content: Json): { readonly [name: string]: Json } {
  return { model: 'm', max_tokens: 1, messages: [{ role: 'user', content }] }
}

function messagesResult(content: Json): Json {
  return { id: 'a', type: 'message', role: 'assistant', model: 'm', content, stop_reason: 'end_turn', usage: USAGE }
}

function chatResult(message: Json): Json {
  return {
    id: 'a',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  }
}

function chatChunk(delta: Json): Json {
  return {
    id: 'a',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: null }],
  }
}

for (const name of OPEN_API_NAMES) {
  t.test(`${name} is compiled, and nonsense breaks it`, { skip }, async t => {
    t.not(openApi(name)('nonsense').length, 0)
  })
}

for (const [name, { sound, broken }] of Object.entries(CASES) as [
  OpenApiName,
  NonNullable<(typeof CASES)[OpenApiName]>,
][]) {
  t.test(`${name}: sound documents pass, and what is broken is named`, { skip }, async t => {
    for (const document of sound) t.same(openApi(name)(document), [], JSON.stringify(document))
    for (const [place, document] of broken) {
      const found = openApi(name)(document)
      t.ok(
        found.some(one => one.startsWith(`${place}: `)) || found.some(one => one.startsWith(`${place}.`)),
        `${place} in ${found}`,
      )
    }
  })
}

t.test('how a document of OpenAPI is read', async t => {
  const schemas = new OpenApiSchemas(
    {
      components: {
        schemas: {
          Pet: {
            oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }, { type: 'string' }],
          },
          Cat: {
            type: 'object',
            required: ['type', 'lives'],
            properties: { type: { enum: ['cat'] }, lives: { type: 'string', format: 'int64' } },
          },
          Dog: {
            type: 'object',
            required: ['type'],
            properties: {
              type: { const: 'dog' },
              puppy: { $ref: '#/components/schemas/Pet' },
              tail: { type: 'number', nullable: true },
            },
          },
          Overlap: { oneOf: [{ type: 'number' }, { type: 'integer' }] },
        },
      },
    },
    { proto: true, closed: true },
  )
  const pet = checkBy(schemas.schema('Pet'))
  t.same(pet({ type: 'cat', lives: '9' }), [], 'a 64-bit number in a string')
  t.same(pet({ type: 'cat', lives: 9 }), [])
  t.same(pet('rex'), [])
  t.same(pet({ type: 'dog', tail: null, puppy: { type: 'dog' } }), [], 'nullable, and a schema in itself')
  t.match(pet({ type: 'dog', puppy: { type: 'cat' } })[0], /^puppy: must have required property 'lives'/)
  t.match(pet({ type: 'cat', lives: 'nine' })[0], /^lives: must match pattern/)
  t.match(pet({ type: 'dog', wings: 2 })[0], /additional properties \("wings"\)/)
  t.same(checkBy(schemas.schema('Overlap'))(1), [], 'branches of oneOf may overlap')
})

/** What the services of the documents' own vendors really took and sent, in percent at least. */
const SHARES: readonly (readonly [
  string,
  TextExchange['protocol'],
  string,
  'request' | 'response' | 'event',
  number,
])[] = [
  ['openai', 'chat', 'chat', 'request', 99],
  ['openai', 'chat', 'chat', 'response', 99],
  ['openai', 'chat', 'chat', 'event', 98],
  ['openai', 'responses', 'responses', 'request', 98],
  ['openai', 'responses', 'responses', 'response', 90],
  ['openai', 'responses', 'responses', 'event', 80],
  ['anthropic', 'messages', 'messages', 'request', 98],
  ['anthropic', 'messages', 'messages', 'response', 97],
  ['anthropic', 'messages', 'messages', 'event', 97],
  ['anthropic', 'messages', 'messages-beta', 'request', 98],
  ['anthropic', 'messages', 'messages-beta', 'response', 99],
  ['anthropic', 'messages', 'messages-beta', 'event', 80],
  ['gemini', 'generate', 'generate-client', 'request', 98],
  ['gemini', 'generate', 'generate', 'response', 100],
  ['gemini', 'generate', 'generate', 'event', 97],
]

t.test('recorded traffic of the vendors fits their documents', { skip }, async t => {
  const exchanges = await textExchanges()
  if (exchanges.length === 0) return
  for (const [provider, protocol, name, kind, least] of SHARES) {
    const beta = protocol === 'messages' ? name === 'messages-beta' : undefined
    const mine = exchanges.filter(
      one =>
        one.provider === provider &&
        one.protocol === protocol &&
        one.status < 300 &&
        (beta === undefined || one.beta === beta),
    )
    const documents = mine.map(one => documentsOf(one, kind)).filter(list => list.length > 0)
    const check = openApi(`${name}.${kind}` as OpenApiName)
    const faults = documents.map(list => list.flatMap(check)).filter(found => found.length > 0)
    const share = (100 * (documents.length - faults.length)) / documents.length
    t.comment(`${name}.${kind}: ${documents.length - faults.length} of ${documents.length} (${share.toFixed(1)} %)`)
    for (const [fault = ''] of faults.slice(0, 3)) t.comment(`  ${fault}`)
    t.ok(documents.length > 20 && share >= least, `${name}.${kind}: ${share.toFixed(1)} %, at least ${least} %`)
  }
})

function documentsOf(exchange: TextExchange, kind: 'request' | 'response' | 'event'): readonly Json[] {
  if (kind === 'request') return exchange.request === undefined ? [] : [exchange.request]
  if (kind === 'response') return exchange.result === undefined ? [] : [exchange.result]
  return (exchange.frames ?? [])
    .filter(({ data, event }) => data !== '[DONE]' && event !== 'error')
    .map(({ data }) => JSON.parse(data) as Json)
}
