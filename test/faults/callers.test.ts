import crypto, { createHash } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import t, { type Test } from 'tap'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { CHAT, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { connectRaw } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

const SECRETS = {
  caller: canary('caller'),
  limited: canary('caller'),
  expired: canary('caller'),
  disabled: canary('caller'),
  hashed: canary('caller'),
  nobody: canary('caller'),
}

const KEYS = `
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
  limited: { secret: { env: LIMITED_KEY }, models: ["a-*"] }
  expired: { secret: { env: EXPIRED_KEY }, models: ["*"], expires: 2020-01-01 }
  disabled: { secret: { env: DISABLED_KEY }, models: ["*"], disabled: true }
  hashed: { secret: { hash: "sha256:${createHash('sha256').update(SECRETS.hashed).digest('hex')}" }, models: ["*"] }
`

async function running(t: Test): Promise<{ upstream: RawUpstream; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const models = 'models: { a-1: up, b-1: up, "c/1": { upstream: up, as: b-1 } }'
  const yaml = `version: 1\n${KEYS}upstreams: { up: ${upstreamYaml(upstream.origin)} }\n${models}\n`
  const env = {
    CALLER_KEY: SECRETS.caller,
    LIMITED_KEY: SECRETS.limited,
    EXPIRED_KEY: SECRETS.expired,
    DISABLED_KEY: SECRETS.disabled,
  }
  return { upstream, gateway: await startTestGateway(t, yaml, { env }) }
}

/** Header lines that present no key, or no good one. */
const PRESENTED: readonly (readonly [string, string])[] = [
  ['no key', ''],
  ['an empty header', 'authorization:\r\n'],
  ['the scheme alone', 'authorization: Bearer\r\n'],
  ['a key that no one has', `authorization: Bearer ${SECRETS.nobody}\r\n`],
  ['an expired key', `authorization: Bearer ${SECRETS.expired}\r\n`],
  ['a disabled key', `authorization: Bearer ${SECRETS.disabled}\r\n`],
  ['another scheme', `authorization: Basic ${Buffer.from(`x:${SECRETS.caller}`).toString('base64')}\r\n`],
  ['no scheme', `authorization: ${SECRETS.caller}\r\n`],
  ['a cookie', `cookie: authorization=${SECRETS.caller}\r\n`],
  ['two keys', `authorization: Bearer ${SECRETS.caller}\r\nauthorization: Bearer ${SECRETS.nobody}\r\n`],
  ['the same key twice', `authorization: Bearer ${SECRETS.caller}\r\nauthorization: Bearer ${SECRETS.caller}\r\n`],
  ['a list of keys', `authorization: Bearer ${SECRETS.caller}, Bearer ${SECRETS.nobody}\r\n`],
  ['a key cut short', `authorization: Bearer ${SECRETS.caller.slice(0, -1)}\r\n`],
  ['a key with more behind it', `authorization: Bearer ${SECRETS.caller}x\r\n`],
  ['a key in capitals', `authorization: Bearer ${SECRETS.caller.toUpperCase()}\r\n`],
  [
    'the digest of a key',
    `authorization: Bearer sha256:${createHash('sha256').update(SECRETS.hashed).digest('hex')}\r\n`,
  ],
  ['a key of 10000 characters', `authorization: Bearer ${'k'.repeat(10_000)}\r\n`],
  ['bytes that are not ASCII', 'authorization: Bearer \xff\xfe\r\n'],
]

const FIXED_ID = 'x-request-id: same\r\n'

t.test('F-A1 every way to have no valid key answers the same bytes, and no upstream is called', async t => {
  const { gateway, upstream } = await running(t)
  const body = JSON.stringify({ ...CHAT, model: 'a-1' })
  const answers = new Map<string, string>()
  for (const [title, lines] of PRESENTED) {
    const client = await connectRaw(t, gateway.origin)
    const length = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`
    await client.send(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${FIXED_ID}${lines}${length}\r\n${body}`)
    const answer = await client.answer()
    compatibleError(t, answer, 401, 'invalid_api_key')
    answers.set(title, answer.text)
  }
  const common = answers.get('no key')
  t.same(
    [...answers].filter(([, text]) => text !== common),
    [],
  )
  t.equal(upstream.connections.items.length, 0)
})

t.test('F-A1 a key of another family is refused by the name of its place, whether it is good or not', async t => {
  const { gateway, upstream } = await running(t)
  const answers: string[] = []
  for (const key of [SECRETS.caller, SECRETS.expired, SECRETS.disabled, SECRETS.nobody]) {
    const headers = { 'x-api-key': key, 'x-request-id': 'same' }
    const answer = await gateway.request('/v1/chat/completions', { key: '', body: { ...CHAT, model: 'a-1' }, headers })
    compatibleError(t, answer, 401, 'invalid_api_key')
    answers.push(answer.text)
  }
  t.match(answers[0], /in the header x-api-key, where it is not taken/)
  t.equal(new Set(answers).size, 1)
  t.equal(upstream.connections.items.length, 0)
})

