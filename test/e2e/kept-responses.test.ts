import t from 'tap'
import { type AnswerOptions, CHAT_ANSWER, head, json, stream } from '../helpers/answers.js'
import { startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

// Upstreams that speak the protocol of stateful responses keep their responses themselves.

const KEYS = 'keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }'
const BOB = 'bob-secret-key-of-some-length'

const response = (id: string, more: object = {}): object => ({
  id,
  object: 'response',
  status: 'completed',
  output: [],
  ...more,
})
const made = (id: string, options?: AnswerOptions): Script => json(response(id), options)

interface Stage {
  readonly gateway: TestGateway
  readonly a: RawUpstream
  readonly b: RawUpstream
  post(body: object, key?: string): ReturnType<TestGateway['request']>
}

async function stage(test: Pick<typeof t, 'teardown'>): Promise<Stage> {
  const [a, b] = [await startRawUpstream(test), await startRawUpstream(test)]
  const gateway = await startTestGateway(
    test,
    `version: 1\n${KEYS}\nupstreams:\n  a: ${upstreamYaml(a.origin)}\n  b: ${upstreamYaml(b.origin)}\nmodels:\n  m: [{ upstream: a, weight: 1 }, { upstream: b, weight: 1 }]\n  onlyb: b\n`,
    { env: { BOB_KEY: BOB } },
  )
  const post: Stage['post'] = (body, key) =>
    gateway.request('/v1/responses', { body: { model: 'm', input: 'hi', ...body }, ...(key && { key }) })
  return { gateway, a, b, post }
}

t.test('the next turn goes to the upstream that keeps the response, unchanged', async t => {
  const { a, b, post } = await stage(t)
  a.answer(made('resp_a'))
  b.answer(made('resp_b'))
  const first = (await post({})).json() as { id: string }
  const [keeper, other] = first.id === 'resp_a' ? [a, b] : [b, a]
  const before = other.requests.items.length
  for (let turn = 0; turn < 12; turn++) {
    keeper.answer(made(`resp_turn_${turn}`))
    const previous = turn === 0 ? first.id : `resp_turn_${turn - 1}`
    t.equal((await post({ previous_response_id: previous })).status, 200)
    t.match(keeper.requests.items.at(-1)?.json(), { previous_response_id: previous })
  }
  t.equal(other.requests.items.length, before)
})

/** Its head promises more than comes. */
const breaksOff: Script = async peer => {
  await peer.send(head(200, { 'content-type': 'application/json', 'content-length': '100' }))
  peer.reset()
}

t.test('where one upstream fails after its head, the response is that of the upstream that answers', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  const chat = `{ base: "${b.origin}", speaks: { chat: POST /v1/chat/completions } }`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${KEYS}\nupstreams:\n  a: ${upstreamYaml(a.origin)}\n  b: ${upstreamYaml(b.origin)}\n  chat: ${chat}\nmodels: { m: [a, b], n: [a, chat] }\n`,
    { env: { BOB_KEY: BOB } },
  )
  const post = (body: object) => gateway.request('/v1/responses', { body: { input: 'hi', ...body } })
  a.answer(breaksOff, breaksOff, breaksOff)
  b.answer(made('resp_b'), made('resp_next'), json(CHAT_ANSWER), json(CHAT_ANSWER))
  t.equal((await post({ model: 'm' })).status, 200)
  t.equal((await post({ model: 'm', previous_response_id: 'resp_b' })).status, 200)
  t.match(b.requests.items.at(-1)?.json(), { previous_response_id: 'resp_b' })
  const { id } = (await post({ model: 'n' })).json() as { id: string }
  t.equal((await post({ model: 'n', previous_response_id: id })).status, 200)
  t.match(b.requests.items.at(-1)?.json(), { messages: [{}, { content: 'hello' }, {}] }, 'the gateway has kept it')
  t.notMatch(a.requests.items.at(-1)?.json(), { previous_response_id: id }, 'and it is not that of the first one')
})

t.test('a turn that one upstream fails after its head is added once to its conversation', async t => {
  const { gateway, a, b, post } = await stage(t)
  const { id } = (await gateway.request('/v1/conversations', { body: {} })).json() as { id: string }
  const said = { output: [{ ...item('msg_1'), content: [{ type: 'output_text', text: 'hello', annotations: [] }] }] }
  const answers = [breaksOff, json(response('resp_1', said))]
  // Either is asked first.
  let asked = 0
  const next: Script = peer => answers[asked++]?.(peer)
  for (const up of [a, b]) up.answer(next, next)
  t.equal((await post({ conversation: id })).status, 200)
  t.equal(asked, 2)
  const items = (await gateway.request(`/v1/conversations/${id}/items`)).json() as { data: unknown[] }
  t.equal(items.data.length, 2)
})

t.test('a streamed response is kept in mind from its first event', async t => {
  const { a, b, post } = await stage(t)
  const frames = ['created', 'completed'].map(type => {
    const event = { type: `response.${type}`, sequence_number: 0, response: response('resp_s') }
    return `event: response.${type}\ndata: ${JSON.stringify(event)}\n\n`
  })
  for (const up of [a, b]) up.answer(stream(frames), made('resp_next'))
  t.equal((await post({ stream: true })).status, 200)
  t.equal((await post({ previous_response_id: 'resp_s' })).status, 200)
  const used = [a, b].filter(up => up.requests.items.length > 0)
  t.equal(used.length, 1, 'both turns went to one upstream')
})

t.test('a large answer that is not streamed is kept in mind too', async t => {
  const { a, b, post } = await stage(t)
  const large = { output: [{ type: 'message', content: [{ type: 'output_text', text: 'x'.repeat(100_000) }] }] }
  for (const up of [a, b]) up.answer(json({ ...large, ...response('resp_l', large) }), made('resp_next'))
  t.equal((await post({})).status, 200)
  t.equal((await post({ previous_response_id: 'resp_l' })).status, 200)
})

t.test(
  'F-A4 a response of another caller and one that never was are refused alike, and no upstream hears of it',
  async t => {
    const { gateway, a, b, post } = await stage(t)
    for (const up of [a, b]) up.answer(made('resp_x'))
    await post({})
    const heard = a.requests.items.length + b.requests.items.length
    const bytes = async (call: (id: string) => Promise<{ status: number; text: string }>): Promise<void> => {
      const [foreign, unknown] = [await call('resp_x'), await call('resp_y')]
      t.equal(foreign.status, unknown.status)
      t.equal(foreign.text.replaceAll('resp_x', 'resp_y'), unknown.text)
    }
    await bytes(id => post({ previous_response_id: id }, BOB))
    await bytes(id => gateway.request(`/v1/responses/${id}`, { key: BOB }))
    await bytes(id => gateway.request(`/v1/responses/${id}`, { key: BOB, method: 'DELETE' }))
    await bytes(id => gateway.request(`/v1/responses/${id}/input_items`, { key: BOB }))
    await bytes(id => gateway.request(`/v1/responses/${id}/cancel`, { key: BOB, method: 'POST' }))
    await bytes(id =>
      gateway.request('/v1/responses/compact', { key: BOB, body: { model: 'm', previous_response_id: id } }),
    )
    t.equal(a.requests.items.length + b.requests.items.length, heard)
    const refusal = await post({ previous_response_id: 'resp_x' }, BOB)
    t.equal(refusal.status, 400)
    t.same(refusal.json(), {
      error: {
        message: "Previous response with id 'resp_x' not found.",
        type: 'invalid_request_error',
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      },
    })
    const missing = await gateway.request('/v1/responses/resp_x', { key: BOB })
    t.equal(missing.status, 404)
    t.match(missing.json(), {
      error: { message: "Response with id 'resp_x' not found.", type: 'invalid_request_error' },
    })
  },
)

t.test('a response made with store: false cannot be continued', async t => {
  const { a, b, post } = await stage(t)
  for (const up of [a, b]) up.answer(made('resp_f'))
  t.equal((await post({ store: false })).status, 200)
  t.equal((await post({ previous_response_id: 'resp_f' })).status, 400)
})

t.test('a model whose upstream does not have the response is refused by name', async t => {
  const { a, b, post } = await stage(t)
  let id = ''
  while (id !== 'resp_a') {
    a.answer(made('resp_a'))
    b.answer(made('resp_b'))
    id = ((await post({})).json() as { id: string }).id
  }
  const heard = b.requests.items.length
  const answer = await post({ model: 'onlyb', previous_response_id: 'resp_a' })
  t.equal(answer.status, 400)
  t.match(answer.json(), {
    error: { param: 'previous_response_id', code: 'previous_response_not_found', message: /'onlyb'/ },
  })
  t.equal(b.requests.items.length, heard)
})

t.test('what is asked of a kept response goes to its upstream, below the path of making one', async t => {
  const { gateway, a, b, post } = await stage(t)
  for (const up of [a, b]) up.answer(made('resp_k'), json({ object: 'passed on' }))
  await post({})
  const [keeper] = [a, b].filter(up => up.requests.items.length > 0)
  const asked = async (path: string, method: string): Promise<void> => {
    const answer = await gateway.request(path, { method })
    t.equal(answer.status, 200, path)
    t.same(answer.json(), { object: 'passed on' })
    const request = keeper?.requests.items.at(-1)
    t.equal(`${request?.method} ${decodeURIComponent(request?.target ?? '')}`, `${method} ${path}`)
    t.match(request?.header('authorization'), /^Bearer canary/i, 'with the credential of the upstream')
  }
  await asked('/v1/responses/resp_k?include[]=a&include[]=b', 'GET')
  await asked('/v1/responses/resp_k/input_items?limit=3&order=asc', 'GET')
  await asked('/v1/responses/resp_k/cancel', 'POST')
  await asked('/v1/responses/resp_k', 'DELETE')
  // It is forgotten when the upstream's answer is out, as soon as the store has written that: until then it is asked for there.
  let status = 200
  while (status === 200) ({ status } = await gateway.request('/v1/responses/resp_k'))
  t.equal(status, 404, 'deleted there, forgotten here')
})

t.test('a conversation is compacted by the upstream that keeps it', async t => {
  const { gateway, a, b, post } = await stage(t)
  const compaction = { id: 'resp_c', object: 'response.compaction', output: [] }
  for (const up of [a, b]) up.answer(made('resp_k'), json(compaction))
  await post({})
  const [keeper] = [a, b].filter(up => up.requests.items.length > 0)
  const sent = { model: 'm', previous_response_id: 'resp_k' }
  const answer = await gateway.request('/v1/responses/compact', { body: sent })
  t.same(answer.json(), compaction)
  t.equal(keeper?.requests.items.at(-1)?.target, '/v1/responses/compact')
  t.same(keeper?.requests.items.at(-1)?.json(), sent)
})

t.test('what says which conversation it is may be once', async t => {
  const { gateway } = await stage(t)
  const twice = '{"model":"m","input":"x","previous_response_id":"a","previous_response_id":"b"}'
  const answer = await gateway.request('/v1/responses', { method: 'POST', body: twice })
  t.equal(answer.status, 400)
  t.match(answer.json(), { error: { code: 'duplicate_parameter', param: 'previous_response_id' } })
})

t.test('after a restart on the same folder the next turn still finds its upstream', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  const yaml = `version: 1\n${KEYS}\nstore: { path: ./kept }\nupstreams:\n  a: ${upstreamYaml(a.origin)}\n  b: ${upstreamYaml(b.origin)}\nmodels: { m: [a, b] }\n`
  a.answer(made('resp_r'), made('resp_next'))
  const first = await startTestGateway(t, yaml, { env: { BOB_KEY: BOB } })
  await first.request('/v1/responses', { body: { model: 'm', input: 'hi' } })
  await first.gateway.close()
  const kept = `version: 1\n${KEYS}\nstore: { path: "${first.folder}/kept" }\nupstreams:\n  a: ${upstreamYaml(a.origin)}\n  b: ${upstreamYaml(b.origin)}\nmodels: { m: [b, a] }\n`
  const second = await startTestGateway(t, kept, { env: { BOB_KEY: BOB } })
  const answer = await second.request('/v1/responses', {
    body: { model: 'm', input: 'more', previous_response_id: 'resp_r' },
  })
  t.equal(answer.status, 200)
  t.equal(a.requests.items.length, 2)
  t.equal(b.requests.items.length, 0)
})

const item = (id: string): object => ({ id, type: 'message', role: 'assistant', status: 'completed', content: [] })
const refer = (id: string, more: object = { type: 'item_reference' }): object => ({ input: [{ id, ...more }] })

function streamed(id: string, item_id: string): Script {
  const events = [
    { type: 'response.created', response: response(id) },
    { type: 'response.output_item.added', output_index: 0, item: item(item_id) },
    { type: 'response.output_item.done', output_index: 0, item: item(item_id) },
    { type: 'response.completed', response: response(id, { output: [item(item_id)] }) },
  ]
  return stream(events.map(one => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`))
}

