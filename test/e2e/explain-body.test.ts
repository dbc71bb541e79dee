import t from 'tap'
import { explainRequest, type RequestFacts, requestFacts } from '../../src/plan/explain.js'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

const CREDENTIAL = 'credential: { in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }'
const SPEAKS = {
  chat: '{ chat: POST /v1/chat/completions, embeddings: POST /v1/embeddings }',
  responses: '{ responses: POST /v1/responses }',
  messages: '{ messages: POST /v1/messages, messages.count_tokens: POST /v1/messages/count_tokens }',
  generate: '{ generate: { call: "POST /v1beta/models/{model}:generateContent" } }',
  converse: '{ converse: { call: "POST /model/{model}/converse" } }',
}

/** A gateway whose models are named for what their one upstream speaks; `by-tool` gives structured answers by a tool. */
async function stage(more = ''): Promise<{
  gateway: Awaited<ReturnType<typeof startTestGateway>>
  up: Awaited<ReturnType<typeof startRawUpstream>>
}> {
  const up = await startRawUpstream(t)
  up.answer(json({ error: { message: 'not today' } }, { status: 400 }))
  const upstreams = Object.entries(SPEAKS).map(
    ([name, speaks]) => `  ${name}: { base: "${up.origin}", ${CREDENTIAL}, speaks: ${speaks} }\n`,
  )
  const models = `models:
  chat: { upstream: chat, as: their-chat }
  responses: responses
  messages: { upstream: messages, traits: { max_output: 4096 } }
  generate: generate
  converse: converse
  by-tool: { upstream: messages, traits: { structured: tool, max_output: 4096 } }
  judge: { upstream: chat, traits: { moderates: true } }
  hears-first: { targets: [chat, messages], traits: { max_output: 4096 } }
  hears-last: { targets: [messages, chat], traits: { max_output: 4096 } }
`
  const yaml = `version: 1\n${CALLER}\nupstreams:\n${upstreams.join('')}${models}${more}`
  return { gateway: await startTestGateway(t, yaml), up }
}

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const MESSAGES = [{ role: 'user', content: 'hello' }]
const LONG_NAME = 'mcp.server/'.repeat(9)
const FUNCTION = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const TEXT_FORMAT = { type: 'json_schema', name: 'place', schema: SCHEMA, strict: true }