t.test('F-A1 a key in the query of a route that takes it in a header is not a key, and goes nowhere', async t => {
  const { gateway, upstream } = await running(t)
  for (const name of ['key', 'api_key', 'access_token', 'authorization']) {
    compatibleError(t, await gateway.request(`/v1/models?${name}=${SECRETS.caller}`, { key: '' }), 401)
  }
  t.equal(upstream.connections.items.length, 0)
})

t.test('F-A1 without a key unknown paths and methods answer 401 too', async t => {
  const { gateway } = await running(t)
  for (const path of ['/', '/v1/models', '/v1/unknown', '/admin', '/v1/chat/completions'])
    compatibleError(t, await gateway.request(path, { key: 'wrong' }), 401)
  compatibleError(t, await gateway.request('/v1/unknown'), 404, null)
})

t.test(
  'the log shows which route refused a key, and which path a caller asked for in vain, without its query',
  async t => {
    const { gateway } = await running(t)
    await gateway.chat({}, { key: 'wrong' })
    t.match(await gateway.log.find(line => line.status === 401), {
      route: 'POST /v1/chat/completions',
      path: undefined,
    })
    await gateway.request('/v1/chat/completion?key=hidden')
    t.match(await gateway.log.find(line => line.status === 404), { route: undefined, path: '/v1/chat/completion' })
    await gateway.request('/v1/nowhere', { key: 'nobody' })
    t.match(await gateway.log.find(line => line.status === 401 && line.route === undefined), { path: undefined })
  },
)

t.test('F-A1 a key by digest, a scheme in other letters and more spaces are good', async t => {
  const { gateway } = await running(t)
  t.equal((await gateway.request('/v1/models', { key: SECRETS.hashed })).status, 200)
  for (const value of [`bearer ${SECRETS.caller}`, `BEARER   ${SECRETS.caller}`])
    t.equal((await gateway.request('/v1/models', { headers: { authorization: value } })).status, 200)
})

t.test('F-A2 every wrong key takes the same steps, however much of it is right', async t => {
  // How long the steps take is measured by `npm run bench:keys`: a machine's noise decides nothing here.
  const { gateway } = await running(t)
  const { keys } = gateway.gateway.plan
  const steps = spyOnCrypto(t)
  const now = Date.now()
  t.notMatch(keys.find(SECRETS.caller, now), { refused: String })
  const wanted = steps.splice(0)
  t.same(
    wanted.map(({ name }) => name),
    ['hash', 'timingSafeEqual'],
  )
  for (let place = 0; place < SECRETS.caller.length; place += 1) {
    const guess = Buffer.from(SECRETS.caller)
    guess[place] = guess[place]! ^ 1
    t.match(keys.find(guess.toString('latin1'), now), { refused: 'unknown' })
    t.same(
      steps.splice(0).map(({ name, sizes }) => [name, sizes]),
      wanted.map(({ name, sizes }) => [name, sizes]),
    )
  }
})

interface Step {
  readonly name: string
  readonly sizes: readonly number[]
}

/** What is asked of the runtime's digests and comparisons from here on, each with the sizes of its operands. */
function spyOnCrypto(t: Test): Step[] {
  const steps: Step[] = []
  for (const name of ['hash', 'timingSafeEqual'] as const) {
    const real = crypto[name] as (...operands: readonly unknown[]) => unknown
    const spied = (...operands: readonly unknown[]): unknown => {
      steps.push({ name, sizes: operands.map(operand => (operand as { length: number }).length) })
      return real(...operands)
    }
    Object.assign(crypto, { [name]: spied })
    t.teardown(() => {
      Object.assign(crypto, { [name]: real })
      syncBuiltinESMExports()
    })
  }
  syncBuiltinESMExports()
  return steps
}

const ROUTES: readonly (readonly [string, Record<string, unknown>])[] = [
  ['/v1/chat/completions', { messages: CHAT.messages }],
  ['/v1/completions', { prompt: 'x' }],
  ['/v1/embeddings', { input: 'x' }],
  ['/v1/moderations', { input: 'x' }],
  ['/v1/images/generations', { prompt: 'x' }],
  ['/v1/audio/speech', { input: 'x', voice: 'alloy' }],
  ['/v1/rerank', { query: 'x', documents: ['x'] }],
  ['/v2/rerank', { query: 'x', documents: ['x'] }],
  ['/v1/responses', { input: 'x' }],
]

