import t from 'tap'
import { type OpenApiName, openApi, openApiFolder } from '../helpers/openapi.js'
import { dataOf, post, simulator } from './support.js'

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const STRICT = { ...PARAMETERS, additionalProperties: false }
const USER = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const ASK = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] })
const PDF = { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }

/** What is asked of each protocol; each answer, whole and streamed, is held against the family's document. */
const CASES: Readonly<Record<string, readonly (readonly [title: string, body: object])[]>> = {
  chat: [
    ['text', USER('Hello')],
    [
      'calls',
      {
        ...USER('get_weather'),
        tools: [{ type: 'function', function: { name: 'get_weather', parameters: PARAMETERS } }],
      },
    ],
    ['reasoning', { ...USER('Hello'), reasoning_effort: 'low' }],
    ['a refusal', USER('simulate_refusal')],
    ['a block', USER('simulate_block')],
    ['a citation', USER('simulate_citation')],
    ['logprobs', { ...USER('Hello'), logprobs: true, top_logprobs: 2 }],
    ['a limit', { ...USER('Hello'), max_completion_tokens: 3 }],
  ],
  responses: [
    ['text', { input: 'Hello' }],
    [
      'calls',
      {
        input: 'get_weather',
        tools: [{ type: 'function', name: 'get_weather', parameters: PARAMETERS, strict: true }],
      },
    ],
    [
      'reasoning',
      { input: 'Hello', reasoning: { effort: 'low', summary: 'auto' }, include: ['reasoning.encrypted_content'] },
    ],
    ['a refusal', { input: 'simulate_refusal' }],
    ['a block', { input: 'simulate_block' }],
    ['a citation', { input: 'simulate_citation' }],
    ['a limit', { input: 'Hello', max_output_tokens: 16 }],
  ],
  messages: [
    ['text', USER('Hello')],
    ['calls', { ...USER('get_weather'), tools: [{ name: 'get_weather', input_schema: PARAMETERS }] }],
    ['thinking', { ...USER('Hello'), thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['thinking that is left out', { ...USER('Hello'), thinking: { type: 'adaptive', display: 'omitted' } }],
    ['thinking that is redacted', { ...USER('simulate_redacted_thinking'), thinking: { type: 'adaptive' } }],
    ['a refusal', USER('simulate_refusal')],
    ['a block', USER('simulate_block')],
    ['a citation', USER('simulate_citation')],
    ['a cited document', USER([{ type: 'document', source: PDF, citations: { enabled: true } }])],
    ['a form', { ...USER('Hello'), output_config: { format: { type: 'json_schema', schema: STRICT } } }],
    ['a stop sequence', { ...USER('Hello'), stop_sequences: ['simulator'] }],
    ['a limit', { ...USER('Hello'), max_tokens: 3 }],
  ],
  generate: [
    ['text', ASK('Hello')],
    [
      'calls',
      {
        ...ASK('get_weather'),
        tools: [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: PARAMETERS }] }],
      },
    ],
    ['thoughts', { ...ASK('Hello'), generationConfig: { thinkingConfig: { includeThoughts: true } } }],
    ['candidates', { ...ASK('Hello'), generationConfig: { candidateCount: 2 } }],
    ['an image', { ...ASK('Hello'), generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } }],
    ['a refusal', ASK('simulate_refusal')],
    ['a block', ASK('simulate_block')],
    ['a citation', ASK('simulate_citation')],
    ['logprobs', { ...ASK('Hello'), generationConfig: { responseLogprobs: true, logprobs: 2 } }],
    ['a limit', { ...ASK('Hello'), generationConfig: { maxOutputTokens: 3 } }],
  ],
}

const PATHS: Readonly<Record<string, readonly [whole: string, stream: string]>> = {
  chat: ['/v1/chat/completions', '/v1/chat/completions'],
  responses: ['/v1/responses', '/v1/responses'],
  messages: ['/v1/messages', '/v1/messages'],
  generate: [
    '/v1beta/models/sim-generate:generateContent',
    '/v1beta/models/sim-generate:streamGenerateContent?alt=sse',
  ],
}

const skip = openApiFolder() === undefined

