import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { json, stream } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { onStoreUnderTest } from '../helpers/store-kinds.js'

// Conversations that have an id. The gateway keeps them for the key that made them, whichever upstream answers in them.

const KEY = 'key-of-the-shipped-file-0123'
const BOB = 'bob-secret-key-of-some-length'
const MODELS = ['sim-text', 'sim-responses', 'sim-messages', 'sim-generate'] as const

const onStore = onStoreUnderTest(t)

const sdkOf = (gateway: TestGateway, key: string): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })

async function shipped(test: Test): Promise<OpenAI> {
  const yaml = await onStore(test, readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8'))
  return sdkOf(await startTestGateway(test, yaml, { env: { GATEWAY_KEY: KEY } }), KEY)
}

interface Refusal {
  readonly status?: number
  readonly code?: string | null
  readonly param?: string | null
  readonly message?: string
}

const refusalOf = (request: Promise<unknown>): Promise<Refusal> =>
  request.then(
    () => ({}),
    (error: Refusal) => error,
  )

type Item = OpenAI.Conversations.ConversationItem

const all = async (list: AsyncIterable<Item>): Promise<Item[]> => {
  const items: Item[] = []
  for await (const item of list) items.push(item)
  return items
}

const textOf = (item: Item | undefined): string =>
  item?.type === 'message' ? item.content.map(part => ('text' in part ? part.text : '')).join('') : `(${item?.type})`

const user = (content: string) => ({ type: 'message', role: 'user', content }) as const

t.test('the official SDK makes, reads, changes and deletes conversations and their items', async t => {
  const { conversations } = await shipped(t)
  const made = await conversations.create({ metadata: { topic: 'tea' }, items: [user('Hello.')] })
  t.match(made, { id: /^conv_[0-9a-f]{32}$/, object: 'conversation', metadata: { topic: 'tea' }, created_at: Number })
  t.same(await conversations.retrieve(made.id), made)
  t.match(await conversations.update(made.id, { metadata: { topic: 'milk' } }), {
    id: made.id,
    metadata: { topic: 'milk' },
  })
  const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"n":12345678901234567890}' } as const
  const added = await conversations.items.create(made.id, {
    items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'One.' }] }, call],
  })
  t.match(added, { object: 'list', has_more: false, first_id: added.data[0]?.id, last_id: added.data[1]?.id })
  t.match(added.data, [
    { id: /^msg_/, role: 'user', status: 'completed', content: [{ type: 'input_text', text: 'One.' }] },
    { id: /^fc_/, status: 'completed', ...call },
  ])
  const [first, second, third] = await all(conversations.items.list(made.id, { order: 'asc', limit: 1 }))
  t.same([first, second, third].map(textOf), ['Hello.', 'One.', '(function_call)'], 'over three pages')
  const page = await conversations.items.list(made.id, { limit: 2 })
  t.match(page, { has_more: true, data: [{ id: third?.id }, { id: second?.id }] }, 'the latest first')
  const id = second?.id ?? ''
  t.same(await conversations.items.retrieve(id, { conversation_id: made.id }), second)
  t.match(await conversations.items.delete(id, { conversation_id: made.id }), { id: made.id, object: 'conversation' })
  t.match(await refusalOf(conversations.items.retrieve(id, { conversation_id: made.id })), { status: 404 })
  t.same((await all(conversations.items.list(made.id, { order: 'asc' }))).map(textOf), ['Hello.', '(function_call)'])
  t.same(await conversations.delete(made.id), { id: made.id, object: 'conversation.deleted', deleted: true })
  t.match(await refusalOf(conversations.retrieve(made.id)), { status: 404, message: /not found/ })
  t.match(await refusalOf(conversations.delete(made.id)), { status: 404 })
})

