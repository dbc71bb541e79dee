import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import type { RealtimeServerEvent } from 'openai/resources/realtime/realtime'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { textFrame } from '../../src/wire/frames.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { startIssuer } from '../helpers/issuer.js'
import { Journal } from '../helpers/journal.js'
import { openApi, openApiFolder } from '../helpers/openapi.js'
import { type Ask, ask, open, startSocketUpstream } from '../helpers/realtime.js'
import { onStoreUnderTest, temporary } from '../helpers/store-kinds.js'

// Short-lived secrets for clients that must not have a key: bound to the key that had them made, to a model and a session.

type Test = Pick<typeof t, 'teardown'>

const onStore = onStoreUnderTest(t)
const PATH = '/v1/realtime/client_secrets'

interface Made {
  readonly value: string
  readonly expires_at: number
  readonly session: Readonly<Record<string, unknown>>
}

async function make(gateway: TestGateway, session: object, more: object = {}): Promise<Made> {
  const { status, text, json } = await gateway.request(PATH, { body: { session, ...more } })
  if (status !== 200) throw new Error(text)
  return json() as Made
}

const REALTIME = { type: 'realtime', model: 'm' }

const yamlFor = (origin: string, keys = 'caller: { secret: { env: CALLER_KEY }, models: [m, heard, other] }'): string =>
  `version: 1
keys: { ${keys}, bob: { secret: { env: BOB_KEY } } }
upstreams:
  up: { base: "${origin}", speaks: { realtime: "GET /v1/realtime?model={model}", chat: POST /v1/chat/completions } }
models:
  m: { upstream: up, as: real-m }
  heard: { upstream: up, as: real-heard }
  other: up
  secret-model: up
`

const BOB = 'bob-secret-key-of-some-length'

async function stage(test: Test) {
  const up = await startSocketUpstream(test)
  const gateway = await startTestGateway(test, await onStore(test, yamlFor(up.origin)), { env: { BOB_KEY: BOB } })
  return { up, gateway }
}

/** The status and body of a handshake with a secret. */
async function status(test: Test, gateway: TestGateway, key: string, path = '/v1/realtime?model=m'): Promise<number> {
  return (await ask(test, gateway, { key, path })).status
}

t.test('the official SDK has a secret made, and its realtime client opens a session with that', async t => {
  const tls = (name: string): string => join(packageRoot(), 'test/fixtures/tls', name)
  const simulated = `version: 1
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { voice: { upstream: sim, as: sim-realtime } }
`
  const made = await onStore(t, simulated)
  const yaml = made.includes('store:') ? made : `${made}store: { path: "${temporary(t)}" }\n`
  const plain = await startTestGateway(t, yaml)
  // The official realtime client speaks TLS only, regardless of what its base address says.
  const listen = `listen: { tls: { cert: "${tls('first.pem')}", key: "${tls('first.key')}" } }\n`
  const gateway = await startTestGateway(t, yaml + listen, { env: { CALLER_KEY: plain.key } })
  const sdk = new OpenAI({ apiKey: plain.key, baseURL: `${plain.origin}/v1`, maxRetries: 0 })
  const before = Math.floor(Date.now() / 1000)
  const session = {
    type: 'realtime' as const,
    model: 'voice',
    instructions: 'Be brief.',
    output_modalities: ['text' as const],
  }
  const shown = await sdk.realtime.clientSecrets.create({
    session,
    expires_after: { anchor: 'created_at', seconds: 60 },
  })
  t.match(shown, { value: /^ek_[\w-]+$/, session: { ...session, id: /^sess_/, object: 'realtime.session' } })
  t.ok(shown.expires_at >= before + 60 && shown.expires_at <= Math.floor(Date.now() / 1000) + 60)
  const usual = await sdk.realtime.clientSecrets.create({ session })
  t.ok(usual.expires_at >= before + 600)

  const { value } = shown
  const events = new Journal<RealtimeServerEvent>('events')
  const client = new OpenAI({ apiKey: value, baseURL: `${gateway.origin}/v1` })
  const socket = new OpenAIRealtimeWS({ model: 'voice', options: { rejectUnauthorized: false } }, client)
  t.teardown(() => socket.socket.terminate())
  socket.on('event', event => events.push(event))
  socket.on('error', () => undefined)
  const updated = await events.find(event => event.type === 'session.updated')
  t.match(updated, { session: { instructions: 'Be brief.', output_modalities: ['text'], model: 'sim-realtime' } })
  socket.send({
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi.' }] },
  })
  socket.send({ type: 'response.create' })
  const done = await events.find(event => event.type === 'response.done')
  t.match(done, { response: { status: 'completed', output: [{ content: [{ type: 'output_text' }] }] } })
  socket.close({ code: 1000, reason: '' })
  const line = await gateway.log.find(one => one.msg === 'request' && one.route === 'WS /v1/realtime')
  t.match(line, { key: 'caller', model: 'voice', status: 101, outcome: 'ok' })
})

