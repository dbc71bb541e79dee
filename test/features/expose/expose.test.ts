import t, { type Test } from 'tap'
import { ADMIN_SECRET, adminLine, adminOf } from '../../helpers/admin.js'
import { CHAT_ANSWER, chatEvent, DONE, hang, json, stream } from '../../helpers/answers.js'
import { proveNoLeak } from '../../helpers/canaries.js'
import { relaysAnything } from '../../helpers/emitted.js'
import { formOf, sending } from '../../helpers/forms.js'
import { CALLER, CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../../helpers/gateway.js'
import type { Answer } from '../../helpers/raw-client.js'
import { type RawUpstream, type Script, startRawUpstream } from '../../helpers/raw-upstream.js'
import { ask, startRealtime } from '../../helpers/realtime.js'
import { compatible, filmYaml, startTaskUpstream } from '../../helpers/task-upstream.js'

// Events of these streams are cut short.
relaysAnything()

const ALL = 'expose: [upstream, model, attempts, cost, timing, generation]\n'
const NAMES = ['upstream', 'model', 'attempts', 'cost', 'generation'].map(word => `x-gateway-${word}`)
const PRICES = 'prices: { a/real: { input: 1.00, output: 10.00 }, b/other: { input: 2.00, output: 20.00 } }\n'
const REFUSES = json({ error: { message: 'no' } }, { status: 503 })
const STREAM = stream([chatEvent('hello'), DONE])

interface Stage {
  readonly gateway: TestGateway
  readonly a: RawUpstream
  readonly b: RawUpstream
}

async function stage(t: Test, more: string, keys = CALLER, targets = ''): Promise<Stage> {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const speaks = (origin: string): string => upstreamYaml(origin).replace(', responses: POST /v1/responses', '')
  const yaml = `version: 1
${keys}
store: { type: memory }
upstreams:
  a: ${speaks(a.origin)}
  b: ${speaks(b.origin)}
models:
  m: { targets: [{ upstream: a, as: real }, { upstream: b, as: other }]${targets} }
  "*": a
${more}`
  return { a, b, gateway: await startTestGateway(t, yaml) }
}

/** By name: what an answer says of who answered, without its times. */
function said(answer: Pick<Answer, 'header'>): Readonly<Record<string, string | undefined>> {
  const found = NAMES.flatMap(name => {
    const value = answer.header(name)
    return value === undefined ? [] : [[name.slice('x-gateway-'.length), value]]
  })
  return Object.fromEntries(found)
}

/** The metrics of `server-timing`, milliseconds. */
function timing(header: string | undefined): ReadonlyMap<string, number> {
  const metrics = (header ?? '').split(', ').map(one => /^(\w+);dur=(\d+(?:\.\d{1,2})?)$/.exec(one))
  return new Map(metrics.map(match => [match?.[1] ?? '', Number(match?.[2])]))
}

const METRICS = ['own', 'queue', 'connect', 'first_byte']

t.test('nothing is said unless the file or a key asks for it', async t => {
  const { gateway } = await stage(t, 'admin: { port: 0, secret: { env: X_ABSENT } }\n')
  const answer = await gateway.chat()
  t.same(said(answer), {})
  t.equal(answer.header('server-timing'), undefined)
})

t.test(
  'a relayed answer says which upstream gave it, at which attempt, for how much, and how long that took',
  async t => {
    const { gateway, a } = await stage(t, ALL + PRICES)
    const answer = await gateway.chat()
    t.same(said(answer), { upstream: 'a', model: 'real', attempts: '1', cost: '0.000013', generation: '1' })
    t.same([...timing(answer.header('server-timing')).keys()], METRICS)
    a.answer(REFUSES)
    const second = await gateway.chat()
    t.match(said(second), { upstream: 'b', model: 'other', attempts: '2', cost: '0.000026' })
    t.match((await gateway.chat({ model: 'free' })).header('x-gateway-upstream') ?? '', /^a$/)
  },
)

t.test('times are those of the attempt that answered, and no more than the whole', async t => {
  const { gateway, a } = await stage(t, 'expose: [timing]\n')
  let release = (): void => undefined
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const slow: Script = async peer => {
    await held
    await json(CHAT_ANSWER)(peer)
  }
  a.answer(slow)
  const asked = performance.now()
  const waiting = gateway.chat()
  await a.requests.count(1)
  const from = performance.now()
  // The upstream is silent for a while that is measured here, however long the machine makes it.
  while (performance.now() - from < 30) await new Promise(setImmediate)
  const silent = performance.now() - from
  release()
  const metrics = timing((await waiting).header('server-timing'))
  const whole = performance.now() - asked
  t.ok((metrics.get('first_byte') ?? 0) >= Math.floor(silent) - 1, `${metrics.get('first_byte')} of ${silent}`)
  const sum = METRICS.reduce((total, name) => total + (metrics.get(name) ?? Number.NaN), 0)
  t.ok(sum <= whole + 1, `${sum} of ${whole}`)
})

t.test('the head of a stream leaves before its cost is known, a translated answer has all of it', async t => {
  const { gateway, a } = await stage(t, ALL + PRICES)
  a.answer(STREAM, json(CHAT_ANSWER), STREAM)
  const streamed = await gateway.chat({ stream: true })
  t.same(said(streamed), { upstream: 'a', model: 'real', attempts: '1', generation: '1' })
  t.same([...timing(streamed.header('server-timing')).keys()], METRICS)
  const messages = { ...CHAT, max_tokens: 5 }
  const translated = await gateway.request('/v1/messages', { body: messages })
  t.equal(translated.status, 200)
  t.match(said(translated), { upstream: 'a', model: 'real', attempts: '1', cost: '0.000013' })
  const both = await gateway.request('/v1/messages', { body: { ...messages, stream: true } })
  t.same(said(both), { upstream: 'a', model: 'real', attempts: '1', generation: '1' })
})

t.test('an answer that is passed on as it arrives has no cost, beyond 16 KiB', async t => {
  const { gateway, a } = await stage(t, ALL + PRICES)
  for (const [length, cost] of [
    [100, '0.000013'],
    [20_000, undefined],
  ] as const) {
    a.answer(json({ ...CHAT_ANSWER, padding: 'x'.repeat(length) }))
    t.equal(said(await gateway.chat()).cost, cost, `${length}`)
  }
})

t.test('a form, and a file that is made, say it too', async t => {
  const { gateway, a } = await stage(t, ALL)
  a.answer(json({ text: 'hello' }))
  const file = formOf(['model', 'm'], ['file', Buffer.from('sound'), 'audio/wav'])
  const answer = await gateway.request('/v1/audio/transcriptions', sending(file))
  t.equal(answer.status, 200)
  t.match(said(answer), { upstream: 'a', model: 'real', attempts: '1', generation: '1' })
  t.same([...timing(answer.header('server-timing')).keys()], METRICS)
})

t.test('refused requests say what is known: nothing was asked, or who refused', async t => {
  const { gateway, a, b } = await stage(t, `${ALL}${PRICES}retry: { attempts: 2, max_wait: 1ms }\n`)
  const stranger = await gateway.request('/v1/chat/completions', { body: CHAT, key: 'no-such-key-0123456789' })
  t.equal(stranger.status, 401)
  t.same(said(stranger), { attempts: '0', cost: '0', generation: '1' })
  t.same([...timing(stranger.header('server-timing')).keys()], ['own'])
  t.same(said(await gateway.request('/nowhere', { method: 'GET' })), { attempts: '0', cost: '0', generation: '1' })
  a.answer(json({ error: { message: 'bad words' } }, { status: 400 }))
  const refused = await gateway.chat()
  t.equal(refused.status, 400)
  t.match(said(refused), { upstream: 'a', model: 'real', attempts: '1', cost: '0' })
  for (const one of [a, b]) one.answer(REFUSES)
  const failed = await gateway.chat()
  t.ok(failed.status >= 500)
  t.match(said(failed), { upstream: 'b', attempts: '2' })
})

t.test('a hedge that wins is who answered', async t => {
  const { gateway, a } = await stage(t, ALL, CALLER, ', hedge: { after: 1ms }')
  a.answer(hang)
  for (const body of [{}, { stream: true }]) {
    const answer = await gateway.chat(body)
    t.match(said(answer), { upstream: 'b', model: 'other', attempts: '2' })
  }
})

t.test('the list of a key is in place of the one of the file', async t => {
  const keys = `keys:
  caller: { secret: { env: CALLER_KEY }, expose: [model] }
  quiet: { secret: { env: QUIET_KEY }, expose: [] }
  plain: { secret: { env: PLAIN_KEY } }`
  const [a, quiet, plain] = [await startRawUpstream(t), 'the-quiet-key-0123456789', 'the-plain-key-0123456789']
  a.answer(json(CHAT_ANSWER))
  const yaml = `version: 1\n${keys}\nupstreams: { a: ${upstreamYaml(a.origin)} }\nmodels: { m: a }\nexpose: [upstream]\n`
  const env = { QUIET_KEY: quiet, PLAIN_KEY: plain }
  const gateway = await startTestGateway(t, yaml, { env })
  t.same(said(await gateway.chat()), { model: 'm' })
  t.same(said(await gateway.chat({}, { key: quiet })), {})
  t.same(said(await gateway.chat({}, { key: plain })), { upstream: 'a' })
})

t.test('a key of the store has a list of its own', async t => {
  const { line, origin } = await adminLine()
  const a = await startRawUpstream(t)
  a.answer(json(CHAT_ANSWER))
  const yaml = `version: 1\n${CALLER}\n${line}\nupstreams: { a: ${upstreamYaml(a.origin)} }\nmodels: { m: a }\n`
  const gateway = await startTestGateway(t, yaml, { env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET } })
  const admin = adminOf(t, origin)
  const made = await admin('POST', '/admin/keys', { name: 'team', expose: ['upstream', 'attempts'] })
  t.equal(made.status, 201, made.text)
  const { secret } = made.json()
  t.same(said(await gateway.chat({}, { key: secret })), { upstream: 'a', attempts: '1' })
  const wrong = await admin('POST', '/admin/keys', { name: 'other', expose: ['cost', 'secrets'] })
  t.equal(wrong.status, 400)
  t.match(wrong.text, /expose/)
})

