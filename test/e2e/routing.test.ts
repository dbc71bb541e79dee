import t from 'tap'
import { body, CHAT_ANSWER, json, reset } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { CALLER, CHAT, oneUpstream, startTestGateway, upstreamYaml } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

// Bodies go through as they are, with what no document knows.
relaysAnything()

const two = (a: string, b: string, models: string): string =>
  `version: 1\n${CALLER}\nupstreams:\n  a: ${upstreamYaml(a)}\n  b: ${upstreamYaml(b)}\nmodels:\n  ${models}\n`

const phases = (line: Readonly<Record<string, unknown>>): string =>
  (line.attempts as { upstream: string; phase: string }[]).map(one => `${one.upstream}:${one.phase}`).join(' ')

t.test('a target that fails before the first byte is followed by the next one', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(json({ error: { message: 'overloaded' } }, { status: 503 }))
  b.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, two(a.origin, b.origin, 'm: [a, b]'))
  t.equal((await gateway.chat()).status, 200)
  const line = await gateway.log.find(one => one.msg === 'request')
  t.equal(phases(line), 'a:status b:ok')
  t.equal(line.upstream, 'b')
})

t.test('a refusal of the request is not tried elsewhere', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(json({ error: { message: 'bad field' } }, { status: 400 }))
  const gateway = await startTestGateway(t, two(a.origin, b.origin, 'm: [a, b]'))
  const answer = await gateway.chat()
  t.equal(answer.status, 400)
  t.equal(answer.text, '{"error":{"message":"bad field"}}', 'the upstream’s own words pass')
  t.equal(b.requests.items.length, 0)
})

t.test('a model may say how often it is tried and on what', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(json({ error: { message: 'overloaded' } }, { status: 503 }))
  b.answer(json(CHAT_ANSWER))
  const models = `once: { targets: [a, b], retry: { attempts: 1 } }\n  other: { targets: [a, b], retry: { on: [429] } }`
  const gateway = await startTestGateway(t, two(a.origin, b.origin, models))
  t.equal((await gateway.chat({ model: 'once' })).status, 503)
  t.equal((await gateway.chat({ model: 'other' })).status, 503)
  t.equal(b.requests.items.length, 0)
})

t.test('a connection that breaks before any byte repeats its only target once', async t => {
  const up = await startRawUpstream(t)
  up.answer(reset, json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  t.equal((await gateway.chat()).status, 200)
  t.equal(up.requests.items.length, 2)
})

t.test('neighbours with weights share the requests, and fall back on each other', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(json({ error: { message: 'overloaded' } }, { status: 503 }))
  b.answer(json(CHAT_ANSWER))
  const models = 'm: [{ upstream: a, weight: 1 }, { upstream: b, weight: 1 }]'
  const gateway = await startTestGateway(t, two(a.origin, b.origin, models))
  for (let call = 0; call < 40; call++) t.equal((await gateway.chat()).status, 200)
  t.equal(b.requests.items.length, 40)
  const tried = a.requests.items.length
  t.ok(tried > 0 && tried < 40, `a was drawn first ${tried} times of 40`)
})

t.test('a glob serves every name that it matches, under the name that the target makes of it', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${upstreamYaml(up.origin)} }\nmodels: { "x/*": { upstream: up, as: "vendor-*" } }\n`
  const gateway = await startTestGateway(t, yaml)
  t.equal((await gateway.chat({ model: 'x/large' })).status, 200)
  t.match(up.requests.items[0]?.json(), { model: 'vendor-large' })
  t.equal((await gateway.chat({ model: 'y/large' })).status, 404)
})

t.test('only the model’s name changes in the request; every other byte goes out unchanged', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${upstreamYaml(up.origin)} }\nmodels: { m: { upstream: up, as: n-2 } }\n`
  const gateway = await startTestGateway(t, yaml)
  const sent = `{ "seed" : 12345678901234567890 ,\n\t"model":"m", "x":1.0, "é":"\\u00e9", "messages":[{"role":"user","content":"a \\"b\\""}] }`
  t.equal((await gateway.request('/v1/chat/completions', { body: sent })).status, 200)
  t.equal(up.requests.items[0]?.body.toString(), sent.replace('"m"', '"n-2"'))
})

