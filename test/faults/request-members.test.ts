import t, { type Test } from 'tap'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { relaysAnything } from '../helpers/emitted.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, type Part, sending } from '../helpers/forms.js'
import { CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { startTaskUpstream } from '../helpers/task-upstream.js'

// Beside the model, requests may name further models, and say who is to serve them, where, and with which credential.

// Members of aggregators are not documented.
relaysAnything()

const PATH = '/v1/chat/completions'
const KEYS = `keys:
  all: { secret: { env: CALLER_KEY }, models: ["*"] }
  few: { secret: { env: FEW_KEY }, models: [m, alias, away] }
  exact: { secret: { env: EXACT_KEY }, models: ["*"], strict: true }
`
const FEW = 'few-key-0123456789abcdef'
const EXACT = 'exact-key-0123456789abcdef'
const MODELS = `models:
  m: { upstream: up, as: real-m }
  alias: { upstream: up, as: real-alias }
  secret: up
  away: far
  both: [far, up]
`

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
  /** A request of the key that may use some models only. */
  ask(body: object | string, path?: string): Promise<Answer>
}

async function running(t: Test, more = '', answer: object = CHAT_ANSWER): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(answer))
  const speaks = upstreamYaml(upstream.origin, more)
  const upstreams = `upstreams:\n  up: ${speaks}\n  far: ${upstreamYaml(upstream.origin)}\n`
  const env = { FEW_KEY: FEW, EXACT_KEY: EXACT }
  const gateway = await startTestGateway(t, `version: 1\n${KEYS}${upstreams}${MODELS}`, { env })
  const ask = (body: object | string, path = PATH): Promise<Answer> =>
    gateway.request(path, { key: FEW, body: typeof body === 'string' ? body : { ...CHAT, ...body } })
  return { gateway, upstream, ask }
}

const LARGE = { content: 'x'.repeat(4000), role: 'user' }
/** Small bodies are parsed, larger ones scanned. */
const SIZES = [
  ['small', {}],
  ['large', { messages: [LARGE] }],
] as const

/** Members that name a model which the key may not use, and what the answer says of where it is. */
const NAMING: readonly (readonly [object, string])[] = [
  [{ models: ['m', 'secret'] }, 'models[1]'],
  [{ models: 'secret' }, 'models'],
  [{ fallbacks: ['secret'] }, 'fallbacks[0]'],
  [{ fallbacks: [{ model: 'secret' }] }, 'fallbacks[0].model'],
  [{ fallbacks: [{ m: ['secret'] }] }, 'fallbacks[0].m[0]'],
  [{ fallbacks: ['m', { model: 'm', api_base: 'http://up.example' }] }, 'fallbacks[1].api_base'],
  [{ context_window_fallbacks: [{ m: ['secret'] }] }, 'context_window_fallbacks[0].m[0]'],
  [{ engine: 'secret' }, 'engine'],
  [{ moderation: { model: 'secret' } }, 'moderation.model'],
  [{ tools: [{ type: 'image_generation', model: 'secret' }] }, 'tools[0].model'],
  [{ plugins: [{ id: 'web', model: 'secret' }] }, 'plugins[0].model'],
  [{ plugins: [{ id: 'auto-router', allowed_models: ['*'] }] }, 'plugins[0].allowed_models[0]'],
]

for (const [size, filling] of SIZES) {
  t.test(`models that the key may not use are refused wherever a ${size} body names them`, async t => {
    const { ask, upstream } = await running(t)
    for (const [members, param] of NAMING) {
      const answer = await ask({ ...filling, ...members })
      const error = compatibleError(t, answer, 404, 'model_not_found')
      t.equal(error.param, param)
    }
    t.equal(upstream.requests.items.length, 0)
  })
}