t.test('responses continue with a conversation on all four text models, streamed or not', async t => {
  const sdk = await shipped(t)
  const { id } = await sdk.conversations.create()
  let told = 0
  for (const model of MODELS) {
    const response = await sdk.responses.create({ model, input: `Question ${told}.`, conversation: id })
    t.same(response.conversation, { id }, model)
    const items = await all(sdk.conversations.items.list(id, { order: 'asc' }))
    const said = items.filter(item => item.type === 'message')
    t.equal(textOf(said.at(-2)), `Question ${told}.`, `${model}: what was asked is added`)
    t.equal(textOf(said.at(-1)), response.output_text, `${model}: and what was answered`)
    told++

    const events = await sdk.responses.create({ model, input: `Question ${told}.`, conversation: { id }, stream: true })
    let text = ''
    for await (const event of events) {
      if (event.type === 'response.created')
        t.same(event.response.conversation, { id }, `${model}: from the first event`)
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    const [latest] = (await sdk.conversations.items.list(id)).data
    t.equal(textOf(latest), text, `${model}: streamed`)
    told++
  }
  const all4 = (await all(sdk.conversations.items.list(id, { order: 'asc', limit: 100 }))).filter(
    item => item.type === 'message' && item.role === 'user',
  )
  t.equal(all4.length, told, 'one conversation over all models')
})

t.test('a response in the background, and one that is not stored, add to their conversation', async t => {
  const sdk = await shipped(t)
  for (const model of MODELS) {
    const { id } = await sdk.conversations.create()
    let response = await sdk.responses.create({ model, input: 'Hi.', conversation: id, background: true })
    while (response.status === 'queued' || response.status === 'in_progress') {
      response = await sdk.responses.retrieve(response.id)
    }
    t.same(response.conversation, { id }, model)
    await sdk.responses.create({ model, input: 'Again.', conversation: id, store: false })
    const said = (await all(sdk.conversations.items.list(id, { order: 'asc' }))).filter(item => item.type === 'message')
    t.same(
      said.map(item => item.role),
      ['user', 'assistant', 'user', 'assistant'],
      model,
    )
    const next = await sdk.responses.create({ model, input: 'More.', previous_response_id: response.id })
    t.equal(next.status, 'completed', `${model}: its response can be continued by its id, too`)
  }
})

// ── what upstreams get, and whose it is

const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
const chat = (content: string) =>
  json({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage,
  })

async function stage(test: Test, speaks: string, more = '') {
  const up = await startRawUpstream(test)
  const gateway = await startTestGateway(
    test,
    await onStore(
      test,
      `version: 1
keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }
upstreams: { up: { base: "${up.origin}", speaks: { ${speaks} } } }
models: { m: up }
${more}`,
    ),
    { env: { BOB_KEY: BOB } },
  )
  return { up, gateway, ann: sdkOf(gateway, gateway.key), bob: sdkOf(gateway, BOB) }
}

const CHAT = 'chat: POST /v1/chat/completions'

t.test('the upstream gets the items of the conversation before the input', async t => {
  const { up, ann } = await stage(t, CHAT)
  const { id } = await ann.conversations.create({
    items: [user('I am Ann.'), { role: 'assistant', content: 'Hello Ann.' }],
  })
  up.answer(chat('Ann.'))
  const response = await ann.responses.create({ model: 'm', input: 'Who am I?', conversation: id })
  const request = up.requests.items[0]?.json() as { messages: { role: string }[]; conversation?: unknown }
  t.same(
    request.messages.map(one => one.role),
    ['user', 'assistant', 'user'],
  )
  t.equal(request.conversation, undefined)
  up.answer(chat('Yes.'))
  await ann.responses.create({ model: 'm', input: 'Sure?', previous_response_id: response.id })
  const next = up.requests.items[1]?.json() as { messages: { content: unknown }[] }
  t.match(JSON.stringify(next.messages), /I am Ann\..*Hello Ann\..*Who am I\?.*Ann\..*Sure\?/)
  t.equal((await ann.conversations.items.list(id)).data.length, 4, 'which is another branch')
  t.equal((await ann.responses.inputItems.list(response.id, { order: 'asc' })).data.length, 3)
})

t.test('an upstream of the protocol gets the items, and nothing of an id that it does not know', async t => {
  const { up, ann } = await stage(t, 'responses: POST /v1/responses')
  const message = (text: string) => ({
    type: 'message',
    id: `msg_${text}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  })
  const response = (text: string) => ({
    id: `resp_${text}`,
    object: 'response',
    status: 'completed',
    output: [message(text)],
  })
  const events = [
    { type: 'response.created', response: { ...response('b'), status: 'in_progress', output: [] } },
    { type: 'response.output_item.done', output_index: 0, item: message('b') },
    { type: 'response.completed', response: response('b') },
  ]
  const failed = { type: 'response.failed', response: { ...response('c'), status: 'failed' } }
  // Content first: a failure before it would be tried again.
  const started = {
    type: 'response.output_text.delta',
    item_id: 'msg_c',
    output_index: 0,
    content_index: 0,
    delta: 'No',
  }
  const sse = (list: readonly { type: string }[]) =>
    stream(list.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
  up.answer(json(response('a')), sse(events), sse([started, failed]), json(response('d')))
  const { id } = await ann.conversations.create({ items: [user('First.')] })
  t.match(await ann.responses.create({ model: 'm', input: 'Second.', conversation: { id } }), { conversation: { id } })
  const sent = up.requests.items[0]?.json() as { input: unknown[]; conversation?: unknown }
  t.equal(sent.conversation, undefined)
  t.match(sent.input, [{ role: 'user' }, { role: 'user' }])
  const named = await ann.responses.create({ model: 'm', input: 'Third.', conversation: id, stream: true })
  for await (const event of named) if ('response' in event) t.same(event.response.conversation, { id })
  const fails = await ann.responses.create({ model: 'm', input: 'Lost.', conversation: id, stream: true })
  for await (const _ of fails);
  await ann.responses.create({ model: 'm', input: 'Fourth.', conversation: id })
  t.match((await all(ann.conversations.items.list(id, { order: 'asc' }))).map(textOf), [
    'First.',
    'Second.',
    'a',
    'Third.',
    'b',
    'Fourth.',
    'd',
  ])
})

t.test('F-A4 conversations of another key and such that never were are refused alike', async t => {
  const { up, ann, bob } = await stage(t, CHAT)
  const { id } = await ann.conversations.create({ items: [user('Secret.')] })
  const [item] = (await ann.conversations.items.list(id)).data
  const never = 'conv_00000000000000000000000000000000'
  for (const ask of [
    (known: string) => bob.conversations.retrieve(known),
    (known: string) => bob.conversations.update(known, { metadata: {} }),
    (known: string) => bob.conversations.delete(known),
    (known: string) => bob.conversations.items.list(known),
    (known: string) => bob.conversations.items.create(known, { items: [user('x')] }),
    (known: string) => bob.conversations.items.retrieve(item?.id ?? '', { conversation_id: known }),
    (known: string) => bob.conversations.items.delete(item?.id ?? '', { conversation_id: known }),
    (known: string) => bob.responses.create({ model: 'm', input: 'x', conversation: known }),
    (known: string) => bob.responses.create({ model: 'm', input: 'x', conversation: { id: known } }),
  ]) {
    const [foreign, unknown] = [await refusalOf(ask(id)), await refusalOf(ask(never))]
    t.equal(foreign.status, 404)
    t.equal(foreign.message?.replace(id, never), unknown.message)
  }
  t.equal(up.requests.items.length, 0, 'no upstream hears of it')
  t.equal((await ann.conversations.items.list(id)).data.length, 1)
})

t.test('what is not valid is refused with its place', async t => {
  const { ann, gateway } = await stage(t, CHAT, 'limits: { conversation_items: 3 }')
  const { id } = await ann.conversations.create({ items: [user('1'), user('2')] })
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const { status, json: read } = await gateway.request(path, { body: body as Readonly<Record<string, unknown>> })
    return { status, ...(read() as object) }
  }
  const both = { model: 'm', input: 'x', conversation: id, previous_response_id: 'resp_1' }
  t.match(await post('/v1/responses', both), { status: 400, error: { code: 'mutually_exclusive_parameters' } })
  t.match(await post('/v1/responses', { model: 'm', input: 'x', conversation: 7 }), {
    error: { param: 'conversation' },
  })
  t.match(await post('/v1/responses', { model: 'm', input: 'x', conversation: {} }), {
    error: { param: 'conversation.id' },
  })
  t.match(await post('/v1/conversations', { metadata: { a: 1 } }), { status: 400, error: { param: 'metadata.a' } })
  t.match(await post('/v1/conversations', { items: 'x' }), {
    status: 400,
    error: { param: 'items', code: 'invalid_type' },
  })
  t.match(await post('/v1/conversations', { items: [7] }), { status: 400, error: { param: 'items[0]' } })
  const many = { items: Array.from({ length: 21 }, () => user('x')) }
  t.match(await post(`/v1/conversations/${id}/items`, many), { error: { code: 'array_above_max_length' } })
  t.match(await post(`/v1/conversations/${id}/items`, {}), { error: { code: 'missing_required_parameter' } })
  t.match(await post(`/v1/conversations/${id}/items`, { items: [user('3'), user('4')] }), {
    status: 400,
    error: { param: 'conversation', message: /more than 3 items/ },
  })
  t.match(await post(`/v1/conversations/${id}/items`, { items: [user('3')] }), { status: 200 })
  t.match(await post('/v1/responses', { model: 'm', input: 'x', conversation: id }), {
    status: 400,
    error: { param: 'conversation', message: /3 items/ },
  })
})

t.test('changes at the same time are all made', async t => {
  const { ann } = await stage(t, CHAT)
  const { id } = await ann.conversations.create()
  const names = Array.from({ length: 20 }, (_, index) => `item ${index}`)
  await Promise.all(names.map(name => ann.conversations.items.create(id, { items: [user(name)] })))
  t.same((await all(ann.conversations.items.list(id))).map(textOf).sort(), names.sort())
})

t.test('a conversation outlives the process where the store does', async t => {
  const yaml = (path: string) =>
    `version: 1\nkeys: { ann: { secret: { env: CALLER_KEY } } }\nstore: { path: ${path} }\nupstreams: { sim: { kind: simulator } }\nmodels: { m: sim }\n`
  const first = await startTestGateway(t, yaml('./kept'))
  const { id } = await sdkOf(first, first.key).conversations.create({ items: [user('Kept.')] })
  await first.gateway.close()
  const second = await startTestGateway(t, yaml(`"${first.folder}/kept"`))
  t.same((await all(sdkOf(second, second.key).conversations.items.list(id))).map(textOf), ['Kept.'])
})