t.test('the handshake of a WebSocket says it, with 101', async t => {
  const realtime = await startRealtime(t, ALL)
  const { status, head } = await ask(t, realtime.gateway)
  t.equal(status, 101)
  t.match(head, /\r\nx-gateway-upstream: up\r\n/)
  t.match(head, /\r\nx-gateway-model: real-m\r\n/)
  t.match(head, /\r\nx-gateway-attempts: 1\r\n/)
  t.match(head, /\r\nserver-timing: own;dur=[\d.]+, queue;dur=0, connect;dur=[\d.]+, first_byte;dur=[\d.]+(\r\n|$)/)
})

t.test('a task says who began it; what it costs is not known yet', async t => {
  const yaml = `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams: { sim: { kind: simulator } }
models: { "sim-*": sim }\nprices: { "sim/sim-video": { image: 1.00 } }\n${ALL}`
  const gateway = await startTestGateway(t, yaml)
  const made = await gateway.request('/v1/videos', { body: { model: 'sim-video', prompt: 'the sea' } })
  t.equal(made.status, 200, made.text)
  t.match(said(made), { upstream: 'sim', model: 'sim-video', attempts: '1', generation: '1' })
  t.equal(made.header('x-gateway-cost'), undefined)
  const { id } = made.json() as { readonly id: string }
  const polled = await gateway.request(`/v1/videos/${id}`, { method: 'GET' })
  t.match(said(polled), { attempts: '0' })
})