t.test('an item that an upstream keeps is referred to by its id, and the request goes there unchanged', async t => {
  const { a, b, post } = await stage(t)
  const large = [item('msg_1'), { ...item('msg_2'), content: [{ type: 'output_text', text: 'x'.repeat(100_000) }] }]
  const scripts = [json(response('resp_1', { output: large })), streamed('resp_2', 'msg_3'), made('resp_n')]
  for (const up of [a, b]) up.answer(...scripts)
  await post({})
  const [keeper, other] = a.requests.items.length > 0 ? [a, b] : [b, a]
  for (let time = 0; time < 6; time++) {
    keeper.answer(made(`resp_more_${time}`))
    const body = refer(time % 2 === 0 ? 'msg_1' : 'msg_2', time < 3 ? { type: 'item_reference' } : {})
    t.equal((await post(body)).status, 200)
    t.match(keeper.requests.items.at(-1)?.json(), body)
  }
  t.equal(other.requests.items.length, 0)
})

t.test('an item of a stream can be referred to as soon as it has come', async t => {
  const { a, b, post } = await stage(t)
  for (const up of [a, b]) up.answer(streamed('resp_s', 'msg_s'), made('resp_next'))
  t.equal((await post({ stream: true })).status, 200)
  t.equal((await post(refer('msg_s'))).status, 200)
  t.equal([a, b].filter(up => up.requests.items.length > 0).length, 1, 'it goes where the item is')
})