/** The same member as JSON text, as servers of all kinds may read it. */
const SPELLINGS: readonly string[] = [
  '"Models":["secret"]',
  '"mod\\u0065ls":["secret"]',
  '"MODEL\\u0053":["secret"]',
  '"mode\u017f":1,"modelſ":["secret"]',
  '"models":["secret"],"models":["m"]',
  '"models":["m"],"models":["secret"]',
  '"models":["s\\u0065cret"]',
  '"tools":[{"model":"secret"}],"tools":[]',
  '"tools":[{"\\u006dodel":"secret"}]',
  '"Tools":[{"Model":"secret"}]',
  '"moderation":{"model":"secret"},"moderation":null',
  '"fallBacks":["secret"]',
  '"draftModel":"secret"',
  '"draft-model":"secret"',
]

t.test('they are found however they are spelled, and in every one of several members of a name', async t => {
  const { ask, upstream } = await running(t)
  for (const members of SPELLINGS) {
    for (const content of ['hello', LARGE.content]) {
      const body = `{"model":"m","messages":[{"role":"user","content":"${content}"}],${members}}`
      t.equal((await ask(body)).status, 404, members)
    }
  }
  t.equal(upstream.requests.items.length, 0)
})

t.test('models that the key may use get the names that the upstream knows, and every other byte stays', async t => {
  const { ask, upstream } = await running(t)
  const tools = '"tools": [ {"type":"image_generation", "model" : "alias"} ]'
  const rest = '"messages":[{"role":"user","content":"hello"}], "temperature":1.50'
  const body = `{"model":"m", "models":["m","ali\\u0061s"],${tools},"moderation":{"model":null}, ${rest}}`
  t.equal((await ask(body)).status, 200)
  const [sent] = await upstream.requests.count(1)
  const named = body.replace('"m", ', '"real-m", ').replace('["m","ali\\u0061s"]', '["real-m","real-alias"]')
  t.equal(sent?.body.toString(), named.replace('"alias"', '"real-alias"'))
})

t.test('only the upstreams that serve all of the models are asked', async t => {
  const { gateway, upstream } = await running(t)
  const both = { ...CHAT, model: 'both' }
  t.equal((await gateway.request(PATH, { body: { ...both, models: ['secret'] } })).status, 200)
  t.match(await gateway.log.find(({ msg }) => msg === 'request'), { upstream: 'up' }, 'the second of both')
  compatibleError(t, await gateway.request(PATH, { body: { ...both, models: ['secret', 'away'] } }), 404)
  compatibleError(t, await gateway.request(PATH, { body: { ...both, models: ['no-such'] } }), 404, 'model_not_found')
  t.equal(upstream.requests.items.length, 1)
})

t.test('a request that names very many models is refused', async t => {
  const { ask } = await running(t)
  const error = compatibleError(t, await ask({ models: Array(65).fill('m') }), 400)
  t.match(error.message, 'more than 64 models')
})

const ROUTING = ['route', 'provider', 'preset', 'extra_body', 'extra_headers', 'webhook_url', 'callback_url'] as const

t.test('members that route are removed, and named in the answer and the log', async t => {
  const { ask, upstream, gateway } = await running(t)
  for (const [index, filling] of SIZES.map(([, one]) => one).entries()) {
    const members = Object.fromEntries(ROUTING.map(name => [name, { order: ['x'] }]))
    const answer = await ask({ ...filling, ...members, Provider: 1, user: 'u' })
    t.equal(answer.status, 200)
    const names = [...ROUTING, 'Provider']
    t.equal(answer.header('x-gateway-dropped'), names.join(', '))
    const sent = (await upstream.requests.count(index + 1))[index]?.json()
    t.strictSame(sent, { ...CHAT, model: 'real-m', ...filling, user: 'u' })
    t.match((await gateway.log.count(index + 1, ({ msg }) => msg === 'request')).at(-1), { dropped: names })
  }
})