t.test('a download says who sent it, at which try, and its own time is without that of the upstream', async t => {
  const script = compatible({ status: 'completed', progress: 100 })
  const up = await startTaskUpstream(t, script)
  const gateway = await startTestGateway(
    t,
    filmYaml(up.origin, 'poll: { every: 20ms }', 'expose: [upstream, attempts, timing]\n'),
  )
  const made = await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'the sea' } })
  const { id } = made.json() as { readonly id: string }
  while (!(await gateway.request(`/v1/videos/${id}`, { method: 'GET' })).text.includes('"status":"completed"'));
  let silent = 0
  up.script = async (request, upstream) => {
    if (silent > 0) return script(request, upstream)
    const from = performance.now()
    while (performance.now() - from < 30) await new Promise(setImmediate)
    silent = performance.now() - from
    return { status: 503 }
  }
  const asked = performance.now()
  const answer = await gateway.request(`/v1/videos/${id}/content`, { method: 'GET' })
  const whole = performance.now() - asked
  t.equal(answer.status, 200)
  t.same(said(answer), { upstream: 'up', attempts: '2' })
  const own = timing(answer.header('server-timing')).get('own') ?? Number.NaN
  t.ok(own <= whole - silent + 1, `${own} of ${whole}, of which ${silent} are the upstream's`)
})

