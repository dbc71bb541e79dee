import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { json } from '../helpers/answers.js'
import { oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

// Conversations are made shorter on every text upstream. Where the upstream cannot, its model writes a summary.

const KEY = 'key-of-the-shipped-file-0123'
const BOB = 'bob-secret-key-of-some-length'
const MODELS = ['sim-text', 'sim-responses', 'sim-messages', 'sim-generate'] as const

const sdkOf = (gateway: TestGateway, key: string): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })

async function shipped(test: Test): Promise<{ readonly gateway: TestGateway; readonly sdk: OpenAI }> {
  const yaml = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8')
  const gateway = await startTestGateway(test, yaml, { env: { GATEWAY_KEY: KEY } })
  return { gateway, sdk: sdkOf(gateway, KEY) }
}

const asked = (text: string) => ({ type: 'message', role: 'user', content: text }) as const
const said = (text: string) => ({ type: 'message', role: 'assistant', content: text }) as const

t.test('the official SDK compacts a conversation on all four text models, and continues with it', async t => {
  const { sdk } = await shipped(t)
  for (const model of MODELS) {
    const input = [asked('My name is Ann.'), said('Hello Ann.'), asked('Remember it.')]
    const compacted = await sdk.responses.compact({ model, input, instructions: 'Be brief.' })
    t.equal(compacted.object, 'response.compaction', model)
    t.type(compacted.created_at, 'number')
    t.ok(compacted.usage.output_tokens > 0, `${model}: what the summary cost is reported`)
    const last = compacted.output.at(-1)
    t.equal(last?.type, 'compaction', model)
    const users = compacted.output.filter(item => item.type === 'message')
    t.equal(users.length, 2, 'the messages of the user stay')
    const next = await sdk.responses.create({
      model,
      input: [...(compacted.output as OpenAI.Responses.ResponseInputItem[]), asked('Who am I?')],
    })
    t.equal(next.status, 'completed', model)
    const later = await sdk.responses.compact({ model, previous_response_id: next.id })
    t.equal(later.output.at(-1)?.type, 'compaction', `${model}: from a response that was kept`)
  }
})

t.test(
  'a compaction of another upstream means nothing to a translated model: its loss is named, or refused',
  async t => {
    const yaml = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8')
    const keys = `  strict: { secret: { env: BOB_KEY }, models: ["*"], strict: true }`
    const gateway = await startTestGateway(t, yaml.replace(/^keys:\n/m, `keys:\n${keys}\n`), {
      env: { GATEWAY_KEY: KEY, BOB_KEY: BOB },
    })
    const input = [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAAABmade-elsewhere' }, asked('Go on.')]
    for (const model of ['sim-text', 'sim-messages', 'sim-generate']) {
      const named = await gateway.request('/v1/responses', { key: KEY, body: { model, input } })
      t.equal(named.status, 200, named.text.slice(0, 300))
      t.equal(named.header('x-gateway-dropped'), 'input[0]', model)
      const refused = await gateway.request('/v1/responses', { key: BOB, body: { model, input } })
      t.match(refused.json(), { error: { code: 'untranslatable', param: 'input[0]' } }, model)
    }
  },
)

t.test('a response runs in the background on all four text models', async t => {
  const { sdk } = await shipped(t)
  for (const model of MODELS) {
    let response = await sdk.responses.create({ model, input: 'Say hello.', background: true })
    t.equal(response.background, true, model)
    while (response.status === 'queued' || response.status === 'in_progress') {
      response = await sdk.responses.retrieve(response.id)
    }
    t.equal(response.status, 'completed', model)
    t.ok(response.output_text, model)
    const events = await sdk.responses.create({ model, input: 'Count.', background: true, stream: true })
    const types: string[] = []
    for await (const { type } of events) types.push(type)
    t.equal(types.at(-1), 'response.completed', model)
  }
})

t.test('what ran in the background here is listed, continued and deleted as any response', async t => {
  const { sdk } = await shipped(t)
  for (const model of MODELS) {
    let first = await sdk.responses.create({ model, input: 'I am Ann.', background: true })
    while (first.status === 'queued' || first.status === 'in_progress') first = await sdk.responses.retrieve(first.id)
    const items = await sdk.responses.inputItems.list(first.id)
    t.equal(items.data.length, 1, model)
    const next = await sdk.responses.create({ model, input: 'Who am I?', previous_response_id: first.id })
    t.equal(next.status, 'completed', model)
    await sdk.responses.delete(first.id)
    await t.rejects(sdk.responses.retrieve(first.id), { status: 404, message: /not found/ })
  }
})

// ── what is in the item, and whose it is

const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
const chat = (content: string, finish_reason = 'stop') =>
  json({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason }],
    usage,
  })

