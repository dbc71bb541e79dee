import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { body, json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, noise, sending } from '../helpers/forms.js'
import { CALLER, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { ask, startRealtime } from '../helpers/realtime.js'
import { decodePng } from '../simulator/image/decode-png.js'

/** Requests that name no model: their protocol's line under `default_models` says which one is meant. */

const SIMULATED = `version: 1
${CALLER}
upstreams: { sim: { kind: simulator } }
models: { sim-moderate: sim, paint: { upstream: sim, as: sim-image } }
default_models: { moderations: sim-moderate, images.generations: paint, images.edits: paint, images.variations: paint }
`

const sdkOf = ({ origin, key }: TestGateway): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })

t.test('SDK: moderations and images without a model', async t => {
  const sdk = sdkOf(await startTestGateway(t, SIMULATED))
  const { model, results } = await sdk.moderations.create({ input: 'I will kill you' })
  t.equal(model, 'sim-moderate')
  t.equal(results.length, 1)
  const made = await sdk.images.generate({ prompt: 'A lighthouse', size: '256x256' })
  const png = Buffer.from(made.data?.[0]?.b64_json ?? '', 'base64')
  t.match(decodePng(png), { width: 256, description: 'A lighthouse' })
  const image = (): Promise<File> => toFile(png, 'card.png', { type: 'image/png' })
  const edit = await sdk.images.edit({ image: await image(), prompt: 'At night', size: '256x256' })
  t.match(decodePng(Buffer.from(edit.data?.[0]?.b64_json ?? '', 'base64')), { width: 256 })
  const variation = await sdk.images.createVariation({ image: await image(), size: '256x256' })
  t.match(decodePng(Buffer.from(variation.data?.[0]?.b64_json ?? '', 'base64')), { width: 256 })
})

async function playing(t: Test, defaults: string, models = 'guard: { upstream: up, as: guard-2 }, m: up') {
  const upstream = await startRawUpstream(t)
  upstream.answer(json({ id: '1', results: [] }))
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${upstreamYaml(upstream.origin)} }\nmodels: { ${models} }\n${defaults}`
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

const DEFAULT = 'default_models: { moderations: guard, images.variations: guard, chat: guard }'
const PATH = '/v1/moderations'

const last = ({ requests }: RawUpstream): string | undefined => requests.items.at(-1)?.body.toString()

t.test('the name goes into the JSON where it is missing; every other byte stays', async t => {
  const { gateway, upstream } = await playing(t, DEFAULT)
  const cases = [
    [' { "input" : "é\\u00e9" }\n', ' {"model":"guard-2", "input" : "é\\u00e9" }\n'],
    ['{"input":"a","model":null}', '{"input":"a","model":"guard-2"}'],
    ['{"model": "", "input":"a"}', '{"model": "guard-2", "input":"a"}'],
    ['{"input":"a","model":"m"}', '{"input":"a","model":"m"}'],
    ['{"input":"a","model":"guard"}', '{"input":"a","model":"guard-2"}'],
  ]
  for (const [sent, gone] of cases) {
    t.equal((await gateway.request(PATH, { body: sent })).status, 200)
    t.equal(last(upstream), gone)
  }
  const long = 'x'.repeat(3_000_000)
  await gateway.request(PATH, { body: { input: long } })
  t.equal(last(upstream), `{"model":"guard-2","input":"${long}"}`)
  await gateway.request(PATH, { body: { input: long, model: null } })
  t.equal(last(upstream), `{"input":"${long}","model":"guard-2"}`)
  const line = await gateway.log.find(one => one.msg === 'request')
  t.match(line, { model: 'guard', status: 200 })
})

t.test('a schema that wants a model has it', async t => {
  const { gateway, upstream } = await playing(t, DEFAULT)
  upstream.answer(body('{}', { headers: { 'content-type': 'application/json' } }))
  const messages = [{ role: 'user', content: 'a' }]
  await gateway.request('/v1/chat/completions', { body: { messages } })
  t.same(JSON.parse(last(upstream) ?? ''), { model: 'guard-2', messages })
  compatibleError(t, await gateway.request('/v1/chat/completions', { body: {} }), 400)
})

t.test('a form gets the name as one more part, or in the field that is empty', async t => {
  const { gateway, upstream } = await playing(t, DEFAULT)
  const image = ['image', noise(70_000), 'image/png'] as const
  await gateway.request('/v1/images/variations', sending(formOf(image)))
  const added = '--B\r\ncontent-disposition: form-data; name="model"\r\n\r\nguard-2\r\n--B--\r\n'
  const whole = formOf(image)
  const expected = Buffer.concat([whole.subarray(0, -'--B--\r\n'.length), Buffer.from(added)])
  t.ok(upstream.requests.items.at(-1)?.body.equals(expected))
  await gateway.request('/v1/images/variations', sending(formOf(['model', ''], image)))
  t.ok(upstream.requests.items.at(-1)?.body.equals(formOf(['model', 'guard-2'], image)))
})

t.test('a WebSocket may leave it out of its query', async t => {
  const { gateway, up } = await startRealtime(t, 'default_models: { realtime: m }\n')
  for (const path of ['/v1/realtime?intent=chat', '/v1/realtime?model=&intent=chat']) {
    t.equal((await ask(t, gateway, { path })).status, 101)
    t.equal(up.requests.items.at(-1)?.url, '/v1/realtime?model=real-m&intent=chat')
  }
})

t.test('a task is begun by it, whose upstream takes forms or JSON alone', async t => {
  const yaml = `version: 1