t.test("the client's own name for a model cannot break its header", async t => {
  const { gateway } = await stage(t, 'expose: [model]\n')
  for (const [model, status, shown] of [
    ['é-model', 200, '%C3%A9-model'],
    ['模型', 200, '%E6%A8%A1%E5%9E%8B'],
    ['a\r\nset-cookie: x=1', 404, undefined],
    ['\ud800', 404, undefined],
  ] as const) {
    const answer = await gateway.chat({ model })
    t.equal(answer.status, status, `${JSON.stringify(model)}: ${answer.text}`)
    t.equal(answer.header('x-gateway-model'), shown)
    t.equal(answer.header('set-cookie'), undefined)
  }
  t.equal((await gateway.chat({ model: 'x'.repeat(200) })).header('x-gateway-model'), 'x'.repeat(200))
})

t.test('pages of other origins may read these headers', async t => {
  const { gateway } = await stage(
    t,
    'listen: { cors: { origins: ["https://app.example"] } }\nexpose: [upstream, timing]\n',
  )
  const answer = await gateway.chat({}, { headers: { origin: 'https://app.example' } })
  const exposed = answer.header('access-control-expose-headers')?.split(', ') ?? []
  t.ok(exposed.includes('x-gateway-upstream') && exposed.includes('server-timing'), exposed.join(' '))
  t.notOk(exposed.includes('x-gateway-cost'))
})

t.test('what an upstream says under these names is replaced; its own times stay', async t => {
  const a = await startRawUpstream(t)
  a.answer(json(CHAT_ANSWER, { headers: { 'x-gateway-upstream': 'forged', 'server-timing': 'db;dur=1' } }))
  const forward = 'forward: { response: ["x-gateway-*", server-timing] }'
  const yaml = `version: 1\n${CALLER}\nupstreams: { a: ${upstreamYaml(a.origin, forward)} }\nmodels: { m: a }\n`
  const silent = await startTestGateway(t, yaml)
  t.equal((await silent.chat()).header('x-gateway-upstream'), 'forged', 'it is declared to pass')
  const gateway = await startTestGateway(t, `${yaml}expose: [upstream, timing]\n`)
  const answer = await gateway.chat()
  t.equal(answer.header('x-gateway-upstream'), 'a')
  t.match(answer.header('server-timing'), /db;dur=1/)
  t.match(answer.header('server-timing'), /own;dur=/)
})

proveNoLeak(t)
