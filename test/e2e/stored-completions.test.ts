import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { json, stream } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { openApi, openApiFolder } from '../helpers/openapi.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { onStoreUnderTest, temporary } from '../helpers/store-kinds.js'

// Chat completions with `store: true`. The gateway keeps them for the key that made them, whichever upstream answers.

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

const all = async <T>(list: AsyncIterable<T>): Promise<T[]> => {
  const items: T[] = []
  for await (const item of list) items.push(item)
  return items
}

const user = (content: string) => ({ role: 'user', content }) as const
const FUNCTION = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const

t.test('the official SDK stores, lists, reads, changes and deletes completions on all four text models', async t => {
  const { chat } = await shipped(t)
  for (const model of MODELS) {
    const made = await chat.completions.create({
      model,
      messages: [{ role: 'system', content: 'Be brief.' }, user('Hello.')],
      store: true,
      metadata: { topic: 'tea', model },
      temperature: 0.5,
    })
    t.match(made.id, /^chatcmpl-[0-9a-f]{32}$/, model)
    const found = await chat.completions.retrieve(made.id)
    t.match(found, { ...made, metadata: { topic: 'tea', model }, temperature: 0.5 }, model)
    t.match(await chat.completions.update(made.id, { metadata: { topic: 'milk' } }), {
      id: made.id,
      metadata: { topic: 'milk' },
    })
    t.same(
      await chat.completions.retrieve(made.id),
      { ...found, metadata: { topic: 'milk' } },
      `${model}: nothing else is changed`,
    )
    t.match(await all(chat.completions.messages.list(made.id, { limit: 1 })), [
      { id: `${made.id}-0`, role: 'system', content: 'Be brief.', content_parts: null },
      { id: `${made.id}-1`, role: 'user', content: 'Hello.', content_parts: null },
    ])
    t.same(
      (await chat.completions.messages.list(made.id, { order: 'desc' })).data.map(({ id }) => id),
      [`${made.id}-1`, `${made.id}-0`],
    )
    t.same(await chat.completions.delete(made.id), { object: 'chat.completion.deleted', id: made.id, deleted: true })
    t.match(await refusalOf(chat.completions.retrieve(made.id)), { status: 404, message: /not found/ })
    t.match(await refusalOf(chat.completions.delete(made.id)), { status: 404 })
    t.match(await refusalOf(all(chat.completions.messages.list(made.id))), { status: 404 })
    t.match(await refusalOf(chat.completions.update(made.id, { metadata: {} })), { status: 404 })
  }
})

t.test('what is answered fits its description', { skip: openApiFolder() === undefined }, async t => {
  const { chat } = await shipped(t)
  for (const [index, model] of MODELS.entries()) {
    const content = [{ type: 'text', text: 'Hi.' } as const, { type: 'text', text: 'What?' } as const]
    const body = { model, messages: [{ role: 'user', content } as const], tools: [FUNCTION], store: true }
    const { id } = await chat.completions.create({ ...body, ...(index % 2 === 0 && { tool_choice: 'required' }) })
    const read = async (answer: Promise<Response>): Promise<unknown> => (await answer).json()
    t.same(openApi('chat.response')(await read(chat.completions.retrieve(id).asResponse())), [], model)
    t.same(openApi('chat.list')(await read(chat.completions.list().asResponse())), [], model)
    const messages = await read(chat.completions.messages.list(id).asResponse())
    // The document lets messages come from the assistant alone; its own example is one of a user.
    const faults = openApi('chat.messages')(messages).filter(fault => !fault.includes('].role: '))
    t.same(faults, [], model)
    t.match(messages, { data: [{ content: null, content_parts: content }] })
    t.same(openApi('chat.deleted')(await read(chat.completions.delete(id).asResponse())), [], model)
  }
})

t.test('what was streamed is stored as the answer that it came to: text, calls, usage', async t => {
  const { chat } = await shipped(t)
  for (const model of MODELS) {
    const chunks = await all(
      await chat.completions.create({
        model,
        messages: [user('Tell me something.')],
        store: true,
        stream: true,
        stream_options: { include_usage: true },
      }),
    )
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    const [first] = chunks
    const found = await chat.completions.retrieve(first?.id ?? '')
    t.match(found, {
      object: 'chat.completion',
      created: first?.created,
      model: first?.model,
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
      usage: chunks.at(-1)?.usage ?? {},
    })
    t.not(text, '')

    const called = await all(
      await chat.completions.create({
        model,
        messages: [user('What is the weather in Paris?')],
        tools: [FUNCTION],
        tool_choice: 'required',
        store: true,
        stream: true,
      }),
    )
    const pieces = called.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    const { choices } = await chat.completions.retrieve(called[0]?.id ?? '')
    const call = choices[0]?.message.tool_calls?.[0]
    t.match(call, { id: pieces[0]?.id, type: 'function', function: { name: 'get_weather' } }, model)
    t.equal(
      call?.type === 'function' ? call.function.arguments : undefined,
      pieces.map(piece => piece.function?.arguments ?? '').join(''),
    )
  }
})

