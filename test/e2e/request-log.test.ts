import t from 'tap'
import { body, CHAT_ANSWER, chatEvent, json, stream } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import {
  CALLER,
  type LogLine,
  oneUpstream,
  startTestGateway,
  type TestGateway,
  upstreamYaml,
} from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** The line of the last request of so many. */
async function requestLine(gateway: TestGateway, count = 1): Promise<LogLine> {
  const lines = await gateway.log.count(count, line => line.msg === 'request')
  return lines.at(-1) ?? {}
}

/** `m` on the upstream `up`, and `dark` on one that is off. */
function withDarkModel(origin: string, more = ''): string {
  const dark = upstreamYaml('http://127.0.0.1:9').replace('UPSTREAM_KEY', 'DARK_KEY')
  const upstreams = `upstreams:\n  up: ${upstreamYaml(origin)}\n  dark: ${dark}\n`
  return `version: 1\n${CALLER}\n${upstreams}models: { m: up, dark: dark, "dark-*": dark, both: [dark, up] }\n${more}`
}

t.test('the log says at the start and at each request why a model is off, and so does /readyz?verbose', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(t, withDarkModel(up.origin))
  const why = 'the upstream dark is off: DARK_KEY is not set'
  const off = { upstreams: { dark: 'DARK_KEY is not set' }, models: { dark: why, 'dark-*': why } }
  const start = await gateway.log.find(line => line.msg === 'upstreams are off')
  t.match(start, { level: 'warn', ...off })
  t.equal((await gateway.chat({ model: 'dark' })).status, 404)
  t.match(await requestLine(gateway), { model: 'dark', error: 'model_not_found', cause: why })
  t.equal((await gateway.request('/v1/models/dark-1')).status, 404)
  t.match(await requestLine(gateway, 2), { model: 'dark-1', cause: why })
  t.equal((await gateway.chat({ model: 'nowhere' })).status, 404)
  t.match(await requestLine(gateway, 3), { cause: 'no model has this name' })
  const verbose = (await gateway.request('/readyz?verbose')).json() as { off: unknown }
  t.same(verbose.off, off)
  const { request } = await import('../helpers/raw-client.js')
  t.notMatch((await request(t, gateway.origin, '/readyz?verbose')).text, 'dark', 'only with a key')
})

t.test('a key is told of no model that it may not use', async t => {
  const up = await startRawUpstream(t)
  const yaml = withDarkModel(up.origin).replace('models: ["*"]', 'models: [m]')
  const gateway = await startTestGateway(t, yaml)
  const verbose = (await gateway.request('/readyz?verbose')).json() as { off: { models: unknown } }
  t.same(verbose.off.models, {})
})

t.test('the line of a refused request has the field, the rule and the model', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  const long = 'x'.repeat(100_000)
  const cases = [
    [{ messages: 'none' }, { param: 'messages', rule: 'type', model: 'm' }],
    [{ temperature: 9 }, { param: 'temperature', rule: 'range', model: 'm' }],
    [
      { messages: [{ role: 'user', content: long }], temperature: 9 },
      { param: 'temperature', model: 'm' },
    ],
    [{ stream: 'maybe' }, { param: 'stream', rule: 'type', model: 'm' }],
    [{ model: undefined }, { param: 'model', rule: 'required', model: undefined }],
  ] as const
  for (const [index, [change, expected]] of cases.entries()) {
    t.equal((await gateway.chat(change)).status, 400)
    t.match(await requestLine(gateway, index + 1), { status: 400, error: 'invalid_parameter', ...expected })
  }
  const twice = '{"model":"m","model":"m","messages":[]}'
  t.equal((await gateway.request('/v1/chat/completions', { body: twice })).status, 400)
  t.match(await requestLine(gateway, cases.length + 1), { param: 'model', rule: 'duplicate' })
  t.equal((await gateway.request('/v1/chat/completions', { body: '{"model":' })).status, 400)
  t.match(await requestLine(gateway, cases.length + 2), { rule: 'syntax' })
})

t.test('the line of a request has its address; what x-forwarded-for says only behind trusted proxies', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const headers = (value: string): object => ({ headers: { 'x-forwarded-for': value } })
  const open = await startTestGateway(t, oneUpstream(up.origin))
  await open.chat({}, headers('203.0.113.9'))
  t.equal((await requestLine(open)).client, '127.0.0.1', 'no one is trusted')
  const trusting = 'listen: { trusted_proxies: [127.0.0.1, "10.0.0.0/8", "fd00::/8"] }\n'
  const gateway = await startTestGateway(t, oneUpstream(up.origin, trusting))
  const seen = [
    ['203.0.113.9', '203.0.113.9'],
    ['192.0.2.1, 203.0.113.9, 10.1.2.3', '203.0.113.9'],
    ['203.0.113.9:4711', '203.0.113.9'],
    ['"[2001:db8::7]:4711"', '127.0.0.1'],
    ['[2001:db8::7]:4711, fd00::1', '2001:db8::7'],
    ['198.51.100.1, nonsense', '127.0.0.1'],
    ['10.0.0.1, 10.0.0.2', '10.0.0.1'],
  ] as const
  for (const [index, [value, client]] of seen.entries()) {
    await gateway.chat({}, headers(value))
    t.equal((await requestLine(gateway, index + 1)).client, client, value)
  }
})