for (const [protocol, cases] of Object.entries(CASES)) {
  for (const [title, asked] of cases) {
    t.test(`${protocol}: ${title}: every document fits the protocol's own description`, { skip }, async t => {
      const upstream = await simulator(t)
      const [whole = '', stream = ''] = PATHS[protocol] ?? []
      const required = protocol === 'messages' ? { max_tokens: 4096 } : {}
      const body = protocol === 'generate' ? asked : { model: `sim-${protocol}`, ...required, ...asked }
      t.same(openApi(`${protocol}.request` as OpenApiName)(body), [], 'the request')
      const answer = await post(upstream, whole, body)
      t.equal(answer.status, 200, answer.text)
      t.same(openApi(`${protocol}.response` as OpenApiName)(JSON.parse(answer.text)), [])
      const events = dataOf((await post(upstream, stream, { ...body, ...STREAM[protocol] })).text.replaceAll('\r', ''))
      t.ok(events.length > 0)
      for (const event of events.filter(data => data !== '[DONE]')) {
        t.same(openApi(`${protocol}.event` as OpenApiName)(JSON.parse(event)), [], event)
      }
    })
  }
}

const STREAM: Readonly<Record<string, object>> = {
  chat: { stream: true, stream_options: { include_usage: true } },
  responses: { stream: true },
  messages: { stream: true },
}

const SPEECH = { model: 'sim-speech', input: 'Hello.', voice: 'alloy', instructions: 'Softly.', stream_format: 'sse' }
const IMAGE = {
  model: 'sim-image',
  prompt: 'A lighthouse',
  n: 2,
  size: '1024x1024',
  background: 'transparent',
  quality: 'low',
}

t.test('images fit their description, whole and streamed', { skip }, async t => {
  const upstream = await simulator(t)
  t.same(openApi('images.request')({ ...IMAGE, stream: true, partial_images: 2 }), [])
  const whole = await post(upstream, '/v1/images/generations', IMAGE)
  t.same(openApi('images.response')(JSON.parse(whole.text)), [])
  const { text } = await post(upstream, '/v1/images/generations', { ...IMAGE, stream: true, partial_images: 2 })
  t.equal(dataOf(text).length, 6)
  for (const event of dataOf(text)) t.same(openApi('images.event')(JSON.parse(event)), [])
})

t.test('events of speech fit their description', { skip }, async t => {
  t.same(openApi('speech.request')(SPEECH), [])
  const { text } = await post(await simulator(t), '/v1/audio/speech', SPEECH)
  t.ok(dataOf(text).length > 1)
  for (const event of dataOf(text)) t.same(openApi('speech.event')(JSON.parse(event)), [])
})

const RANKING = { model: 'sim-rerank', query: 'a', documents: ['a', { text: 'b' }] }

const OTHERS: readonly (readonly [string, object, OpenApiName])[] = [
  ['/v1/moderations', { input: 'Hello' }, 'moderations.response'],
  ['/v1/rerank', RANKING, 'rerank.response'],
  ['/v1/rerank', { ...RANKING, return_documents: true }, 'rerank.response'],
  ['/v1/messages/count_tokens', { model: 'sim-messages', ...USER('Hello') }, 'messages-count.response'],
  ['/v1beta/models/sim-generate:countTokens', ASK('Hello'), 'generate-count.response'],
  ['/v1beta/models/sim-embed:embedContent', { content: { parts: [{ text: 'Hello' }] } }, 'embed.response'],
  [
    '/v1beta/models/sim-embed:batchEmbedContents',
    { requests: [{ model: 'models/sim-embed', content: { parts: [{ text: 'Hello' }] } }] },
    'embed-batch.response',
  ],
]

for (const [path, body, name] of OTHERS) {
  t.test(`the answer of ${path} fits its description`, { skip }, async t => {
    const answer = await post(await simulator(t), path, body)
    t.equal(answer.status, 200, answer.text)
    t.same(openApi(name)(JSON.parse(answer.text)), [])
  })
}

// The document does not have `request_too_large`, which its family's prose gives 413.
for (const status of [400, 401, 403, 404, 429, 500, 504, 529]) {
  t.test(`an error of the messages protocol fits its description: ${status}`, { skip }, async t => {
    const answer = await post(await simulator(t), '/v1/messages', { model: `sim-messages?status=${status}` })
    t.equal(answer.status, status)
    t.same(openApi('messages.error')(JSON.parse(answer.text)), [])
    t.equal(JSON.parse(answer.text).request_id, answer.headers['request-id'])
  })
}
