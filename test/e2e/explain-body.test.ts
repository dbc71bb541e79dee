import t from 'tap'
import { requestFacts } from '../../src/plan/explain.js'
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
}

/** A gateway whose models are named for what their one upstream speaks; `by-tool` gives structured answers by a tool. */
async function stage(): Promise<{
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
  by-tool: { upstream: messages, traits: { structured: tool, max_output: 4096 } }
  judge: { upstream: chat, traits: { moderates: true } }
`
  const yaml = `version: 1\n${CALLER}\nupstreams:\n${upstreams.join('')}${models}`
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
  ...['chat', 'responses', 'messages', 'generate'].map(
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

proveNoLeak(t)