t.test('declared transforms rewrite the request and the answer, and nothing else', async t => {
  const up = await startRawUpstream(t)
  up.answer(body('{"id":"x","usage":{"prompt_tokens":1.0},"secret_field":1}'))
  const yaml = `version: 1
${CALLER}
upstreams: { up: ${upstreamYaml(up.origin)} }
models:
  o-large:
    targets: [up]
    request:
      - rename: { max_tokens: max_completion_tokens }
      - remove: [temperature]
      - default: { reasoning_effort: medium }
    response:
      - remove: [secret_field]
`
  const gateway = await startTestGateway(t, yaml)
  const messages = '"messages":[{"role":"user","content":"hi"}]'
  const answer = await gateway.request('/v1/chat/completions', {
    body: `{"model":"o-large","max_tokens":7,"temperature":0.5,${messages}}`,
  })
  t.equal(
    up.requests.items[0]?.body.toString(),
    `{"model":"o-large","max_completion_tokens":7,${messages},"reasoning_effort":"medium"}`,
  )
  t.equal(answer.text, '{"id":"x","usage":{"prompt_tokens":1.0}}')
  t.equal(answer.header('content-length'), String(answer.body.length))
})

t.test('request headers pass by an allow-list; the caller’s credentials never do', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(up.origin, '', 'forward: { request: [x-beta-*] }'))
  await gateway.chat(
    {},
    {
      headers: {
        cookie: 'session=1',
        'x-api-key': 'something-else',
        'proxy-authorization': 'Basic eA==',
        'x-forwarded-for': '10.0.0.1',
        'idempotency-key': 'again-1',
        'x-beta-feature': 'on',
      },
    },
  )
  const [received] = up.requests.items
  for (const name of ['cookie', 'x-api-key', 'proxy-authorization', 'x-forwarded-for']) {
    t.equal(received?.header(name), undefined, `${name} stays here`)
  }
  t.equal(received?.header('idempotency-key'), 'again-1')
  t.equal(received?.header('x-beta-feature'), 'on')
  t.equal(received?.header('accept-encoding'), 'identity')
  t.not(received?.header('authorization'), `Bearer ${gateway.key}`)
})

t.test('a header that the gateway sets itself is a default where it is forwarded by its full name', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const given = { headers: { 'user-agent': 'a-client/1.0', 'accept-encoding': 'br' } }
  const seen = async (forward: string, more: object = given): Promise<readonly unknown[]> => {
    const gateway = await startTestGateway(t, oneUpstream(up.origin, '', `forward: { request: [${forward}] }`))
    await gateway.chat({}, more)
    return [up.last.header('user-agent'), up.last.header('accept-encoding')]
  }
  t.same(await seen('user-agent'), ['a-client/1.0', 'identity'])
  t.same(await seen('accept-encoding'), ['model-gateway', 'br'])
  t.same(await seen('user-agent', {}), ['model-gateway', 'identity'])
  t.same(await seen('"*"'), ['model-gateway', 'identity'])
})

t.test('response headers pass by an allow-list', async t => {
  const up = await startRawUpstream(t)
  const headers = { 'set-cookie': 'a=1', server: 'x', 'x-ratelimit-limit-requests': '9', 'x-internal': '1' }
  up.answer(json(CHAT_ANSWER, { headers }))
  const gateway = await startTestGateway(t, oneUpstream(up.origin, '', 'forward: { response: [x-ratelimit-*] }'))
  const answer = await gateway.chat()
  t.equal(answer.header('x-ratelimit-limit-requests'), '9')
  for (const name of ['set-cookie', 'server', 'x-internal']) t.equal(answer.header(name), undefined)
})

t.test('a request id is taken from the client where it is harmless, and made where it is not', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  const given = await gateway.chat({}, { headers: { 'x-request-id': 'abc-123' } })
  t.equal(given.header('x-request-id'), 'abc-123')
  t.equal(up.requests.items[0]?.header('x-request-id'), 'abc-123')
  const odd = await gateway.chat({}, { headers: { 'x-request-id': 'a b"<script>' } })
  t.match(odd.header('x-request-id'), /^[\da-f-]{36}$/)
})

t.test('declared query parameters of the client pass, but not over those that the upstream’s call sets', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const yaml = `version: 1
${CALLER}
upstreams:
  up:
    base: "${up.origin}/base"
    speaks: { chat: "POST /chat?api-version=1" }
    members: { ?api-version: pass, ?beta: pass }
models: { m: up }
`
  const gateway = await startTestGateway(t, yaml)
  await gateway.request('/v1/chat/completions?api-version=2&beta=true&other=1', { body: CHAT })
  t.equal(up.requests.items[0]?.target, '/base/chat?api-version=1&beta=true')
})