t.test('a list is filtered by model and metadata, in either order, over pages', async t => {
  const { chat } = await shipped(t)
  const ids: string[] = []
  for (const [index, model] of MODELS.entries()) {
    const metadata = { parity: index % 2 === 0 ? 'even' : 'odd', 'a[b]': 'c' }
    ids.push((await chat.completions.create({ model, messages: [user('Hi.')], store: true, metadata })).id)
  }
  await chat.completions.create({ model: 'sim-text', messages: [user('Hi.')] })
  const listed = async (query: OpenAI.ChatCompletionListParams): Promise<string[]> =>
    (await all(chat.completions.list(query))).map(({ id }) => id)
  t.same(await listed({}), ids, 'the oldest first')
  t.same(await listed({ order: 'desc', limit: 1 }), ids.toReversed(), 'over pages')
  t.same(await listed({ model: 'sim-messages' }), [ids[2]])
  t.same(await listed({ metadata: { parity: 'odd' } }), [ids[1], ids[3]])
  t.same(await listed({ metadata: { parity: 'odd', 'a[b]': 'c' }, model: 'sim-responses' }), [ids[1]])
  t.same(await listed({ metadata: { parity: 'none' } }), [])
  t.same(await listed({ metadata: { toString: 'x' } }), [])
  const page = await chat.completions.list({ limit: 2 }).asResponse()
  t.match(await page.json(), { object: 'list', first_id: ids[0], last_id: ids[1], has_more: true })
  await chat.completions.delete(ids[1] ?? '')
  t.same(await listed({ after: ids[1] ?? '' }), ids.slice(2), 'a page goes on behind one that is gone')
  t.match(await refusalOf(chat.completions.list({ limit: 0 })), { status: 400, param: 'limit' })
  t.match(await refusalOf(chat.completions.list({ limit: 101 })), { status: 400, param: 'limit' })
  t.match(await refusalOf(chat.completions.list({ after: 'chatcmpl-1' })), { status: 400, param: 'after' })
  t.match(await refusalOf(chat.completions.list({ order: 'up' as 'asc' })), { status: 400, param: 'order' })
  t.match(await refusalOf(chat.completions.messages.list(ids[0] ?? '', { limit: 0 })), { status: 400, param: 'limit' })
})

// ── what upstreams get, and whose it is

const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
const message = (content: string) => ({ role: 'assistant', content })
const answer = (content: string) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'their-model',
  choices: [{ index: 0, message: message(content), finish_reason: 'stop' }],
  usage,
  system_fingerprint: 'fp_1',
})
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'their-model',
  system_fingerprint: 'fp_1',
  choices: [{ index: 0, delta, finish_reason }],
})
const sse = (chunks: readonly object[], end = 'data: [DONE]\n\n') =>
  stream([...chunks.map(one => `data: ${JSON.stringify(one)}\n\n`), end])

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

t.test('an upstream hears nothing of what the gateway keeps, and its ids need not be its own', async t => {
  for (const speaks of [CHAT, 'responses: POST /v1/responses']) {
    const { up, ann } = await stage(t, speaks)
    const response = {
      id: 'c',
      object: 'response',
      status: 'completed',
      model: 'their-model',
      output: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hi.', annotations: [] }],
        },
      ],
    }
    for (let n = 0; n < 2; n++) {
      up.answer(json(speaks === CHAT ? answer('Hi.') : response))
      await ann.chat.completions.create({ model: 'm', messages: [user(`${n}`)], store: true, metadata: { n: `${n}` } })
      const sent = up.requests.items[n]?.json() as { store?: unknown; metadata?: unknown } | undefined
      t.not(sent?.store, true)
      t.equal(sent?.metadata, undefined)
    }
    const kept = await all(ann.chat.completions.list({ model: 'm' }))
    t.match(kept, [{ metadata: { n: '0' } }, { metadata: { n: '1' } }], 'two that the upstream calls alike are two')
    t.match(kept[0], { model: 'their-model', choices: [{ message: message('Hi.') }] })
    t.equal((await all(ann.chat.completions.list({ model: 'their-model' }))).length, 2)
  }
})

t.test('what does not ask to be kept goes out byte for byte as before', async t => {
  const { up, gateway, ann } = await stage(t, CHAT)
  for (const rest of ['"store":false,"metadata":{"a": "1"}', '"store":null', '"metadata": null']) {
    up.answer(json(answer('Hi.')))
    const body = `{"model":"m","messages":[{"role":"user","content":"x"}],${rest}}`
    t.match((await gateway.request('/v1/chat/completions', { body })).json(), { id: 'c' })
    t.equal(up.requests.items.at(-1)?.body.toString(), body)
  }
  t.same(await all(ann.chat.completions.list()), [])
})