${CALLER}
store: { type: memory }
upstreams: { sim: { kind: simulator }, native: { kind: simulator, speaks: { videos: { call: POST /v1/videos, forms: json } } } }
models: { film: { upstream: sim, as: "sim-video?polls=0" }, json: { upstream: native, as: "sim-video?polls=0" } }
default_models: { videos: MODEL }
`
  for (const model of ['film', 'json']) {
    const gateway = await startTestGateway(t, yaml.replace('MODEL', model))
    for (const options of [{ body: { prompt: 'A boat' } }, sending(formOf(['prompt', 'A boat']))]) {
      const answer = await gateway.request('/v1/videos', options)
      t.equal(answer.status, 200, answer.text)
      t.match(answer.json(), { model, prompt: 'A boat' })
    }
  }
})

t.test('where no line is the request is refused, as before', async t => {
  const { gateway, upstream } = await playing(t, '')
  const { param, code } = compatibleError(t, await gateway.request(PATH, { body: { input: 'a' } }), 400)
  t.same([param, code], ['model', 'missing_required_parameter'])
  t.equal(upstream.requests.items.length, 0)
})

t.test('the key has to be allowed to use it, and errors of the body come before', async t => {
  const upstream = await startRawUpstream(t)
  const narrow = CALLER.replace('["*"]', '[m]')
  const yaml = `version: 1\n${narrow}\nupstreams: { up: ${upstreamYaml(upstream.origin)} }\nmodels: { guard: up, m: up }\n${DEFAULT}`
  const other = await startTestGateway(t, yaml)
  compatibleError(t, await other.request(PATH, { body: { input: 'a' } }), 404)
  compatibleError(t, await other.request(PATH, { body: {} }), 400)
  t.equal(upstream.requests.items.length, 0)
})

t.test('requests that are translated are asked of it too', async t => {
  const yaml = `version: 1
${CALLER}
upstreams: { sim: { kind: simulator-messages } }
models: { judge: { upstream: sim, as: sim-messages, traits: { moderates: true, max_output: 4096 } } }
default_models: { moderations: judge, chat: judge }
`
  const gateway = await startTestGateway(t, yaml)
  t.equal((await sdkOf(gateway).moderations.create({ input: 'a' })).model, 'judge')
  const answer = await gateway.request('/v1/chat/completions', { body: { messages: [{ role: 'user', content: 'a' }] } })
  t.match(answer.json(), { model: 'sim-messages', object: 'chat.completion' })
})

t.test('the shipped file serves them', async t => {
  const yaml = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8').replace(
    'type: file, path: ./data',
    'type: memory',
  )
  const gateway = await startTestGateway(t, yaml, { env: { GATEWAY_KEY: 'a-key-of-sixteen-letters' } })
  const sdk = new OpenAI({ apiKey: 'a-key-of-sixteen-letters', baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  t.equal((await sdk.moderations.create({ input: 'a' })).model, 'sim-moderate')
})

proveNoLeak(t)
