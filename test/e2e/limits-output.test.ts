import t, { type Test } from 'tap'
import { requestFacts } from '../../src/plan/explain.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** `max_output` of a key or a group: it is sent to an upstream where the client names no limit of its own. */

const SPEAKS: Readonly<Record<string, string>> = {
  chat: 'POST /v1/chat/completions',
  completions: 'POST /v1/completions',
  responses: 'POST /v1/responses',
  messages: 'POST /v1/messages',
  generate: 'POST /v1beta/models/{model}:generateContent',
  converse: 'POST /model/{model}/converse',
}

interface Staged {
  readonly gateway: TestGateway
  readonly up: RawUpstream
}

/** A gateway whose upstream speaks one protocol. `more`: of the upstream; `model`: words of the model. */
async function staged(t: Test, protocol: string, more = '', model = ''): Promise<Staged> {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
groups: { all: { limits: { max_output: 4000 } } }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], group: all, limits: { max_output: 100, budget: 1 USD/day } }
prices: { "*": { output: 1000.00 } }
upstreams: { up: { base: "${up.origin}", speaks: { ${protocol}: "${SPEAKS[protocol]}" }${more} } }
models: { m: { upstream: up${model} } }
`,
  )
  return { gateway, up }
}

/** What the upstream gets of a request. */
async function sent({ gateway, up }: Staged, path: string, body: object): Promise<Record<string, unknown>> {
  const before = up.requests.items.length
  // What it answers does not matter here.
  up.answer(json({ error: { message: 'no' } }, { status: 400 }))
  await gateway.request(path, { body })
  return up.requests.items[before]?.json() as Record<string, unknown>
}

const MESSAGES = [{ role: 'user', content: 'hello' }]
const CHAT = '/v1/chat/completions'
const CHAT_BODY = { model: 'm', messages: MESSAGES }
const NATIVE = '/v1beta/models/m:generateContent'
const CONTENTS = [{ role: 'user', parts: [{ text: 'hello' }] }]
const CONVERSE_BODY = { messages: [{ role: 'user', content: [{ text: 'hello' }] }] }

/** Protocol of the upstream, path, body, and what is sent of it. */
const ASKED: readonly (readonly [string, string, object, object])[] = [
  ['chat', CHAT, CHAT_BODY, { max_completion_tokens: 100 }],
  ['chat', CHAT, { ...CHAT_BODY, max_completion_tokens: null, stream: true }, { max_completion_tokens: 100 }],
  ['completions', '/v1/completions', { model: 'm', prompt: 'hello' }, { max_tokens: 100 }],
  ['responses', '/v1/responses', { model: 'm', input: 'hello' }, { max_output_tokens: 100 }],
  ['generate', NATIVE, { contents: CONTENTS }, { generationConfig: { maxOutputTokens: 100 } }],
  [
    'generate',
    NATIVE,
    { contents: CONTENTS, generationConfig: { temperature: 1 } },
    { generationConfig: { maxOutputTokens: 100, temperature: 1 } },
  ],
  [
    'generate',
    NATIVE.replace(':generate', ':streamGenerate'),
    { contents: CONTENTS },
    { generationConfig: { maxOutputTokens: 100 } },
  ],
  ['converse', '/model/m/converse', CONVERSE_BODY, { inferenceConfig: { maxTokens: 100 } }],
  ['messages', CHAT, CHAT_BODY, { max_tokens: 100 }],
  ['generate', CHAT, CHAT_BODY, { generationConfig: { maxOutputTokens: 100 } }],
  ['chat', '/v1/responses', { model: 'm', input: 'hello' }, { max_completion_tokens: 100 }],
  ['responses', NATIVE, { contents: CONTENTS }, { max_output_tokens: 100 }],
]

for (const [protocol, path, body, expected] of ASKED) {
  t.test(`an upstream of ${protocol} gets the limit: ${path} ${JSON.stringify(body)}`, async t => {
    t.match(await sent(await staged(t, protocol), path, body), expected)
  })
}

t.test('a limit of the client is sent as it is, and nothing is added to it', async t => {
  const at = await staged(t, 'chat')
  t.strictSame(await sent(at, CHAT, { ...CHAT_BODY, max_tokens: 7 }), { ...CHAT_BODY, max_tokens: 7 })
  t.match(
    await sent(await staged(t, 'generate'), NATIVE, { contents: CONTENTS, generationConfig: { maxOutputTokens: 7 } }),
    {
      generationConfig: { maxOutputTokens: 7 },
    },
  )
})

t.test('the member is the one that the upstream knows, and the number none that its model cannot do', async t => {
  const older = await staged(t, 'chat', ', traits: { max_tokens_field: max_tokens }', ', max_output: 50')
  t.match(await sent(older, CHAT, CHAT_BODY), { max_tokens: 50, max_completion_tokens: undefined })
  const declared = await staged(t, 'messages', ', traits: { max_output: 60 }')
  t.match(await sent(declared, CHAT, CHAT_BODY), { max_tokens: 60 })
})

t.test('a request that asks for no text gets nothing added', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { max_output: 100 } } }
upstreams: { up: { base: "${up.origin}", speaks: { embeddings: POST /v1/embeddings } } }
models: { m: up }
`,
  )
  const body = { model: 'm', input: 'hello' }
  t.strictSame(await sent({ gateway, up }, '/v1/embeddings', body), body)
})