/** Ways to ask for `b-1` with a key for `a-*`. */
const TRICKS = [
  'b-1',
  'B-1',
  ' b-1',
  'b-1 ',
  'a-1,b-1',
  'a-1/../b-1',
  'a-1\u0000b-1',
  'c/1',
  'up/b-1',
  'a-1?x',
  'a-*',
  '*',
  'b*',
  'a-2',
  'A-1',
]

for (const [path, body] of ROUTES) {
  t.test(`F-A3 POST ${path}: a model that the key may not use answers as one that does not exist`, async t => {
    const { gateway, upstream } = await running(t)
    const ask = (model: string, key: string) =>
      gateway.request(path, { body: { ...body, model }, key, headers: { 'x-request-id': 'same' } })
    for (const model of TRICKS) {
      const refused = await ask(model, SECRETS.limited)
      t.ok([400, 404].includes(refused.status), `${model}: ${refused.status}`)
    }
    const forbidden = await ask('b-1', SECRETS.limited)
    const unknown = await ask('z-1', SECRETS.limited)
    t.equal(
      forbidden.head.raw.toString().replace(/^date:.*$/im, ''),
      unknown.head.raw.toString().replace(/^date:.*$/im, ''),
    )
    t.equal(forbidden.text.replaceAll('b-1', 'NAME'), unknown.text.replaceAll('z-1', 'NAME'))
    t.equal(upstream.requests.items.length, 0)
    t.equal((await ask('a-1', SECRETS.limited)).status, 200)
    t.equal((await ask('b-1', SECRETS.caller)).status, 200)
    t.same(
      upstream.requests.items.map(request => (request.json() as { model: string }).model),
      ['a-1', 'b-1'],
    )
  })
}

t.test('F-A3 the log alone knows a model that is forbidden from one that is not there', async t => {
  const { gateway } = await running(t)
  await gateway.chat({ model: 'b-1' }, { key: SECRETS.limited })
  t.match(await gateway.log.find(line => line.model === 'b-1'), { status: 404, cause: /may not use/ })
  await gateway.chat({ model: 'z-1' })
  t.match(await gateway.log.find(line => line.model === 'z-1'), { status: 404, cause: /no model has this name/ })
})

t.test('F-A3 the models list holds what the key may use, and nothing else', async t => {
  const { gateway } = await running(t)
  const list = async (key: string): Promise<string[]> => {
    const answer = await gateway.request('/v1/models', { key })
    return (answer.json() as { data: { id: string }[] }).data.map(model => model.id)
  }
  t.same(await list(SECRETS.limited), ['a-1'])
  t.same(await list(SECRETS.caller), ['a-1', 'b-1', 'c/1'])
  t.equal((await gateway.request('/v1/models/a-1', { key: SECRETS.limited })).status, 200)
  t.equal((await gateway.request('/v1/models/c/1')).status, 200)
  t.equal((await gateway.request('/v1/models/c%2F1')).status, 200)
  const forbidden = await gateway.request('/v1/models/b-1', { key: SECRETS.limited })
  const unknown = await gateway.request('/v1/models/z-1', { key: SECRETS.limited })
  compatibleError(t, forbidden, 404, 'model_not_found')
  t.equal(forbidden.text.replaceAll('b-1', 'NAME'), unknown.text.replaceAll('z-1', 'NAME'))
})

t.test('F-A4 stored objects are no one to anyone: 404 with the same bytes, and no upstream call', async t => {
  const { gateway, upstream } = await running(t)
  const asked = [
    ['GET', '/v1/responses/resp_1'],
    ['DELETE', '/v1/responses/resp_1'],
    ['GET', '/v1/responses/resp_1/input_items'],
    ['POST', '/v1/responses/resp_2/cancel'],
    ['GET', '/v1/files/file-1'],
    ['DELETE', '/v1/files/file-1'],
  ] as const
  for (const [method, path] of asked) {
    const [mine, theirs] = [
      await gateway.request(path, { method, headers: { 'x-request-id': 'same' } }),
      await gateway.request(path, { method, key: SECRETS.limited, headers: { 'x-request-id': 'same' } }),
    ]
    compatibleError(t, mine, 404)
    t.equal(mine.text, theirs.text)
  }
  t.equal(upstream.connections.items.length, 0)
})

t.test('a 401 of the compatible family is what its clients know', async t => {
  const gateway = await startTestGateway(t, oneUpstream('http://127.0.0.1:1'))
  const error = compatibleError(t, await gateway.chat({}, { key: 'wrong' }), 401, 'invalid_api_key')
  t.equal(error.type, 'invalid_request_error')
  t.equal(error.param, null)
})

proveNoLeak(t)