t.test('what is answered fits its description', { skip: openApiFolder() === undefined }, async t => {
  const { gateway } = await stage(t)
  t.same(openApi('client-secret.response')(await make(gateway, { ...REALTIME, instructions: 'x' })), [])
  const heard = { type: 'transcription', audio: { input: { transcription: { model: 'heard' } } } }
  t.same(openApi('client-secret.response')(await make(gateway, heard)), [])
})

t.test('a browser sends the secret as a subprotocol, and need not name the model', async t => {
  const { gateway, up } = await stage(t)
  const { value } = await make(gateway, REALTIME)
  const offers = (key: string): Ask => ({
    key: null,
    path: '/v1/realtime',
    headers: { 'sec-websocket-protocol': `realtime, openai-insecure-api-key.${key}` },
  })
  const { client, server, head } = await open(t, { gateway, up }, offers(value))
  t.match(head.toLowerCase(), /sec-websocket-protocol: realtime\r?$/m)
  t.equal(up.requests.items[0]?.url, '/v1/realtime?model=real-m')
  t.notMatch(JSON.stringify(up.requests.items[0]?.rawHeaders), /ek_/)
  client.send(textFrame('{"type":"response.create"}', true))
  await server.texts.count(1)
  t.same(server.texts.items, ['{"type":"response.create"}'], 'a session without settings begins as any other')
  t.equal((await ask(t, gateway, offers(`${value}x`))).status, 401)
})

t.test('the session begins with its settings, by the names that the upstream has for models', async t => {
  const { gateway, up } = await stage(t)
  const audio = { input: { transcription: { model: 'heard' } } }
  for (const session of [
    { ...REALTIME, audio },
    { type: 'transcription', model: 'm', audio },
  ]) {
    const { value } = await make(gateway, session)
    const { client, server } = await open(t, { gateway, up }, { key: value })
    await server.texts.count(1)
    t.same(JSON.parse(server.texts.items[0] ?? ''), {
      type: 'session.update',
      session: { type: session.type, audio: { input: { transcription: { model: 'real-heard' } } } },
    })
    client.send(textFrame('{"type":"session.update","session":{"model":"other"}}', true))
    await client.closes.count(1)
    t.equal(client.closes.items[0]?.code, 1008, 'another model of the key is not one of this session')
  }
  const heard = { type: 'transcription', audio }
  const { value } = await make(gateway, heard)
  await open(t, { gateway, up }, { key: value, path: '/v1/realtime?intent=transcription' })
  t.match(up.requests.items.at(-1)?.url, /model=real-heard/)
})

t.test('a framed tunnel begins its sessions alike', async t => {
  const up = await startSocketUpstream(t)
  const framed = `${yamlFor(up.origin)}routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: framed } }\n`
  const gateway = await startTestGateway(t, await onStore(t, framed), { env: { BOB_KEY: BOB } })
  const { value } = await make(gateway, { ...REALTIME, instructions: 'Be brief.' })
  const { client, server } = await open(t, { gateway, up }, { key: value })
  client.send(textFrame('{"type":"session.update","session":{"model":"m"}}', true))
  await server.texts.count(2)
  t.same(
    server.texts.items.map(text => JSON.parse(text).session),
    [{ type: 'realtime', instructions: 'Be brief.' }, { model: 'real-m' }],
  )
})