t.test('a key for which nothing may be left out is refused instead', async t => {
  const { gateway } = await running(t)
  const answer = await gateway.request(PATH, { key: EXACT, body: { ...CHAT, route: 'fallback' } })
  t.equal(compatibleError(t, answer, 400, 'untranslatable').param, 'route')
})

for (const name of ['api_base', 'base_url', 'baseURL', 'apiKey', 'api_version', 'vertex_credentials', 'user_config']) {
  t.test(`${name} is refused: an address or a credential of the client's own`, async t => {
    const { ask, upstream } = await running(t)
    for (const [, filling] of SIZES) {
      const error = compatibleError(t, await ask({ ...filling, [name]: 'http://up.example' }), 400)
      t.equal(error.param, name)
      t.match(error.message, `'${name}' is not allowed`)
    }
    t.equal(upstream.requests.items.length, 0)
  })
}

t.test('a refusal has the form of the family', async t => {
  const { ask } = await running(t)
  const answer = await ask({ max_tokens: 5, api_base: 'http://up.example' }, '/v1/messages')
  t.equal(answer.status, 400)
  t.match(answer.json(), {
    type: 'error',
    error: { type: 'invalid_request_error', message: /'api_base' is not allowed/ },
  })
})

t.test('an upstream says which members it may have all the same, and which others it may not', async t => {
  const { ask, upstream } = await running(t, 'members: { provider: pass, seed_model: model, user: drop }')
  t.equal((await ask({ seed_model: 'secret' })).status, 404)
  const answer = await ask({ provider: { order: ['x'] }, route: 'fallback', user: 'u', seed_model: 'alias' })
  t.equal(answer.header('x-gateway-dropped'), 'route, user')
  const [sent] = await upstream.requests.count(1)
  t.strictSame(sent?.json(), { ...CHAT, model: 'real-m', provider: { order: ['x'] }, seed_model: 'real-alias' })
})

t.test('what is translated is held to the same', async t => {
  const { ask, upstream } = await running(t)
  const messages = { max_tokens: 5 }
  t.equal((await ask({ ...messages, models: ['secret'] }, '/v1/messages')).status, 404)
  t.equal(
    (await ask({ ...messages, tools: [{ type: 'advisor', name: 'a', model: 'secret' }] }, '/v1/messages')).status,
    404,
  )
  t.equal(upstream.requests.items.length, 0)
})

t.test('what is translated loses its routing members, and says so', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const speaks = `{ base: "${upstream.origin}", speaks: { chat: POST /chat } }`
  const yaml = `version: 1\n${KEYS}upstreams: { up: ${speaks} }\nmodels: { m: up }\n`
  const gateway = await startTestGateway(t, yaml, { env: { FEW_KEY: FEW, EXACT_KEY: EXACT } })
  const body = { ...CHAT, max_tokens: 5, route: 'fallback', container: 'c' }
  const answer = await gateway.request('/v1/messages', { body })
  t.equal(answer.status, 200)
  t.match(answer.header('x-gateway-dropped'), /^route, /)
  t.notMatch((await upstream.requests.count(1))[0]?.body.toString(), 'fallback')
})

t.test('parameters of the query pass beside a body where they are declared alone', async t => {
  const { gateway, upstream } = await running(t, 'members: { "?api-version": pass, "?gpu": refuse }')
  const answer = await gateway.request(`${PATH}?model=secret&api-version=1&Model=secret&x=1`, { body: CHAT })
  t.equal(answer.status, 200)
  t.equal(answer.header('x-gateway-dropped'), '?model, ?Model, ?x')
  t.equal((await upstream.requests.count(1))[0]?.target, '/v1/chat/completions?api-version=1')
  const error = compatibleError(t, await gateway.request(`${PATH}?GPU=1`, { body: CHAT }), 400)
  t.equal(error.param, '?GPU')
})