t.test(
  'F-A4 items of another caller and such that never were are refused alike, and no upstream hears of it',
  async t => {
    const { gateway, a, b, post } = await stage(t)
    for (const up of [a, b]) up.answer(json(response('resp_x', { output: [item('msg_x')] })))
    await post({})
    const heard = a.requests.items.length + b.requests.items.length
    const deep = Array.from({ length: 4000 }, (_, n) => ({ role: 'user', content: `${n} ${'x'.repeat(80)}` }))
    const shapes: readonly ((id: string) => object)[] = [
      id => refer(id),
      id => refer(id, {}),
      id => refer(id, { type: null }),
      id => ({ input: [...deep, { type: 'item_reference', id }] }),
      id => ({ input: [...deep, { id }] }),
    ]
    for (const shape of shapes) {
      const [foreign, unknown] = [await post(shape('msg_x'), BOB), await post(shape('msg_y'), BOB)]
      t.equal(foreign.status, 404)
      t.equal(foreign.text.replaceAll('msg_x', 'msg_y'), unknown.text)
    }
    const raw = (name: string): Promise<{ readonly status: number }> =>
      gateway.request('/v1/responses', {
        key: BOB,
        body: `{"model":"m","input":[{"typ\\u0065":"item_reference","${name}":"msg_x"}]}`,
      })
    t.equal((await raw('id')).status, 404)
    t.equal((await raw('\\u0069d')).status, 404, 'an escape hides nothing')
    const twice = await gateway.request('/v1/responses', { key: BOB, body: '{"model":"m","input":[],"input":"x"}' })
    t.equal(twice.status, 400)
    t.equal(a.requests.items.length + b.requests.items.length, heard)
  },
)

t.test('what a count of tokens continues is the caller’s own, too', async t => {
  const a = await startRawUpstream(t)
  const calls = 'speaks: { responses: POST /v1/responses, responses.input_tokens: POST /v1/responses/input_tokens }'
  const gateway = await startTestGateway(
    t,
    `version: 1\n${KEYS}\nupstreams: { a: { base: "${a.origin}", ${calls} } }\nmodels: { m: a }\n`,
    { env: { BOB_KEY: BOB } },
  )
  a.answer(made('resp_1'), json({ object: 'response.input_tokens', input_tokens: 7 }))
  await gateway.request('/v1/responses', { body: { model: 'm', input: 'hi' } })
  const body = { model: 'm', input: 'hi', previous_response_id: 'resp_1' }
  t.match((await gateway.request('/v1/responses/input_tokens', { body })).json(), { input_tokens: 7 })
  t.same(a.requests.items.at(-1)?.json(), body)
  t.match((await gateway.request('/v1/responses/input_tokens', { body, key: BOB })).json(), {
    error: { code: 'previous_response_not_found' },
  })
  t.equal(a.requests.items.length, 2)
})