async function stage(test: Test, speaks: string) {
  const up = await startRawUpstream(test)
  const gateway = await startTestGateway(
    test,
    `version: 1
keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }
upstreams: { up: { base: "${up.origin}", speaks: { ${speaks} } } }
models: { m: up }
`,
    { env: { BOB_KEY: BOB } },
  )
  return { up, gateway, ann: sdkOf(gateway, gateway.key), bob: sdkOf(gateway, BOB) }
}

const CHAT = 'chat: POST /v1/chat/completions'
const RESPONSES = 'responses: POST /v1/responses'
const TOOL = { type: 'function', name: 'run', parameters: { type: 'object' }, strict: false } as const

t.test('the model is asked for a summary, which only the key that had it made can use', async t => {
  const { up, ann, bob, gateway } = await stage(t, CHAT)
  up.answer(chat('Ann likes tea.'))
  const compacted = await ann.responses.compact({
    model: 'm',
    input: [asked('I like tea.'), said('Noted.')],
    ...{ tools: [TOOL] },
  })
  t.match(compacted.usage, { input_tokens: 9, output_tokens: 4, total_tokens: 13 })
  const request = up.requests.items.at(-1)?.json() as { messages: { role: string; content: unknown }[] }
  t.match(request, { tool_choice: 'none', tools: [{ function: { name: 'run' } }] }, 'it calls none of the tools')
  t.match(request.messages.slice(0, 2), [{ role: 'user' }, { role: 'assistant' }])
  t.match(JSON.stringify(request.messages.at(-1)), /summary/)
  const [item] = compacted.output.filter(one => one.type === 'compaction')
  t.notOk(Buffer.from(item?.encrypted_content ?? '', 'base64url').includes('tea'), 'it is sealed')

  up.answer(chat('You like tea.'))
  const input = [...compacted.output, asked('What do I like?')] as OpenAI.Responses.ResponseInputItem[]
  const next = await ann.responses.create({ model: 'm', input })
  t.match(JSON.stringify(up.requests.items.at(-1)?.json()), /summary of it:\\n\\nAnn likes tea\./)
  up.answer(chat('Tea.'))
  await ann.responses.create({ model: 'm', input: 'Again?', previous_response_id: next.id })
  t.match(JSON.stringify(up.requests.items.at(-1)?.json()), /Ann likes tea\./, 'kept sealed, and opened again')

  const heard = up.requests.items.length
  const forged = `${item?.encrypted_content.slice(0, -4)}AAAA`
  const refusals = [
    bob.responses.create({ model: 'm', input }),
    ann.responses.create({ model: 'm', input: [{ type: 'compaction', encrypted_content: forged }] }),
  ]
  for (const refused of refusals) {
    await t.rejects(refused, {
      status: 400,
      code: 'invalid_encrypted_content',
      param: /^input\[\d\]\.encrypted_content$/,
    })
  }
  t.equal(up.requests.items.length, heard, 'no upstream hears of it')
  await gateway.gateway.close()
})

t.test('a server of the protocol that does not compact has its model write the summary', async t => {
  const { up, ann } = await stage(t, RESPONSES)
  const answered = (text: string) => ({
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [] }],
      },
    ],
    usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
  })
  up.answer(
    json({ error: { message: 'no such page' } }, { status: 404 }),
    json(answered('All of it.')),
    json(answered('Yes.')),
  )
  const compacted = await ann.responses.compact({ model: 'm', input: 'Hello.' })
  t.same(
    up.requests.items.map(one => one.target),
    ['/v1/responses/compact', '/v1/responses'],
  )
  t.match(up.requests.items[1]?.json(), { store: false })
  await ann.responses.create({ model: 'm', input: compacted.output as OpenAI.Responses.ResponseInputItem[] })
  t.match(
    JSON.stringify(up.requests.items.at(-1)?.json()),
    /All of it\./,
    'its own requests get the summary in place of the item',
  )
})