t.test('F-A4 a secret opens sessions of its model alone, and nothing else', async t => {
  const { gateway, up } = await stage(t)
  const { value } = await make(gateway, REALTIME)
  t.equal(await status(t, gateway, value, '/v1/realtime?model=other'), 404)
  t.equal(await status(t, gateway, value, '/v1/responses'), 401)
  const [id, rest] = [value.slice(0, 40), value.slice(41)]
  const changed = `${id}${value[40] === 'A' ? 'B' : 'A'}${rest}`
  for (const wrong of [changed, `${value}A`, `${value}=`, 'ek_', `ek_${'A'.repeat(9000)}`]) {
    t.equal(await status(t, gateway, wrong), 401, wrong.slice(0, 60))
  }
  for (const [path, body] of [
    ['/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'x' }] }],
    [PATH, { session: REALTIME }],
    ['/v1/models', undefined],
    ['/v1/files', undefined],
  ] as const) {
    const { status: refused } = await gateway.request(path, {
      key: value,
      ...(body === undefined ? { method: 'GET' } : { body }),
    })
    t.equal(refused, 401, path)
  }
  t.equal(up.requests.items.length, 0)
  t.equal(await status(t, gateway, value), 101)
})

t.test('a secret ends with its time; sessions that are open continue', async t => {
  const { gateway, up } = await stage(t)
  const { value, expires_at } = await make(gateway, REALTIME, { expires_after: { anchor: 'created_at', seconds: 10 } })
  const { client, server } = await open(t, { gateway, up }, { key: value })
  const real = Date.now
  t.teardown(() => {
    Date.now = real
  })
  Date.now = () => expires_at * 1000 - 1
  t.equal(await status(t, gateway, value), 101)
  Date.now = () => expires_at * 1000
  t.equal(await status(t, gateway, value), 401)
  client.send(textFrame('{"type":"response.create"}', true))
  await server.texts.count(1)
})

t.test('a secret ends with the key that had it made, or what that key may do', async t => {
  const { gateway, up } = await stage(t)
  const { value } = await make(gateway, REALTIME)
  const reload = async (keys: string): Promise<number> => {
    await gateway.write('gateway.yaml', await onStore(t, yamlFor(up.origin, keys)))
    await gateway.gateway.reload()
    return status(t, gateway, value)
  }
  const secret = 'secret: { env: CALLER_KEY }'
  t.equal(await reload(`caller: { ${secret}, models: [other] }`), 404, 'the model is no longer allowed')
  t.equal(await reload(`caller: { ${secret}, disabled: true }`), 401)
  t.equal(await reload(`caller: { ${secret}, expires: 2020-01-01 }`), 401)
  t.equal(await reload('caller: { secret: { env: OTHER_KEY } }'), 401, 'a key of that name, but another one')
  t.equal(await reload('ann: { secret: { env: OTHER_KEY } }'), 401)
  t.equal(await reload(`renamed: { ${secret} }`), 101, 'the same key')
})

t.test('what cannot be made is refused with its place', async t => {
  const { gateway } = await stage(t)
  const post = async (body: object): Promise<unknown> => {
    const { status: found, json } = await gateway.request(PATH, { body: body as Readonly<Record<string, unknown>> })
    return { status: found, ...(json() as object) }
  }
  const after = (seconds: unknown, anchor = 'created_at') => ({ session: REALTIME, expires_after: { anchor, seconds } })
  for (const seconds of [9, 7201, 10.5, '60', -1])
    t.match(await post(after(seconds)), { status: 400, error: { param: 'expires_after.seconds' } })
  for (const seconds of [10, 7200]) t.match(await post(after(seconds)), { status: 200 })
  t.match(await post(after(60, 'now')), { status: 400, error: { param: 'expires_after.anchor' } })
  t.match(await post({}), { status: 400, error: { param: 'session', code: 'missing_required_parameter' } })
  t.match(await post({ session: { model: 'm' } }), { status: 400, error: { param: 'session.type' } })
  t.match(await post({ session: { type: 'realtime' } }), { status: 400, error: { param: 'session.model' } })
  t.match(await post({ session: { ...REALTIME, type: 'chat' } }), { status: 400, error: { param: 'session.type' } })
  t.match(await post({ session: { ...REALTIME, base_url: 'http://x' } }), {
    status: 400,
    error: { param: 'session.base_url' },
  })
  const heard = (model: string) => ({ ...REALTIME, audio: { input: { transcription: { model } } } })
  for (const session of [
    { ...REALTIME, model: 'secret-model' },
    { ...REALTIME, model: 'never' },
    heard('secret-model'),
  ])
    t.match(await post({ session }), { status: 404, error: { code: 'model_not_found' } })
  t.match(await post({ session: { ...REALTIME, instructions: 'x'.repeat(33 * 1024) } }), {
    status: 400,
    error: { param: 'session' },
  })
  const packed = randomBytes(8000).toString('base64')
  t.match(await post({ session: { ...REALTIME, instructions: packed } }), { status: 400, error: { param: 'session' } })
  t.match(await post({ session: { ...REALTIME, instructions: 'Say it again. '.repeat(2000) } }), { status: 200 })
})

t.test('a secret that one gateway made is good at another one on the same store', async t => {
  const up = await startSocketUpstream(t)
  const made = await onStore(t, yamlFor(up.origin))
  const yaml = made.includes('store:') ? made : `${made}store: { path: "${temporary(t)}" }\n`
  const one = await startTestGateway(t, yaml, { env: { BOB_KEY: BOB } })
  const other = await startTestGateway(t, yaml, { env: { BOB_KEY: BOB, CALLER_KEY: one.key } })
  const stranger = await stage(t)
  const { value } = await make(one, REALTIME)
  t.equal(await status(t, other, value), 101)
  t.equal(await status(t, stranger.gateway, value), 401)
})

t.test('a secret made with a key of the store lives as long as that key', async t => {
  const up = await startSocketUpstream(t)
  const { line, origin } = await adminLine()
  const env = { BOB_KEY: BOB, GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  const gateway = await startTestGateway(t, `${await onStore(t, yamlFor(up.origin))}${line}\n`, { env })
  const admin = adminOf(t, origin)
  const { secret: key } = (await admin('POST', '/admin/keys', { name: 'ann', models: ['m'] })).json()
  const made = await gateway.request(PATH, { key, body: { session: REALTIME } })
  const { value } = made.json() as Made
  t.equal(await status(t, gateway, value), 101)
  t.equal(await status(t, gateway, value, '/v1/realtime?model=other'), 404)
  t.equal((await admin('DELETE', '/admin/keys/ann')).status, 200)
  t.equal(await status(t, gateway, value), 401)
})

t.test(
  'a secret that a token has had made opens sessions in the name of its holder, up to the end of the token',
  async t => {
    const [issuer, up] = [await startIssuer(t), await startSocketUpstream(t)]
    const yamlOf = (provider: string): string => `${yamlFor(up.origin)}identity:
  providers:
    ${provider}: { issuer: "${issuer.origin}", audience: gateway, allow: [127.0.0.1], caller: { models: [m] } }
`
    const gateway = await startTestGateway(t, await onStore(t, yamlOf('company')), { env: { BOB_KEY: BOB } })
    const until = Math.floor(Date.now() / 1000) + 300
    const token = await issuer.sign({ sub: 'ada', exp: until })
    const { json, status: made } = await gateway.request(PATH, { key: token, body: { session: REALTIME } })
    t.equal(made, 200)
    const { value, expires_at } = json() as Made
    t.ok(expires_at <= until + 60 && expires_at < until + 299, 'the end of the token, with its clock skew')
    t.equal(await status(t, gateway, value), 101)
    t.equal(await status(t, gateway, value, '/v1/realtime?model=other'), 404, 'for its model alone')
    const others = await gateway.request(PATH, { key: token, body: { session: { type: 'realtime', model: 'other' } } })
    t.equal(others.status, 404, 'for models that its holder may use')

    await gateway.write('gateway.yaml', await onStore(t, yamlOf('renamed')))
    await gateway.gateway.reload()
    t.equal(await status(t, gateway, value), 401, 'its provider is gone')
  },
)
