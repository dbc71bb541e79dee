import OpenAI from 'openai'
import t from 'tap'
import { hang, json, stream } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type RecordedRequest, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

// Upstreams that keep nothing: the gateway stores the conversations of the responses protocol itself.

type Test = Pick<typeof t, 'teardown'>

const BOB = 'bob-secret-key-of-some-length'
const FAR_FROM_DONE = new Set(['queued', 'in_progress'])

interface Stage {
  readonly gateway: TestGateway
  readonly up: RawUpstream
  readonly sdk: OpenAI
  /** Roles and texts of the messages that the upstream got last. */
  sent(): string[]
}

async function stage(test: Test, more = ''): Promise<Stage> {
  const up = await startRawUpstream(test)
  const gateway = await startTestGateway(
    test,
    `version: 1
keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }
upstreams: { up: { base: "${up.origin}", speaks: { chat: POST /v1/chat/completions } } }
models: { m: up }
${more}`,
    { env: { BOB_KEY: BOB } },
  )
  return {
    gateway,
    up,
    sdk: new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 }),
    sent: () => {
      return messagesOf(up.requests.items.at(-1)).map(({ role, content }) => `${role}: ${textOf(content)}`)
    },
  }
}

function messagesOf(
  request: RecordedRequest | undefined,
): readonly { readonly role: string; readonly content: unknown }[] {
  const body = request?.json() as { readonly messages: readonly { role: string; content: unknown }[] } | undefined
  return body?.messages ?? []
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map(part => (part as { text?: string }).text ?? '').join('') : ''
}

const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }

function says(content: string): Script {
  const message = { role: 'assistant', content }
  return json({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
  })
}