t.test('a stream without [DONE] is kept, and one that breaks off or fails is not', async t => {
  const { up, ann } = await stage(t, CHAT)
  const first = chunk({ role: 'assistant', content: 'Hel' })
  const last = chunk({ content: 'lo.' }, 'stop')
  up.answer(sse([first, last], ''), sse([first], ''), sse([first, { error: { message: 'no', type: 'server_error' } }]))
  const ask = async (): Promise<unknown> =>
    all(await ann.chat.completions.create({ model: 'm', messages: [user('x')], store: true, stream: true }))
  await ask()
  await refusalOf(ask())
  await refusalOf(ask())
  t.match(await all(ann.chat.completions.list()), [
    { system_fingerprint: 'fp_1', choices: [{ message: message('Hello.'), finish_reason: 'stop' }] },
  ])
})

t.test('F-A4 completions of another key and such that never were are refused alike', async t => {
  const { up, ann, bob } = await stage(t, CHAT)
  up.answer(json(answer('Secret.')))
  const { id } = await ann.chat.completions.create({ model: 'm', messages: [user('x')], store: true })
  const never = `chatcmpl-${'0'.repeat(32)}`
  for (const ask of [
    (known: string) => bob.chat.completions.retrieve(known),
    (known: string) => bob.chat.completions.update(known, { metadata: {} }),
    (known: string) => bob.chat.completions.delete(known),
    (known: string) => all(bob.chat.completions.messages.list(known)),
  ]) {
    const [foreign, unknown] = [await refusalOf(ask(id)), await refusalOf(ask(never))]
    t.equal(foreign.status, 404)
    t.equal(foreign.message?.replace(id, never), unknown.message)
  }
  t.same(await all(bob.chat.completions.list()), [])
  t.equal((await all(ann.chat.completions.list())).length, 1)
})

t.test('what is over a bound is refused before an upstream hears of it', async t => {
  const { up, gateway } = await stage(t, CHAT, 'limits: { conversation_items: 2 }')
  const post = async (path: string, body: object): Promise<unknown> => {
    const { status, json: read } = await gateway.request(path, { body: body as Readonly<Record<string, unknown>> })
    return { status, ...(read() as object) }
  }
  const ask = (more: object) =>
    post('/v1/chat/completions', { model: 'm', messages: [user('x')], store: true, ...more })
  t.match(await ask({ metadata: { a: 1 } }), { status: 400, error: { param: 'metadata.a', code: 'invalid_type' } })
  t.match(await ask({ messages: [user('1'), user('2'), user('3')] }), { status: 400, error: { param: 'messages' } })
  const large = 'x'.repeat(17 * 1024 * 1024)
  t.match(await ask({ messages: [user(large)] }), { status: 400, error: { param: 'messages' } })
  t.equal(up.requests.items.length, 0)
  up.answer(json(answer('Hi.')))
  const { id } = (await ask({})) as { id: string }
  t.match(await post(`/v1/chat/completions/${id}`, {}), { status: 400, error: { code: 'missing_required_parameter' } })
  t.match(await post(`/v1/chat/completions/${id}`, { metadata: { a: 7 } }), {
    status: 400,
    error: { param: 'metadata.a' },
  })
})

t.test('what one gateway keeps another one on the same store has at once, and after a start', async t => {
  const up = await startRawUpstream(t)
  const made = await onStore(
    t,
    `version: 1
keys: { ann: { secret: { env: CALLER_KEY } } }
upstreams: { up: { base: "${up.origin}", speaks: { ${CHAT} } } }
models: { m: up }
`,
  )
  const yaml = made.includes('store:') ? made : `${made}store: { path: "${temporary(t)}" }\n`
  const one = await startTestGateway(t, yaml)
  const other = await startTestGateway(t, yaml)
  const [first, second] = [sdkOf(one, one.key), sdkOf(other, other.key)]
  const ids: string[] = []
  for (let n = 0; n < 10; n++) {
    up.answer(json(answer(`${n}`)), sse([chunk({ role: 'assistant', content: `${n}` }), chunk({}, 'stop')]))
    const body = { model: 'm', messages: [user(`${n}`)], store: true }
    const { id } = await first.chat.completions.create(body)
    t.match(await second.chat.completions.retrieve(id), { id, choices: [{ message: message(`${n}`) }] })
    const [streamed] = await all(await first.chat.completions.create({ ...body, stream: true }))
    t.match(await second.chat.completions.retrieve(streamed?.id ?? ''), { choices: [{ message: message(`${n}`) }] })
    ids.push(id, streamed?.id ?? '')
  }
  await one.gateway.close()
  await other.gateway.close()
  const third = await startTestGateway(t, yaml)
  const kept = await all(sdkOf(third, third.key).chat.completions.list({ limit: 3 }))
  t.same(
    kept.map(({ id }) => id),
    ids,
  )
})