/** What is asked on which path. `model` is written into each. */
const CASES: readonly (readonly [title: string, path: string, model: string, body: object])[] = [
  [
    'a structured answer that is given by a tool',
    '/v1/chat/completions',
    'by-tool',
    { messages: MESSAGES, response_format: { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA } } },
  ],
  ...['chat', 'responses', 'messages', 'generate', 'converse'].map(
    model =>
      [
        `a completion that the gateway keeps, of ${model}`,
        '/v1/chat/completions',
        model,
        { messages: MESSAGES, store: true, metadata: { a: 'b' } },
      ] as const,
  ),
  [
    'the same beside tools',
    '/v1/responses',
    'by-tool',
    { input: 'hello', text: { format: TEXT_FORMAT }, store: false },
  ],
  [
    'JSON mode by a tool',
    '/v1/chat/completions',
    'by-tool',
    { messages: MESSAGES, tools: [FUNCTION], response_format: { type: 'json_object' } },
  ],
  [
    'names of tools that are too long, or have other signs',
    '/v1/messages',
    'chat',
    { max_tokens: 9, messages: MESSAGES, tools: [{ name: LONG_NAME, input_schema: SCHEMA }] },
  ],
  [
    'tools that take free text',
    '/v1/responses',
    'chat',
    { input: 'hello', tools: [{ type: 'custom', name: 'apply_patch', description: 'Patches.' }], store: false },
  ],
  [
    'tools in groups',
    '/v1/responses',
    'messages',
    {
      input: 'hello',
      store: false,
      tools: [{ type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read', parameters: SCHEMA }] }],
    },
  ],
  [
    'native names',
    '/v1beta/models/responses:generateContent',
    'responses',
    { contents: [{ parts: [{ text: 'hi' }] }] },
  ],
  ['what is moderated', '/v1/moderations', 'judge', { input: 'hello' }],
  [
    'tokens that are counted',
    '/v1beta/models/messages:countTokens',
    'messages',
    { generateContentRequest: { model: 'models/messages', contents: [{ parts: [{ text: 'hi' }] }] } },
  ],
  ['a relayed body', '/v1/chat/completions', 'chat', { messages: MESSAGES, temperature: 0.5 }],
  [
    'members that name models, and members that route',
    '/v1/chat/completions',
    'chat',
    { messages: MESSAGES, models: ['chat'], route: 'fallback', provider: { order: ['a'] } },
  ],
  ['the same, translated', '/v1/chat/completions', 'messages', { messages: MESSAGES, route: 'fallback' }],
  ['embeddings', '/v1/embeddings', 'chat', { input: 'hello' }],
]

t.test('explain --body prints what is sent', async t => {
  const { gateway, up } = await stage()
  const { plan } = gateway.gateway.loaded
  if (plan === undefined) throw new Error('no plan')
  for (const [title, path, model, asked] of CASES) {
    const body = JSON.stringify(path.includes('/models/') ? asked : { model, ...asked })
    const before = up.requests.items.length
    await gateway.request(path, { body })
    const [sent] = up.requests.items.slice(before)
    const { exchanges, error } = requestFacts(plan, { method: 'POST', path, key: 'caller', body: Buffer.from(body) })
    t.equal(error, undefined, title)
    t.equal(exchanges[0]?.body, sent?.body.toString('utf8'), title)
    const url = exchanges[0]?.url.slice(up.origin.length)
    t.equal(url, sent?.target, title)
  }
})

t.test('explain refuses what is refused for its members, and says what is left out', async t => {
  const { gateway } = await stage()
  const { plan } = gateway.gateway.loaded
  if (plan === undefined) throw new Error('no plan')
  const path = '/v1/chat/completions'
  const explained = (more: object): ReturnType<typeof requestFacts> => {
    const body = Buffer.from(JSON.stringify({ model: 'chat', messages: MESSAGES, ...more }))
    return requestFacts(plan, { method: 'POST', path, key: 'caller', body })
  }
  for (const [more, code] of [
    [{ api_base: 'http://elsewhere.test' }, 'invalid_parameter'],
    [{ models: ['nowhere'] }, 'model_not_found'],
  ] as const) {
    t.equal(explained(more).error?.code, code)
    const answer = await gateway.chat({ model: 'chat', ...more })
    t.equal(answer.header('x-gateway-error'), code)
  }
  t.same(explained({ route: 'fallback' }).exchanges[0]?.dropped, ['route'])
})

/** Requests that are refused before anyone is asked: the status, and what is asked on which path. */
const REFUSED: readonly (readonly [status: number, path: string, body: object | string])[] = [
  [404, '/v1/embeddings', { model: 'messages', input: 'hello' }],
  [404, '/v1/rerank', { model: 'chat', query: 'a', documents: ['b'] }],
  [404, '/v1/chat/completions', { model: 'nobody', messages: MESSAGES }],
  [400, '/v1/responses', { model: 'nobody', input: 'hello' }],
  [400, '/v1/responses', { model: 'responses' }],
  [400, '/v1/responses', { model: 'messages', input: null }],
  [400, '/v1/responses', { model: 'chat', input: 'a', previous_response_id: 'resp_1', conversation: 'conv_1' }],
  [400, '/v1/responses', { model: 'chat', input: 'a', previous_response_id: 5 }],
  [400, '/v1/chat/completions', { model: 'chat' }],
  [400, '/v1/chat/completions', { messages: MESSAGES }],
  [400, '/v1/chat/completions', { model: 'x'.repeat(300), messages: MESSAGES }],
  [400, '/v1/chat/completions', { model: 'chat', messages: MESSAGES, stream: 'yes' }],
  [400, '/v1/chat/completions', { Model: 'chat', messages: MESSAGES }],
  [400, '/v1/chat/completions', '{"model":"chat","model":"chat"}'],
  [400, '/v1/chat/completions', '{"model":'],
  [400, '/v1/chat/completions', '[]'],
  [400, '/v1/embeddings', { model: 'chat' }],
  [400, '/v1/messages', { model: 'messages', messages: MESSAGES, max_tokens: 'many' }],
  [404, '/v1/messages', { model: 'nobody', messages: MESSAGES, max_tokens: 9 }],
  [404, '/v1beta/models/nobody:generateContent', { contents: [{ parts: [{ text: 'hi' }] }] }],
  [404, '/v1beta/models/chat:predict', { instances: [{ prompt: 'hi' }] }],
  [404, '/v1/nothing', {}],
  [404, '/chat/completions', { model: 'chat', messages: MESSAGES }],
  [405, '/v1/models', {}],
]

/** Ids of requests differ each time. */
function withoutId(body: unknown): object {
  const { request_id: _request, id: _id, ...rest } = body as Record<string, unknown>
  return rest
}

t.test('explain prints the refusal that the client gets', async t => {
  const { gateway, up } = await stage()
  const { plan } = gateway.gateway.loaded
  if (plan === undefined) throw new Error('no plan')
  for (const [status, path, asked] of REFUSED) {
    const body = typeof asked === 'string' ? asked : JSON.stringify(asked)
    const title = `${path} ${body.slice(0, 100)}`
    const answer = await gateway.request(path, { method: 'POST', body })
    const { error } = requestFacts(plan, { method: 'POST', path, key: 'caller', body: Buffer.from(body) })
    t.equal(answer.status, status, title)
    t.equal(error?.status, status, title)
    t.equal(error?.code, answer.header('x-gateway-error'), title)
    t.same(withoutId(error?.body), withoutId(answer.json()), title)
  }
  const missing = await gateway.request('/v1/models/nobody', { method: 'GET' })
  const explained = requestFacts(plan, { method: 'GET', path: '/v1/models/nobody', key: 'caller' })
  t.same(explained.error?.body, missing.json())
  t.equal(up.requests.items.length, 0, 'no one is asked')
})

t.test('explain says in which form vectors are given', async t => {
  const { gateway } = await stage()
  const { plan } = gateway.gateway.loaded
  if (plan === undefined) throw new Error('no plan')
  const explained = (more: object, model = 'chat'): RequestFacts => {
    const body = JSON.stringify({ model, input: 'hello', ...more })
    return requestFacts(plan, { method: 'POST', path: '/v1/embeddings', key: 'caller', body })
  }
  t.equal(explained({}).vectors, undefined)
  t.equal(explained({ encoding_format: 'float' }).vectors, 'float')
  t.equal(explained({ encoding_format: 'base64' }).vectors, 'base64')
  const body = JSON.stringify({ model: 'chat', input: 'hello', encoding_format: 'base64' })
  const text = explainRequest(plan, { method: 'POST', path: '/v1/embeddings', key: 'caller', body })
  t.match(text, /^vectors +base64; numbers from the upstream are encoded$/m)
})

const AUDIO = { type: 'input_audio', input_audio: { data: 'UklGRiQAAABXQVZF', format: 'wav' } }

t.test('a target that cannot be given the request refuses it if it comes to that one', async t => {
  const { gateway, up } = await stage()
  const { plan } = gateway.gateway.loaded
  if (plan === undefined) throw new Error('no plan')
  const explained = (model: string): RequestFacts => {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: [AUDIO] }] })
    return requestFacts(plan, { method: 'POST', path: '/v1/chat/completions', key: 'caller', body })
  }
  const [first, second] = explained('hears-first').exchanges
  t.match(first, { upstream: 'chat', refused: undefined, body: /input_audio/ })
  t.match(second, { upstream: 'messages', refused: /^400 untranslatable: .* does not accept audio/, body: undefined })
  await gateway.chat({ model: 'hears-first', messages: [{ role: 'user', content: [AUDIO] }] })
  t.equal(up.requests.items[0]?.body.toString('utf8'), first?.body)

  const refused = await gateway.chat({ model: 'hears-last', messages: [{ role: 'user', content: [AUDIO] }] })
  t.same(withoutId(explained('hears-last').error?.body), withoutId(refused.json()))
  t.equal(up.requests.items.length, 1)
})