t.test('a route that a user adds in YAML relays JSON and binary answers', async t => {
  const up = await startRawUpstream(t)
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  up.answer(json({ text: 'read' }), body(bytes, { headers: { 'content-type': 'application/octet-stream' } }))
  const yaml = `version: 1
${CALLER}
upstreams:
  up: { base: "${up.origin}", speaks: { ocr: POST /ocr, raw: "POST /raw/{name}" } }
models: { m: up }
routes:
  POST /v1/ocr: { protocol: ocr, model: body.model }
  POST /v1/raw/{name}: { protocol: raw, upstream: up }
`
  const gateway = await startTestGateway(t, yaml)
  t.strictSame((await gateway.request('/v1/ocr', { body: { model: 'm', image: 'x' } })).json(), { text: 'read' })
  const answer = await gateway.request('/v1/raw/a%20b', { body: bytes, headers: { 'content-type': 'image/png' } })
  t.strictSame(answer.body, bytes)
  const received = up.requests.items[1]
  t.equal(received?.target, '/raw/a%20b')
  t.strictSame(received?.body, bytes)
  t.equal(received?.header('content-type'), 'image/png')
})

t.test('an owned path answers 405 on other methods, but only to those who have a key', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  const answer = await gateway.request('/v1/chat/completions', { method: 'DELETE' })
  t.equal(answer.status, 405)
  t.equal(answer.header('allow'), 'GET, POST')
  t.match(answer.json(), { error: { code: 'method_not_supported' } })
  const { request } = await import('../helpers/raw-client.js')
  t.equal((await request(t, gateway.origin, '/v1/chat/completions', { method: 'DELETE' })).status, 401)
  t.equal((await request(t, gateway.origin, '/v1/nothing')).status, 401)
  t.equal((await gateway.request('/v1/nothing')).status, 404)
})

t.test('browser origins are let in by name, and their preflights are answered', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(
    t,
    oneUpstream(up.origin, 'listen: { cors: { origins: ["https://app.example"] } }\n'),
  )
  const preflight = await gateway.request('/v1/chat/completions', {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
  })
  t.equal(preflight.status, 204)
  t.equal(preflight.header('access-control-allow-origin'), 'https://app.example')
  t.equal(preflight.header('access-control-allow-methods'), 'GET, POST')
  const answer = await gateway.chat({}, { headers: { origin: 'https://app.example' } })
  t.equal(answer.header('access-control-allow-origin'), 'https://app.example')
  const stranger = await gateway.chat({}, { headers: { origin: 'https://other.example' } })
  t.equal(stranger.header('access-control-allow-origin'), undefined)
})

t.test('the models list holds what the key may use and some upstream serves, in full shape', async t => {
  const up = await startRawUpstream(t)
  const yaml = `version: 1
keys:
  some: { secret: { env: CALLER_KEY }, models: [fast, "open-*", named-by-glob] }
upstreams:
  up: ${upstreamYaml(up.origin)}
  off: { base: "${up.origin}", disabled: true, speaks: { chat: POST /v1/chat/completions } }
models:
  fast: { targets: [up], owner: us, created: 1700000000 }
  open-1: up
  open-2: off
  hidden: up
  "named-*": up
`
  const gateway = await startTestGateway(t, yaml)
  const list = (await gateway.request('/v1/models')).json() as { object: string; data: { id: string }[] }
  t.equal(list.object, 'list')
  t.strictSame(list.data.map(one => one.id).sort(), ['fast', 'named-by-glob', 'open-1'])
  t.strictSame(
    list.data.find(one => one.id === 'fast'),
    {
      id: 'fast',
      object: 'model',
      created: 1700000000,
      owned_by: 'us',
    },
  )
  t.match((await gateway.request('/v1/models/open-1')).json(), { id: 'open-1', object: 'model' })
  const [hidden, unknown] = [await gateway.request('/v1/models/hidden'), await gateway.request('/v1/models/nosuch')]
  t.equal(hidden.status, 404)
  t.equal(hidden.text.replace('hidden', 'nosuch'), unknown.text, 'forbidden and unknown answer alike')
})

proveNoLeak(t)
