import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Resources that were made outside of the gateway: refused, or passed to the upstream that is declared to take them. */

relaysAnything()

const BOB = 'bob-secret-key-of-some-length'
const FILE = { id: 'file-outside', object: 'file', bytes: 1, created_at: 1, filename: 'a', purpose: 'batch' }

async function stage(t: Test, unknown: string): Promise<{ gateway: TestGateway; up: RawUpstream }> {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
keys:
  ann: { secret: { env: CALLER_KEY }, models: ["*"] }
  bob: { secret: { env: BOB_KEY }, models: ["*"] }
store: { type: memory }
upstreams:
  up: { kind: openai, base: "${up.origin}", secret: { env: UPSTREAM_KEY }${unknown} }
  sim: { kind: simulator-chat }
models: { m: up, sim: { upstream: sim, as: sim-text } }
`,
    { env: { BOB_KEY: BOB } },
  )
  return { gateway, up }
}

const CARL = 'carl-secret-key-of-some-length'

/** Two upstreams that take unknown ids: ann's models lead to both, bob's to the first, carl's to neither. */
async function two(t: Test): Promise<{ gateway: TestGateway; first: RawUpstream; second: RawUpstream }> {
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t)]
  const passing = (origin: string): string =>
    `{ kind: openai, base: "${origin}", secret: { env: UPSTREAM_KEY }, resources: { unknown: pass } }`
  const gateway = await startTestGateway(
    t,
    `version: 1
keys:
  ann: { secret: { env: CALLER_KEY }, models: ["*"] }
  bob: { secret: { env: BOB_KEY }, models: [one] }
  carl: { secret: { env: CARL_KEY }, models: [sim] }
store: { type: memory }
upstreams: { first: ${passing(first.origin)}, second: ${passing(second.origin)}, sim: { kind: simulator } }
models: { one: first, both: [first, second], sim: { upstream: sim, as: sim-text } }
`,
    { env: { BOB_KEY: BOB, CARL_KEY: CARL } },
  )
  return { gateway, first, second }
}

const refer = (id: string) => ({ model: 'm', input: [{ type: 'item_reference', id }] })
const made = (id: string): string =>
  JSON.stringify({ id, object: 'response', status: 'completed', output: [], usage: null })
const chatWith = (file_id: string) => ({
  model: 'm',
  messages: [{ role: 'user', content: [{ type: 'file', file: { file_id } }] }],
})
const chat = json({
  id: 'c',
  object: 'chat.completion',
  choices: [],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const response = (id: string) => json(JSON.parse(made(id)))

t.test('by default what the gateway has not seen being made is not found', async t => {
  for (const unknown of ['', ', resources: { unknown: refuse }']) {
    const { gateway, up } = await stage(t, unknown)
    up.answer(json(FILE))
    const statuses = [
      await gateway.request('/v1/files/file-outside', { method: 'GET' }),
      await gateway.request('/v1/chat/completions', { body: chatWith('file-outside') }),
      await gateway.request('/v1/responses', {
        body: { model: 'm', input: 'a', previous_response_id: 'resp_outside' },
      }),
    ].map(({ status }) => status)
    t.strictSame(statuses, [404, 404, 400])
    t.equal(up.requests.items.length, 0)
  }
})

t.test(
  'passed on where that is declared: no one owns it afterwards, and what a key has made stays its own',
  async t => {
    const { gateway, up } = await stage(t, ', resources: { unknown: pass }')
    up.answer(json(FILE))
    for (const key of [gateway.key, BOB, gateway.key]) {
      const answer = await gateway.request('/v1/files/file-outside', { method: 'GET', key })
      t.equal(answer.status, 200, answer.text)
      t.match(answer.json(), FILE)
    }
    t.match((await gateway.request('/v1/files', { method: 'GET' })).json(), { data: [] }, 'it is in no one’s list')
    up.answer(chat)
    t.equal((await gateway.request('/v1/chat/completions', { body: chatWith('file-outside') })).status, 200)
    t.equal(up.requests.items.at(-1)?.target, '/v1/chat/completions')

    up.answer(json({ ...FILE, id: 'file-anns' }))
    const form = '--B\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--B--\r\n'
    const headers = { 'content-type': 'multipart/form-data; boundary=B' }
    t.equal((await gateway.request('/v1/files', { method: 'POST', body: form, headers })).status, 200)
    const seen = up.requests.items.length
    t.equal((await gateway.request('/v1/files/file-anns', { method: 'GET', key: BOB })).status, 404)
    const named = await gateway.request('/v1/chat/completions', { body: chatWith('file-anns'), key: BOB })
    t.equal(named.status, 404)
    t.equal(up.requests.items.length, seen, 'and its upstream hears nothing of it')
    t.equal((await gateway.request('/v1/files/file-anns', { method: 'GET' })).status, 200)
  },
)

t.test('a conversation that began outside continues there', async t => {
  const { gateway, up } = await stage(t, ', resources: { unknown: pass }')
  up.answer(response('resp_next'))
  const ask = (previous: string, key = gateway.key) =>
    gateway.request('/v1/responses', { body: { model: 'm', input: 'a', previous_response_id: previous }, key })
  const answer = await ask('resp_outside')
  t.equal(answer.status, 200, answer.text)
  t.match(up.requests.items[0]?.json(), { previous_response_id: 'resp_outside' })
  t.equal((await ask('resp_next')).status, 200, 'the next turn is the key’s own')
  const others = await ask('resp_next', BOB)
  t.match(others.json(), { error: { code: 'previous_response_not_found' } })
})

// ── responses and items

const OUTSIDE = 'resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b'
/** As some servers make them: a UUID. */
const UUID = 'resp_0f8fad5bd9cb469fa16570867728950e'
const MISSING = { error: { message: /not found/ } }

t.test('responses that were made outside are shown, listed, cancelled and deleted there', async t => {
  const { gateway, up } = await stage(t, ', resources: { unknown: pass }')
  up.answer(response(OUTSIDE))
  const calls = [
    ['GET', OUTSIDE],
    ['GET', `${OUTSIDE}?include[]=x`],
    ['GET', `${OUTSIDE}/input_items?limit=5`],
    ['POST', `${OUTSIDE}/cancel`],
    ['DELETE', OUTSIDE],
    ['GET', UUID],
  ] as const
  for (const [method, path] of calls) {
    for (const key of [gateway.key, BOB]) {
      const answer = await gateway.request(`/v1/responses/${path}`, { method, key })
      t.equal(answer.status, 200, answer.text)
      const sent = up.requests.items.at(-1)
      t.same([sent?.method, decodeURIComponent(sent?.target ?? '')], [method, `/v1/responses/${path}`])
      t.not(sent?.header('authorization'), `Bearer ${key}`)
    }
  }
  const compacted = await gateway.request('/v1/responses/compact', {
    body: { model: 'm', previous_response_id: OUTSIDE },
  })
  t.equal(compacted.status, 200, compacted.text)
  t.match(up.requests.items.at(-1)?.json(), { previous_response_id: OUTSIDE })
  up.answer(json({ error: { message: 'gone', type: 'invalid_request_error' } }, { status: 404 }))
  const gone = await gateway.request(`/v1/responses/${OUTSIDE}`, { method: 'GET' })
  t.equal(gone.status, 404, 'what the upstream says of it is passed on')
  t.match(gone.json(), { error: { message: 'gone' } })
})

t.test('by default, and for keys whose models do not lead there, they are not found', async t => {
  const refusing = await stage(t, '')
  for (const [method, below] of [
    ['GET', ''],
    ['GET', '/input_items'],
    ['POST', '/cancel'],
    ['DELETE', ''],
  ] as const) {
    const answer = await refusing.gateway.request(`/v1/responses/${OUTSIDE}${below}`, { method })
    t.equal(answer.status, 404, `${method} ${below}`)
    t.match(answer.json(), MISSING)
  }
  t.equal(refusing.up.requests.items.length, 0)

  const { gateway, first, second } = await two(t)
  const answer = await gateway.request(`/v1/responses/${OUTSIDE}`, { method: 'GET', key: CARL })
  t.equal(answer.status, 404)
  t.same([first.requests.items.length, second.requests.items.length], [0, 0])
})

t.test('what a key has made stays its own, and is not found once it is gone', async t => {
  const { gateway, up } = await stage(t, ', resources: { unknown: pass }')
  up.answer(json({ ...JSON.parse(made('resp_anns')), output: [{ type: 'message', id: 'msg_anns' }] }))
  t.equal((await gateway.request('/v1/responses', { body: { model: 'm', input: 'a' } })).status, 200)
  const seen = up.requests.items.length
  for (const [method, below] of [
    ['GET', ''],
    ['GET', '/input_items'],
    ['POST', '/cancel'],
    ['DELETE', ''],
  ] as const) {
    const answer = await gateway.request(`/v1/responses/resp_anns${below}`, { method, key: BOB })
    t.equal(answer.status, 404, `${method} ${below}`)
  }
  const item = await gateway.request('/v1/responses', { body: refer('msg_anns'), key: BOB })
  t.equal(item.status, 404, 'nor is an item of it')
  t.equal(up.requests.items.length, seen)

  // Its own conversations are kept here where the upstream does not speak the protocol.
  const own = await gateway.request('/v1/responses', { body: { model: 'sim', input: 'a' } })
  const { id, output } = own.json() as { id: string; output: { id: string }[] }
  t.equal((await gateway.request(`/v1/responses/${id}`, { method: 'DELETE' })).status, 200)
  const after = up.requests.items.length
  for (const key of [gateway.key, BOB]) {
    const shown = await gateway.request(`/v1/responses/${id}`, { method: 'GET', key })
    t.equal(shown.status, 404)
    t.match(shown.json(), MISSING)
    const next = await gateway.request('/v1/responses', {
      body: { model: 'm', input: 'b', previous_response_id: id },
      key,
    })
    t.equal(next.status, 400)
    t.match(next.json(), { error: { code: 'previous_response_not_found' } })
    const items = await gateway.request('/v1/responses', { body: refer(output[0]?.id ?? ''), key })
    t.equal(items.status, 404, items.text)
  }
  t.equal(up.requests.items.length, after, 'an id of the gateway’s own goes nowhere')
})

t.test('items that were made outside pass, beside those that are the key’s own', async t => {
  const { gateway, up } = await stage(t, ', resources: { unknown: pass }')
  up.answer(json(JSON.parse(made('resp_next'))))
  const body = { model: 'm', input: [...refer('msg_outside').input, { type: 'item_reference', id: 'rs_outside' }] }
  const answer = await gateway.request('/v1/responses', { body })
  t.equal(answer.status, 200, answer.text)
  t.match(up.requests.items[0]?.json(), body)
  const bare = { model: 'm', input: [{ id: 'msg_outside' }, { role: 'user', content: 'go on' }] }
  t.equal((await gateway.request('/v1/responses', { body: bare })).status, 200, 'a reference without a type')
  const counted = { ...body, previous_response_id: OUTSIDE }
  t.equal((await gateway.request('/v1/responses', { body: counted })).status, 200)
  const translated = await gateway.request('/v1/responses', { body: { ...body, model: 'sim' } })
  t.equal(translated.status, 404, 'where no upstream of the model takes them')
  const many = Array.from({ length: 33 }, (_, index) => ({ type: 'item_reference', id: `msg_${index}` }))
  const refused = await gateway.request('/v1/responses', { body: { model: 'm', input: many } })
  t.match(refused.json(), { error: { code: 'invalid_value', message: /refers to more than 32 items/ } })
})

t.test('a turn of a conversation that was made outside goes there unchanged', async t => {
  const { gateway, up } = await stage(t, ', resources: { unknown: pass }')
  up.answer(response('resp_turn'))
  for (const conversation of ['conv_outside', { id: 'conv_outside' }]) {
    const body = { model: 'm', input: 'a', conversation }
    const answer = await gateway.request('/v1/responses', { body })
    t.equal(answer.status, 200, answer.text)
    t.same(up.requests.items.at(-1)?.json(), body)
  }
  const own = await gateway.request('/v1/conversations', { body: {} })
  const { id } = own.json() as { id: string }
  const seen = up.requests.items.length
  const foreign = await gateway.request('/v1/responses', {
    body: { model: 'm', input: 'a', conversation: id },
    key: BOB,
  })
  t.equal(foreign.status, 404, 'what a key has made stays its own')
  await gateway.request(`/v1/conversations/${id}`, { method: 'DELETE' })
  const gone = await gateway.request('/v1/responses', { body: { model: 'm', input: 'a', conversation: id } })
  t.equal(gone.status, 404)
  t.equal(up.requests.items.length, seen)

  const refusing = await stage(t, '')
  const refused = await refusing.gateway.request('/v1/responses', {
    body: { model: 'm', input: 'a', conversation: 'conv_outside' },
  })
  t.equal(refused.status, 404)
})

t.test('of several upstreams that take them the request has to name one', async t => {
  const { gateway, first, second } = await two(t)
  first.answer(response('resp_1'))
  second.answer(json({ ...FILE, id: 'file-b' }))
  const SEVERAL = { error: { message: /several upstreams accept such ids \('first', 'second'\)/ } }
  const calls = [
    gateway.request(`/v1/responses/${OUTSIDE}`, { method: 'GET' }),
    gateway.request(`/v1/responses/${OUTSIDE}`, { method: 'DELETE' }),
    gateway.request('/v1/responses', { body: { model: 'both', input: 'a', previous_response_id: OUTSIDE } }),
    gateway.request('/v1/responses', { body: { ...refer('msg_outside'), model: 'both' } }),
    gateway.request('/v1/files/file-b', { method: 'GET' }),
    gateway.request('/v1/chat/completions', { body: { ...chatWith('file-b'), model: 'both' } }),
  ]
  for (const answer of await Promise.all(calls)) {
    t.equal(answer.status, 400, answer.text)
    t.match(answer.json(), SEVERAL)
  }
  t.same([first.requests.items.length, second.requests.items.length], [0, 0])
  const one = await gateway.request('/v1/responses', { body: { ...refer('msg_outside'), model: 'one' } })
  t.equal(one.status, 200, 'a model of one of them says which')
  t.equal((await gateway.request(`/v1/responses/${OUTSIDE}`, { method: 'GET', key: BOB })).status, 200)
  t.equal(second.requests.items.length, 0)
  t.equal((await gateway.request('/v1/files/file-b', { method: 'GET', key: BOB })).status, 200)
  t.equal(second.requests.items.length, 0, 'as a key does whose models lead to one')
})

proveNoLeak(t)