t.test('a target that is asked again, and the one after it, get the limit once', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
retry: { attempts: 3, wait: 1ms, max_wait: 1ms }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { max_output: 100 } } }
upstreams:
  one: { base: "${up.origin}", speaks: { chat: POST /v1/chat/completions } }
  two: { base: "${up.origin}", speaks: { messages: POST /v1/messages }, traits: { max_output: 60 } }
models: { m: [{ upstream: one, as: a }, { upstream: two, as: b }] }
`,
  )
  up.answer(...[1, 2].map(() => json({ error: { message: 'no' } }, { status: 500 })), json(CHAT_ANSWER))
  await gateway.chat()
  t.strictSame(
    up.requests.items.map(({ body }) => body.toString('utf8').match(/"max_[a-z_]+":\d+/g)),
    [['"max_completion_tokens":100'], ['"max_tokens":60'], ['"max_completion_tokens":100']],
  )
})

t.test('what is sent is what is reserved: as many requests pass as the budget covers', async t => {
  const { gateway, up } = await staged(t, 'chat')
  const usage = { prompt_tokens: 1, completion_tokens: 100, total_tokens: 101 }
  up.answer(...Array.from({ length: 10 }, () => json({ ...CHAT_ANSWER, usage })))
  const statuses = await Promise.all(Array.from({ length: 12 }, async () => (await gateway.chat()).status))
  t.equal(statuses.filter(status => status === 200).length, 10)
  await gateway.gateway.close()
  t.equal(
    (await ledgerRecords(gateway)).reduce((sum, { cost }) => sum + cost, 0),
    1_000_000,
  )
})

t.test('the error names the member by which the client asked for more', async t => {
  const { gateway } = await staged(t, 'chat')
  for (const member of ['max_tokens', 'max_completion_tokens']) {
    const refused = await gateway.chat({ [member]: 101 })
    t.equal(refused.status, 400)
    t.match(refused.json(), { error: { param: member, message: /101 tokens.*max_output.*100/ } })
  }
})

t.test('explain refuses what the gateway does, and shows the limit that is sent', async t => {
  const { gateway } = await staged(t, 'chat')
  const facts = (more: object): ReturnType<typeof requestFacts> =>
    requestFacts(gateway.gateway.plan, {
      ...{ method: 'POST', path: CHAT, key: 'caller' },
      body: JSON.stringify({ ...CHAT_BODY, ...more }),
    })
  t.match(facts({}), { exchanges: [{ body: /"max_completion_tokens":100/ }], error: undefined })
  t.match(facts({ max_tokens: 101 }), { error: { status: 400, body: { error: { param: 'max_tokens' } } } })
  t.match(facts({ n: 11 }), { error: { status: 429, reason: /reserves .*1.1\d* USD/ } })
  t.equal((await gateway.chat({ n: 11 })).status, 429)
})