function streams(...words: string[]): Script {
  const chunk = (delta: object, finish_reason: string | null, more = {}): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`
  return stream([
    chunk({ role: 'assistant', content: '' }, null),
    ...words.map(content => chunk({ content }, null)),
    chunk({}, 'stop', { usage }),
    'data: [DONE]\n\n',
  ])
}

t.test('previous_response_id works on an upstream that knows no such thing', async t => {
  const { up, sdk, sent } = await stage(t)
  up.answer(says('Hello Ann.'), says('You are Ann.'))
  const first = await sdk.responses.create({ model: 'm', input: 'I am Ann.', instructions: 'Be brief.' })
  t.match(first.id, /^resp_[0-9a-f]{32}$/)
  const second = await sdk.responses.create({ model: 'm', input: 'Who am I?', previous_response_id: first.id })
  t.same(sent(), ['user: I am Ann.', 'assistant: Hello Ann.', 'user: Who am I?'], 'instructions are not inherited')
  t.equal(second.output_text, 'You are Ann.')
  t.equal(second.previous_response_id, first.id)
  t.notOk(up.requests.items.at(-1)?.body.toString().includes('previous_response_id'))
})

t.test('a streamed response can be continued as soon as its last event is there', async t => {
  const { up, sdk, sent } = await stage(t)
  let previous: string | undefined
  for (const [turn, word] of ['one', 'two', 'three'].entries()) {
    up.answer(streams(word))
    const events = await sdk.responses.create({
      model: 'm',
      input: `ask ${turn}`,
      stream: true,
      ...(previous && { previous_response_id: previous }),
    })
    let created: string | undefined
    for await (const event of events) {
      if (event.type === 'response.created') created = event.response.id
      if (event.type !== 'response.completed') continue
      t.equal(event.response.id, created, 'one id from the first event to the last')
      previous = event.response.id
    }
  }
  t.same(sent(), ['user: ask 0', 'assistant: one', 'user: ask 1', 'assistant: two', 'user: ask 2'])
})

t.test('two turns that continue one response do not see one another', async t => {
  const { up, sdk, sent } = await stage(t)
  up.answer(says('root'), says('left'), says('right'), says('more'))
  const root = await sdk.responses.create({ model: 'm', input: 'start' })
  const left = await sdk.responses.create({ model: 'm', input: 'go left', previous_response_id: root.id })
  await sdk.responses.create({ model: 'm', input: 'go right', previous_response_id: root.id })
  t.same(sent(), ['user: start', 'assistant: root', 'user: go right'])
  await sdk.responses.create({ model: 'm', input: 'on', previous_response_id: left.id })
  t.same(sent(), ['user: start', 'assistant: root', 'user: go left', 'assistant: left', 'user: on'])
})

t.test('a tool’s result finds its call in the turn before', async t => {
  const { up, sdk } = await stage(t)
  const call = { id: 'call_7', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  up.answer(
    json({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
      usage,
    }),
    says('2'),
  )
  const tools = [{ type: 'function' as const, name: 'add', parameters: { type: 'object' }, strict: false }]
  const first = await sdk.responses.create({ model: 'm', input: 'add', tools })
  const [asked] = first.output.filter(item => item.type === 'function_call')
  t.equal(asked?.call_id, 'call_7')
  await sdk.responses.create({
    model: 'm',
    previous_response_id: first.id,
    tools,
    input: [{ type: 'function_call_output', call_id: 'call_7', output: '2' }],
  })
  t.match(messagesOf(up.requests.items[1]), [
    { role: 'user' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_7', content: '2' },
  ])
})

t.test('items are referred to by their ids, as clients do that let the responses be kept', async t => {
  const { up, sdk, sent } = await stage(t)
  up.answer(says('Hello.'), says('Again.'))
  const first = await sdk.responses.create({ model: 'm', input: 'Hi.' })
  const [item] = first.output
  await sdk.responses.create({
    model: 'm',
    input: [
      { role: 'user', content: 'Hi.' },
      { type: 'item_reference', id: item?.id ?? '' },
      { role: 'user', content: 'Again?' },
    ],
  })
  t.same(sent(), ['user: Hi.', 'assistant: Hello.', 'user: Again?'])
})

t.test('a response is shown, its input listed, and both are gone when it is deleted', async t => {
  const { up, sdk, gateway } = await stage(t)
  up.answer(says('one'), says('two'))
  const first = await sdk.responses.create({ model: 'm', input: 'a' })
  const second = await sdk.responses.create({ model: 'm', input: 'b', previous_response_id: first.id })
  const heard = up.requests.items.length
  t.same(await sdk.responses.retrieve(second.id), second)
  const listed = []
  for await (const item of sdk.responses.inputItems.list(second.id, { order: 'asc', limit: 2 })) listed.push(item)
  t.match(listed, [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }] },
    { type: 'message', role: 'assistant', id: first.output[0]?.id },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'b' }] },
  ])
  t.ok(listed.every(item => /^msg_\w{8,}$/.test(item.id ?? '')))
  const gone = await gateway.request(`/v1/responses/${second.id}`, { method: 'DELETE' })
  t.same(gone.json(), { id: second.id, object: 'response.deleted', deleted: true })
  for (const ask of [
    () => sdk.responses.retrieve(second.id),
    () => sdk.responses.inputItems.list(second.id),
    () => sdk.responses.delete(second.id),
    () => sdk.responses.cancel(second.id),
  ]) {
    t.match(await refusalOf(ask()), { status: 404 })
  }
  t.not(await sdk.responses.retrieve(first.id), undefined, 'what came before is still there')
  t.equal(up.requests.items.length, heard, 'no upstream heard of any of it')
})

t.test('F-A4 no one continues, sees or deletes the response of another', async t => {
  const { up, sdk, gateway } = await stage(t)
  up.answer(says('secret'))
  const { id } = await sdk.responses.create({ model: 'm', input: 'a' })
  const ask = async (path: string, method: string, body?: object): Promise<[number, string]> => {
    const { status, text } = await gateway.request(path, { key: BOB, method, ...(body && { body }) })
    return [status, text.replaceAll(id, 'ID').replaceAll('resp_0', 'ID')]
  }
  for (const [path, method] of [
    ['', 'GET'],
    ['', 'DELETE'],
    ['/input_items', 'GET'],
    ['/cancel', 'POST'],
  ] as const) {
    t.same(await ask(`/v1/responses/${id}${path}`, method), await ask(`/v1/responses/resp_0${path}`, method))
  }
  const body = { model: 'm', input: 'x' }
  t.same(
    await ask('/v1/responses', 'POST', { ...body, previous_response_id: id }),
    await ask('/v1/responses', 'POST', { ...body, previous_response_id: 'resp_0' }),
  )
  t.equal(up.requests.items.length, 1)
  t.equal((await sdk.responses.retrieve(id)).id, id)
})

t.test('F-C14 ids that would climb in a path find nothing', async t => {
  const { gateway } = await stage(t)
  for (const id of [
    '%2e%2e',
    '..%2f..',
    '%00',
    'a%2Fb',
    'x'.repeat(2000),
    '%F0%9F%98%80',
    '__proto__',
    'constructor',
  ]) {
    const { status } = await gateway.request(`/v1/responses/${id}`)
    t.ok(status === 404 || status === 400, `${id}: ${status}`)
  }
})

t.test('with store: false nothing is kept, and the answer says so', async t => {
  const { up, sdk } = await stage(t)
  up.answer(says('one'))
  const first = await sdk.responses.create({ model: 'm', input: 'a', store: false })
  t.match(await refusalOf(sdk.responses.retrieve(first.id)), { status: 404 })
  t.match(await refusalOf(sdk.responses.create({ model: 'm', input: 'b', previous_response_id: first.id })), {
    status: 400,
    code: 'previous_response_not_found',
    param: 'previous_response_id',
  })
})

t.test('an error about an item is reported by its place in what the client sent', async t => {
  const { up, sdk, gateway } = await stage(t)
  up.answer(says('one'))
  const first = await sdk.responses.create({ model: 'm', input: 'a' })
  const answer = await gateway.request('/v1/responses', {
    body: { model: 'm', previous_response_id: first.id, input: [{ type: 'message', role: 'user', content: 7 }] },
  })
  t.equal(answer.status, 400)
  t.match((answer.json() as { error: { param: string } }).error.param, /^input\[0\]/)
})

t.test('conversations outlive a restart', async t => {
  const { up, sdk, gateway } = await stage(t)
  up.answer(says('one'), says('two'))
  const first = await sdk.responses.create({ model: 'm', input: 'a' })
  await gateway.gateway.close()
  const again = await startTestGateway(
    t,
    `version: 1
keys: { ann: { secret: { env: CALLER_KEY } } }
store: { path: ${gateway.folder}/data }
upstreams: { up: { base: "${up.origin}", speaks: { chat: POST /v1/chat/completions } } }
models: { m: up }
`,
  )
  const answer = await again.request('/v1/responses', {
    body: { model: 'm', input: 'b', previous_response_id: first.id },
  })
  t.equal(answer.status, 200)
  t.equal(messagesOf(up.requests.items.at(-1)).length, 3)
})

t.test('a conversation crosses to an upstream that keeps its own, and continues there', async t => {
  const [plain, keeper] = [await startRawUpstream(t), await startRawUpstream(t)]
  const gateway = await startTestGateway(
    t,
    `version: 1
keys: { ann: { secret: { env: CALLER_KEY } } }
upstreams:
  plain: { base: "${plain.origin}", speaks: { chat: POST /v1/chat/completions } }
  keeper: { base: "${keeper.origin}", speaks: { responses: POST /v1/responses } }
models: { m: plain, k: keeper }
`,
  )
  plain.answer(says('one'))
  const kept = { id: 'resp_kept', object: 'response', status: 'completed', output: [] }
  keeper.answer(json(kept), json({ ...kept, id: 'resp_next' }))
  const ask = (body: object): ReturnType<TestGateway['request']> => gateway.request('/v1/responses', { body })
  const { id } = (await ask({ model: 'm', input: 'a' })).json() as { id: string }
  t.equal((await ask({ model: 'k', input: 'b', previous_response_id: id })).status, 200)
  const crossed = (keeper.requests.items[0]?.json() ?? {}) as { input: unknown[] }
  t.notOk('previous_response_id' in crossed)
  t.match(crossed.input, [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }])
  t.equal((await ask({ model: 'k', input: 'c', previous_response_id: 'resp_kept' })).status, 200)
  t.match(keeper.requests.items[1]?.json(), { input: 'c', previous_response_id: 'resp_kept' })
  const back = await ask({ model: 'm', input: 'd', previous_response_id: 'resp_next' })
  t.equal(back.status, 400, 'what an upstream keeps is not ours to carry elsewhere')
})

t.test('a response runs in the background, is polled for, and can be continued', async t => {
  const { up, sdk, sent } = await stage(t)
  let release: () => void = () => undefined
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  up.answer(async peer => {
    await released
    await streams('done')(peer)
  }, says('more'))
  const begun = await sdk.responses.create({ model: 'm', input: 'a', background: true, instructions: 'x' })
  t.match(begun, { status: 'queued', background: true, output: [], instructions: 'x', model: 'm' })
  t.ok(FAR_FROM_DONE.has((await sdk.responses.retrieve(begun.id)).status ?? ''))
  release()
  const ended = await polled(sdk, begun.id)
  t.match(ended, { id: begun.id, status: 'completed', background: true, output_text: 'done' })
  await sdk.responses.create({ model: 'm', input: 'b', previous_response_id: begun.id })
  t.same(sent(), ['user: a', 'assistant: done', 'user: b'])
})

t.test('a response in the background continues when its client has gone, and its events are read again', async t => {
  const { up, sdk } = await stage(t)
  let release: () => void = () => undefined
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  up.answer(async peer => {
    await released
    await streams('one ', 'two')(peer)
  })
  const events = await sdk.responses.create({ model: 'm', input: 'a', background: true, stream: true })
  release()
  let id = ''
  for await (const event of events) {
    if (event.type !== 'response.created') continue
    id = event.response.id
    t.equal(event.response.background, true)
    break
  }
  await polled(sdk, id)
  const seen: number[] = []
  let text = ''
  const resumed = await sdk.responses.retrieve(id, { stream: true, starting_after: 1 })
  for await (const event of resumed) {
    seen.push(event.sequence_number)
    if (event.type === 'response.output_text.delta') text += event.delta
  }
  t.equal(text, 'one two')
  t.same(
    seen,
    seen.map((_, n) => n + 2),
    'from the one after, without a gap',
  )
})

t.test('a response in the background is cancelled, and its upstream let go', async t => {
  const { up, sdk } = await stage(t)
  up.answer(hang)
  const begun = await sdk.responses.create({ model: 'm', input: 'a', background: true })
  await up.requests.count(1)
  t.equal((await sdk.responses.cancel(begun.id)).status, 'cancelled')
  await up.aborts.count(1)
  t.equal((await sdk.responses.retrieve(begun.id)).status, 'cancelled')
  t.equal((await sdk.responses.cancel(begun.id)).status, 'cancelled', 'once more changes nothing')
})

t.test('the events of a cancelled response end with one that says so', async t => {
  const { up, sdk } = await stage(t)
  up.answer(hang)
  const begun = await sdk.responses.create({ model: 'm', input: 'a', background: true })
  const events = await sdk.responses.retrieve(begun.id, { stream: true })
  await up.requests.count(1)
  await sdk.responses.cancel(begun.id)
  const seen: OpenAI.Responses.ResponseStreamEvent[] = []
  for await (const event of events) seen.push(event)
  t.match(seen.at(-1), { type: 'response.failed', response: { id: begun.id, status: 'cancelled' } })
})

t.test('a response that is still running cannot be continued', async t => {
  const { up, sdk } = await stage(t)
  up.answer(hang)
  const begun = await sdk.responses.create({ model: 'm', input: 'a', background: true })
  const early = sdk.responses.create({ model: 'm', input: 'b', previous_response_id: begun.id })
  t.match(await refusalOf(early), { status: 400, param: 'previous_response_id', message: /still running/ })
  t.equal(up.requests.items.length <= 1, true, 'no one is asked')
})

t.test('a response in the background can be continued as soon as its last event is there', async t => {
  const { up, sdk, sent } = await stage(t)
  up.answer(streams('one'), says('two'))
  const events = await sdk.responses.create({ model: 'm', input: 'a', background: true, stream: true })
  for await (const event of events) {
    if (event.type !== 'response.completed') continue
    await sdk.responses.create({ model: 'm', input: 'b', previous_response_id: event.response.id })
  }
  t.same(sent(), ['user: a', 'assistant: one', 'user: b'])
})

t.test('a count of tokens counts the conversation that it continues', async t => {
  const { up, sdk } = await stage(t)
  up.answer(says('one '.repeat(200)))
  const first = await sdk.responses.create({ model: 'm', input: 'a' })
  const alone = await sdk.responses.inputTokens.count({ model: 'm', input: 'b' })
  const whole = await sdk.responses.inputTokens.count({ model: 'm', input: 'b', previous_response_id: first.id })
  t.ok(whole.input_tokens > alone.input_tokens + 100, `${alone.input_tokens}, ${whole.input_tokens}`)
})

t.test('a failure in the background is reported when it is asked for', async t => {
  const { up, sdk } = await stage(t, 'retry: { attempts: 1 }\n')
  up.answer(json({ error: { message: 'no such tool' } }, { status: 400 }))
  const begun = await sdk.responses.create({ model: 'm', input: 'a', background: true })
  const ended = await polled(sdk, begun.id)
  t.match(ended, { status: 'failed', error: { code: 'server_error', message: /no such tool/ } })
})

t.test('what can only be done to responses in the background is refused for others', async t => {
  const { up, sdk } = await stage(t)
  up.answer(says('one'))
  const { id } = await sdk.responses.create({ model: 'm', input: 'a' })
  t.match(await refusalOf(sdk.responses.cancel(id)), { status: 400 })
  t.match(await refusalOf(sdk.responses.retrieve(id, { stream: true })), { status: 400, param: 'stream' })
  t.match(await refusalOf(sdk.responses.create({ model: 'm', input: 'a', background: true, store: false })), {
    status: 400,
    param: 'store',
  })
})

t.test('an upstream that speaks the protocol but keeps nothing has its conversations kept here', async t => {
  const up = await startRawUpstream(t)
  const calls =
    'speaks: { responses: { call: POST /v1/responses, stateful: false, request: [{ set: { store: false } }] } }'
  const gateway = await startTestGateway(
    t,
    `version: 1\nkeys: { ann: { secret: { env: CALLER_KEY } } }\nupstreams: { up: { base: "${up.origin}", ${calls} } }\nmodels: { m: up }\n`,
  )
  const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  const says = (text: string): Script => {
    const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
    const item = { type: 'message', id: 'msg_up', status: 'completed', role: 'assistant', content }
    return json({ id: 'resp_up', object: 'response', created_at: 1, status: 'completed', model: 'm', output: [item] })
  }
  up.answer(says('Hello Ann.'), says('You are Ann.'))
  const first = await sdk.responses.create({ model: 'm', input: 'I am Ann.' })
  t.not(first.id, 'resp_up')
  const second = await sdk.responses.create({ model: 'm', input: 'Who am I?', previous_response_id: first.id })
  t.equal(second.output_text, 'You are Ann.')
  const sent = up.requests.items[1]?.json() as { readonly input: readonly { readonly content: unknown }[] }
  t.match(sent, { store: false, previous_response_id: undefined })
  t.same(
    sent.input.map(({ content }) => textOf(content)),
    ['I am Ann.', 'Hello Ann.', 'Who am I?'],
  )
  t.equal((await sdk.responses.retrieve(first.id)).output_text, 'Hello Ann.')
})

/** What the client library throws. */
async function refusalOf(work: PromiseLike<unknown>): Promise<object> {
  try {
    await work
  } catch (error) {
    return error as object
  }
  return { status: 'none' }
}

async function polled(sdk: OpenAI, id: string): Promise<OpenAI.Responses.Response> {
  for (;;) {
    const response = await sdk.responses.retrieve(id)
    if (!FAR_FROM_DONE.has(response.status ?? '')) return response
    await new Promise(resolve => setImmediate(resolve))
  }
}

t.test('F-B4 limits.conversation_items bounds what is stored, in the background too', async t => {
  const { gateway, up } = await stage(t, 'limits: { conversation_items: 6 }\n')
  const input = (count: number): object[] =>
    Array.from({ length: count }, (_, n) => ({ role: 'user', content: `${n}` }))
  const ask = (body: object): ReturnType<TestGateway['request']> =>
    gateway.request('/v1/responses', { body: { model: 'm', ...body } })
  const answer = json({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'well' }, finish_reason: 'stop' }],
  })
  up.answer(answer, answer)
  const first = (await ask({ input: input(4) })).json() as { id: string; store: boolean }
  t.equal(first.store, true)
  const large = (await ask({ input: input(7) })).json() as { id: string; store: boolean }
  t.equal(large.store, false, 'it is answered, and says that it was not kept')
  const refusals = [
    { input: input(3), previous_response_id: first.id },
    { input: input(1), previous_response_id: large.id },
    { input: input(7), background: true },
  ]
  for (const body of refusals) {
    const refused = await ask(body)
    t.equal(refused.status, 400, refused.text)
  }
  t.equal(up.requests.items.length, 2, 'no upstream hears of what is refused')
})