t.test('explain says what is sent for a response that the gateway runs in the background', async t => {
  const { gateway, up } = await stage()
  const { plan } = gateway.gateway.loaded
  if (plan === undefined) throw new Error('no plan')
  const body = JSON.stringify({ background: true, model: 'chat', input: 'hello' })
  const ask = { method: 'POST', path: '/v1/responses', key: 'caller', body }
  const answer = await gateway.request('/v1/responses', { body })
  t.match(answer.json(), { status: 'queued' })
  const [sent] = await up.requests.count(1)
  t.equal(requestFacts(plan, ask).exchanges[0]?.body, sent?.body.toString('utf8'))
})

t.test('explain fetches nothing, and says what would be', async t => {
  const { gateway } = await stage('media: { fetch: { allow: ["*"] } }\n')
  const { plan } = gateway.gateway.loaded
  if (plan === undefined) throw new Error('no plan')
  const url = 'https://example.com/a.png'
  const content = [{ type: 'image_url', image_url: { url } }]
  const body = JSON.stringify({ model: 'generate', messages: [{ role: 'user', content }] })
  const ask = { method: 'POST', path: '/v1/chat/completions', key: 'caller', body }
  const { exchanges } = requestFacts(plan, ask)
  t.same(exchanges[0]?.translation?.fetched, [url])
  t.match(exchanges[0]?.body, `"data":"[content of ${url}]"`)
  t.match(explainRequest(plan, ask), `fetched    ${url}: its content is sent, not its URL`)
})

proveNoLeak(t)