t.test('an upstream that compacts gets the whole conversation that the gateway keeps', async t => {
  const [up, other] = [await startRawUpstream(t), await startRawUpstream(t)]
  const yaml = `version: 1
keys: { ann: { secret: { env: CALLER_KEY } } }
upstreams: { up: { base: "${up.origin}", speaks: { ${RESPONSES} } }, other: { base: "${other.origin}", speaks: { ${CHAT} } } }
models: { m: up, translated: other }
`
  const gateway = await startTestGateway(t, yaml)
  const sdk = sdkOf(gateway, gateway.key)
  other.answer(chat('Ann likes tea.'))
  const sealed = await sdk.responses.compact({ model: 'translated', input: 'I like tea.' })
  other.answer(chat('Noted.'))
  const kept = await sdk.responses.create({
    ...{ model: 'translated' },
    input: [...sealed.output.filter(({ type }) => type === 'compaction'), asked('And milk.')] as never,
  })
  const { id } = await sdk.conversations.create({ items: [asked('From a conversation.')] })
  const [said] = kept.output
  const compaction = { id: 'resp_c', object: 'response.compaction', created_at: 1, output: [], usage: null }
  up.answer(json(compaction))
  const SUMMARY = /summary of it:\n\nAnn likes tea\./
  const cases: readonly (readonly [body: object, input: readonly unknown[]])[] = [
    [{ previous_response_id: kept.id }, [SUMMARY, 'And milk.', 'Noted.']],
    [{ conversation: id, input: 'And now?' }, ['From a conversation.', 'And now?']],
    [{ input: sealed.output }, ['I like tea.', SUMMARY]],
    [{ input: [{ type: 'item_reference', id: said?.id }] }, ['Noted.']],
  ]
  for (const [body, texts] of cases) {
    const answer = await gateway.request('/v1/responses/compact', { body: { model: 'm', ...body } })
    t.same(answer.json(), compaction, answer.text)
    t.equal(up.last.target, '/v1/responses/compact')
    const { input, ...rest } = up.last.json() as { input: { content: [{ text: string }] }[] }
    t.same(rest, { model: 'm' })
    t.match(
      input.map(({ content: [part] }) => part.text),
      texts,
    )
    t.equal(input.length, texts.length)
  }
  up.answer(json({ error: { message: 'no such page' } }, { status: 404 }))
  const refused = await gateway.request('/v1/responses/compact', { body: { model: 'm', conversation: id } })
  t.equal(refused.status, 404)
  t.match(up.last.json(), { input: [{ content: [{ text: 'From a conversation.' }] }, { role: 'user' }], store: false })
})

t.test('checks are asked about what is compacted', async t => {
  const up = await startRawUpstream(t)
  up.answer(json({ id: 'resp_c', object: 'response.compaction', created_at: 1, output: [], usage: null }))
  const words = `export const openCheck = () => ({
    check: async request =>
      JSON.stringify(await request.body()).includes('forbidden') ? { refuse: 'no', status: 422 } : 'pass',
  })`
  const checks = 'checks: { words: { type: ./words.mjs, models: [m] } }\n'
  const gateway = await startTestGateway(t, oneUpstream(up.origin, checks), { files: { 'words.mjs': words } })
  const compacted = (input: string) => gateway.request('/v1/responses/compact', { body: { model: 'm', input } })
  t.equal((await compacted('forbidden')).status, 422)
  t.equal(up.requests.items.length, 0)
  t.equal((await compacted('hello')).status, 200)
})

t.test('a summary that the model writes is not asked for with the key of the client’s own request', async t => {
  const { up, gateway } = await stage(t, RESPONSES)
  up.answer(json({ error: {} }, { status: 404 }), json({ error: {} }, { status: 400 }))
  const headers = { 'idempotency-key': 'one' }
  await gateway.request('/v1/responses/compact', { body: { model: 'm', input: 'x' }, headers })
  t.same(
    up.requests.items.map(request => request.header('idempotency-key')),
    ['one', undefined],
  )
})

t.test('what the model refuses is refused, and an answer without a text is not one', async t => {
  const { up, ann } = await stage(t, CHAT)
  up.answer(
    json({ error: { message: 'slow down', type: 'rate_limit' } }, { status: 429, headers: { 'retry-after': '7' } }),
  )
  const refused = await ann.responses.compact({ model: 'm', input: 'x' }).then(
    () => undefined,
    (error: InstanceType<typeof OpenAI.APIError>) => error,
  )
  t.equal(refused?.status, 429)
  t.equal(refused?.headers?.get('retry-after'), '7')
  up.answer(chat(''))
  await t.rejects(ann.responses.compact({ model: 'm', input: 'x' }), { status: 502, code: /./ })
  await t.rejects(ann.responses.compact({ model: 'other', input: 'x' }), { status: 400, param: 'model', code: /./ })
})