t.test("a route of one's own passes its query as it did", async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const routes = 'routes: { POST /v1/chat/completions: { protocol: chat, model: body.model } }'
  const yaml = `version: 1\n${KEYS}upstreams: { up: ${upstreamYaml(upstream.origin)} }\nmodels: { m: up }\n${routes}\n`
  const gateway = await startTestGateway(t, yaml, { env: { FEW_KEY: FEW, EXACT_KEY: EXACT } })
  t.equal((await gateway.request(`${PATH}?x=1`, { body: CHAT })).status, 200)
  t.equal((await upstream.requests.count(1))[0]?.target, '/v1/chat/completions?x=1')
})

t.test(
  'forms are held to the same: names are checked and mapped, routing fields go, addresses are refused',
  async t => {
    const { gateway, upstream } = await running(t, '', { created: 1, data: [] })
    const edit = (...parts: readonly Part[]): Promise<Answer> => {
      const image = ['image', Buffer.from('x'), 'image/png'] as const
      const form = formOf(['model', 'm'], ['prompt', 'p'], image, ...parts)
      return gateway.request('/v1/images/edits', sending(form, { key: FEW }))
    }
    for (const name of ['models[]', 'models', 'Models[0]', 'fallbacks[0][model]']) {
      const error = compatibleError(t, await edit([name, 'secret']), 404, 'model_not_found')
      t.ok(error.param?.includes(name), name)
    }
    compatibleError(t, await edit(['models', Buffer.from('m'), 'text/plain']), 400)
    compatibleError(t, await edit(['models[]', 'm'], ['models[]', 'alias']), 400)
    compatibleError(t, await edit(['api_base', 'http://up.example']), 400)
    t.equal(upstream.requests.items.length, 0)
    const answer = await edit(['models[]', 'alias'], ['provider[order][]', 'x'])
    t.equal(answer.status, 200)
    t.equal(answer.header('x-gateway-dropped'), '["provider[order][]"]'.replace(/[^\x21-\x2b\x2d-\x7e]/g, '?'))
    const sent = (await upstream.requests.count(1))[0]?.body.toString() ?? ''
    t.match(sent, /name="models\[\]"\r\n\r\nreal-alias\r\n/)
    t.match(sent, /name="model"\r\n\r\nreal-m\r\n/)
    t.notMatch(sent, 'provider')
  },
)

for (const [what, speaks] of [
  ['forms', 'POST /v1/videos'],
  ['JSON alone', '{ call: POST /v1/videos, forms: json }'],
] as const) {
  t.test(`tasks of an upstream that takes ${what} are held to the same`, async t => {
    const up = await startTaskUpstream(t, () => ({ body: { id: 'v1', status: 'queued' } }))
    const upstream = `{ base: "${up.origin}", speaks: { videos: ${speaks}, videos.retrieve: "GET /v1/videos/{task_id}" } }`
    const yaml = `version: 1\n${KEYS}upstreams: { up: ${upstream} }\n${MODELS.replace(/ {2}(away|both).*\n/g, '')}`
    const gateway = await startTestGateway(t, yaml, { env: { FEW_KEY: FEW, EXACT_KEY: EXACT } })
    const video = { model: 'm', prompt: 'p' }
    const begin = (body: object): Promise<Answer> => gateway.request('/v1/videos', { key: FEW, body })
    compatibleError(t, await begin({ ...video, models: ['secret'] }), 404, 'model_not_found')
    compatibleError(t, await begin({ ...video, base_url: 'http://up.example' }), 400)
    const form = formOf(['model', 'm'], ['prompt', 'p'], ['callback_url', 'http://up.example'], ['models', 'alias'])
    t.equal((await gateway.request('/v1/videos', sending(form, { key: FEW }))).status, 200)
    t.equal((await begin({ ...video, callback_url: 'http://up.example', models: ['alias'] })).status, 200)
    const sent = await up.requests.count(2, ({ method }) => method === 'POST')
    for (const { body } of sent) {
      t.notMatch(body, 'callback')
      t.match(body, 'real-alias')
      t.match(body, 'real-m')
    }
  })
}