t.test('a background response has the address of the request that asked for it', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(
    t,
    oneUpstream(up.origin, 'store: { type: memory }\n').replace(', responses: POST /v1/responses', ''),
  )
  const asked = { body: { model: 'm', input: 'hello', background: true } }
  t.equal((await gateway.request('/v1/responses', asked)).status, 200)
  const lines = await gateway.log.count(2, line => line.msg === 'request')
  t.same(
    lines.map(line => line.client),
    ['127.0.0.1', '127.0.0.1'],
  )
})

t.test('a network that is not one is refused with its place', async t => {
  const yaml = oneUpstream('http://127.0.0.1:9', 'listen: { trusted_proxies: [10.0.0.0/40] }\n')
  const error = await startTestGateway(t, yaml).catch((cause: unknown) => cause)
  const problem = { path: 'listen.trusted_proxies[0]', message: /an address or a network/, position: { line: 6 } }
  t.match(error, { problems: [problem] })
})

const QUOTA = { error: { message: 'You exceeded your quota.', type: 'insufficient_quota', code: 'insufficient_quota' } }

t.test('what an upstream says of its error is in the log', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  const page = body('<html><head></head><body><h1>Bad\n gateway</h1></body></html>', {
    status: 502,
    headers: { 'content-type': 'text/html' },
  })
  const failed = `data: ${JSON.stringify({ error: { message: 'out of memory' } })}\n\n`
  const answers = [
    [json(QUOTA, { status: 429 }), false, 'upstream status 429: insufficient_quota: You exceeded your quota.'],
    [json({ detail: [{ msg: 'no such field' }] }, { status: 422 }), false, 'upstream status 422: no such field'],
    [page, false, 'upstream status 502: Bad gateway'],
    [json({ error: 'overloaded' }), false, 'upstream status 502: overloaded'],
    [json({}, { status: 401 }), false, 'upstream status 401: {}'],
    [stream([failed]), true, 'out of memory'],
    [stream([chatEvent('a'), failed]), true, 'out of memory'],
  ] as const
  for (const [index, [answer, streams, cause]] of answers.entries()) {
    up.answer(answer)
    await gateway.chat({ stream: streams })
    t.equal((await requestLine(gateway, index + 1)).cause, cause)
  }
})

t.test('so it is where another upstream answered, and where the answer was translated', async t => {
  const first = await startRawUpstream(t)
  const second = await startRawUpstream(t, { host: '127.0.0.2' })
  first.answer(json(QUOTA, { status: 429 }))
  second.answer(json(CHAT_ANSWER))
  const upstreams = `upstreams:\n  first: ${upstreamYaml(first.origin)}\n  second: ${upstreamYaml(second.origin)}\n`
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}models: { m: [first, second] }\n`)
  t.equal((await gateway.chat()).status, 200)
  const attempts = [
    { upstream: 'first', status: 429, cause: /insufficient_quota: You exceeded/ },
    { upstream: 'second' },
  ]
  t.match(await requestLine(gateway), { outcome: 'ok', attempts, cause: undefined })
  const message = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] }
  second.answer(json(QUOTA, { status: 400 }))
  t.equal((await gateway.request('/v1/messages', { body: message })).status, 400)
  const cause = 'upstream status 400: insufficient_quota: You exceeded your quota.'
  t.match(await requestLine(gateway, 2), { cause, attempts: [{ upstream: 'first' }, { upstream: 'second', cause }] })
})

t.test('it is one line of bounded length, without the credential or a part of it', async t => {
  const up = await startRawUpstream(t)
  const secret = canary('upstream')
  const gateway = await startTestGateway(t, oneUpstream(up.origin), { env: { UPSTREAM_KEY: secret } })
  const quoted = `Incorrect API key: ${secret.slice(0, 14)}****${secret.slice(-9)},\n or ${secret}. ${'long '.repeat(500)}`
  up.answer(json({ error: { message: quoted } }, { status: 401 }))
  t.equal((await gateway.chat()).status, 502)
  const cause = String((await requestLine(gateway)).cause)
  t.match(cause, 'upstream status 401: Incorrect API key: [hidden]****[hidden], or [hidden]. long')
  t.notMatch(cause, secret.slice(-8))
  t.ok(cause.length < 600)
})

t.test(
  'a task that an upstream did not take is reported without the credential, to the client and in the log',
  async t => {
    const up = await startRawUpstream(t)
    const secret = canary('upstream')
    const upstream = `{ kind: openai, base: "${up.origin}", secret: { env: UPSTREAM_KEY } }`
    const yaml = `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams: { up: ${upstream} }\nmodels: { film: up }\n`
    const gateway = await startTestGateway(t, yaml, { env: { UPSTREAM_KEY: secret } })
    up.answer(json({ error: { message: `the key ${secret} may not make films`, code: 'no_films' } }))
    const answer = await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'a cat' } })
    t.notMatch(answer.text, secret)
    t.match(await requestLine(gateway), { cause: /the key \[hidden\] may not make films/ })
  },
)

proveNoLeak(t)
