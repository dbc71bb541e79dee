import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { explainPlan, explainRequest } from '../../src/plan/explain.js'
import { loadPlan } from '../../src/runtime/load.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { CHAT_ANSWER, hang, json } from '../helpers/answers.js'
import { canary } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { png } from '../net/hostile-hosts.js'
import { startMediaHost } from '../net/media-host.js'

const KEYS = {
  eu: 'the key of those in the union',
  all: 'the key of those everywhere',
  us: 'the key of those in states',
}

const ENV = {
  ...{ EU_KEY: KEYS.eu, ALL_KEY: KEYS.all, US_KEY: KEYS.us },
  GATEWAY_ADMIN_KEY: ADMIN_SECRET,
  ...{ HOOK_SECRET: 'a signing secret of a test', UPSTREAM_KEY: canary('upstream') },
}

interface Stage {
  readonly gateway: TestGateway
  /** `eu`, `us` and the one without a region. */
  readonly upstreams: Readonly<Record<'eu' | 'us' | 'nowhere', RawUpstream>>
  asked(): readonly number[]
}

/** So that message blocks are translated to chat. */
const withoutResponses = (yaml: string): string => yaml.replace(', responses: POST /v1/responses', '')

async function stage(test: Test, more = '', upMore = ''): Promise<Stage> {
  const [eu, us, nowhere] = [await startRawUpstream(test), await startRawUpstream(test), await startRawUpstream(test)]
  const upstreams = { eu, us, nowhere }
  for (const one of Object.values(upstreams)) one.answer(json(CHAT_ANSWER))
  const yaml = `version: 1
store: { type: memory }
keys:
  eu: { secret: { env: EU_KEY }, group: g }
  all: { secret: { env: ALL_KEY } }
  us: { secret: { env: US_KEY }, regions: [us] }
groups: { g: { regions: [eu] } }
upstreams:
  eu: ${withoutResponses(upstreamYaml(eu.origin, `region: eu${upMore}`))}
  us: ${withoutResponses(upstreamYaml(us.origin, `region: us${upMore}`))}
  nowhere: ${upstreamYaml(nowhere.origin)}
models:
  m: [us, nowhere, eu]
  weighted: [{ upstream: us, weight: 99 }, { upstream: eu, weight: 1 }]
  abroad: [us, nowhere]
  "glob-*": us
  falls: { targets: [eu], fallbacks: { overloaded: [far] } }
  far: [us, { upstream: eu, as: other }]
  slow: { targets: [eu, us, nowhere, { upstream: eu, as: other }], hedge: { after: 50ms } }
retry: { attempts: 3, on: [5xx, connect, reset] }
${more}`
  const gateway = await startTestGateway(test, yaml, {
    env: ENV,
  })
  return { gateway, upstreams, asked: () => Object.values(upstreams).map(({ requests }) => requests.items.length) }
}

t.test('a key with regions reaches no other upstream: order, weights, failures', async t => {
  const { gateway, upstreams, asked } = await stage(t)
  for (let i = 0; i < 20; i++) t.equal((await gateway.chat({ model: 'weighted' }, { key: KEYS.eu })).status, 200)
  t.equal((await gateway.chat({ model: 'm' }, { key: KEYS.eu })).status, 200)
  t.same(asked(), [21, 0, 0])
  upstreams.eu.answer(json({ error: { message: 'no' } }, { status: 503 }))
  t.ok((await gateway.chat({ model: 'm' }, { key: KEYS.eu })).status >= 500)
  t.same(asked().slice(1), [0, 0], 'not even when its own fails')
  t.equal((await gateway.chat({ model: 'm' }, { key: KEYS.us })).status, 200)
  t.equal((await gateway.chat({ model: 'm' }, { key: KEYS.all })).status, 200)
  t.same(asked().slice(1), [2, 0])
})

t.test('the targets of fallback models are held to the regions, too', async t => {
  const { gateway, upstreams, asked } = await stage(t)
  upstreams.eu.answer(json({ error: { message: 'busy' } }, { status: 503 }))
  t.ok((await gateway.chat({ model: 'falls' }, { key: KEYS.eu })).status >= 500)
  t.equal(asked()[1], 0, 'the target abroad is not asked')
  t.ok(
    upstreams.eu.requests.items.some(({ body }) => body.includes('"other"')),
    'the fallback itself is: its target at home got the request',
  )
  t.equal((await gateway.chat({ model: 'falls' }, { key: KEYS.all })).status, 200)
  t.equal(asked()[1], 1)
})

t.test('a second target that is asked beside a slow one is in its regions, too', async t => {
  const { gateway, upstreams, asked } = await stage(t)
  upstreams.eu.answer(hang, json(CHAT_ANSWER))
  t.equal((await gateway.chat({ model: 'slow' }, { key: KEYS.eu })).status, 200)
  t.same(asked(), [2, 0, 0])
  upstreams.eu.answer(hang)
  t.equal((await gateway.chat({ model: 'slow' }, { key: KEYS.all })).status, 200)
  t.same(asked(), [3, 1, 0], 'others get it from abroad')
})

for (const [region, isAllowed] of [
  ['', false],
  [', region: us', false],
  [', region: eu', true],
] as const) {
  t.test(`webhooks are called only within its regions${region || ', which must be known'}`, async t => {
    const up = await startRawUpstream(t)
    up.answer(json({ id: 'video_1', object: 'video', created_at: 1, status: 'queued', model: 'm', seconds: '4' }))
    const yaml = `version: 1
store: { type: memory }
keys: { eu: { secret: { env: EU_KEY }, regions: [eu] }, all: { secret: { env: ALL_KEY } } }
upstreams: { eu: { kind: openai, base: "${up.origin}", secret: { env: UPSTREAM_KEY }, region: eu } }
models: { m: eu }
webhooks: { secret: { env: HOOK_SECRET }, allow: [127.0.0.2]${region} }
`
    const gateway = await startTestGateway(t, yaml, { env: ENV })
    const body = { model: 'm', prompt: 'a cat', webhook_url: 'https://127.0.0.2/hook' }
    const answer = await gateway.request('/v1/videos', { body, key: KEYS.eu })
    t.equal(answer.status, isAllowed ? 200 : 400, answer.text)
    if (!isAllowed) {
      t.match((answer.json() as { error: object }).error, { param: 'webhook_url', message: /regions of this key/ })
      t.equal(up.requests.items.length, 0)
    }
    t.equal((await gateway.request('/v1/videos', { body, key: KEYS.all })).status, 200)
  })
}

t.test('a model that it cannot reach is as one that it may not use', async t => {
  const { gateway, asked } = await stage(t)
  const of = async (model: string, key: string): Promise<string> => {
    const answer = await gateway.chat({ model }, { key })
    return `${answer.status} ${answer.text.replaceAll(model, 'MODEL')}`
  }
  const unknown = await of('none', KEYS.eu)
  t.match(unknown, /^404 /)
  for (const model of ['abroad', 'glob-a']) t.equal(await of(model, KEYS.eu), unknown)
  const listed = async (key: string): Promise<readonly string[]> => {
    const { data } = (await gateway.request('/v1/models', { key })).json() as { data: { id: string }[] }
    return data.map(({ id }) => id)
  }
  t.same(await listed(KEYS.eu), ['m', 'weighted', 'falls', 'far', 'slow'])
  t.same(await listed(KEYS.all), ['m', 'weighted', 'abroad', 'falls', 'far', 'slow'])
  t.same(asked(), [0, 0, 0])
})

t.test('files are kept in its regions alone', async t => {
  const { gateway, upstreams, asked } = await stage(t)
  upstreams.eu.answer(json({ id: 'file-1', object: 'file', bytes: 1, created_at: 1, filename: 'a', purpose: 'batch' }))
  const boundary = 'b'
  const body = `--${boundary}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\nx\r\n--${boundary}--\r\n`
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
  const made = await gateway.request('/v1/files', { body: Buffer.from(body), headers, key: KEYS.eu })
  t.equal(made.status, 200, made.text)
  t.same(asked(), [1, 0, 0])
})

t.test('stored responses and compactions are those of its regions alone', async t => {
  const [eu, us] = [await startRawUpstream(t), await startRawUpstream(t)]
  const yaml = (regions: string): string => `version: 1
store: { type: memory }
keys: { eu: { secret: { env: EU_KEY }${regions} } }
upstreams: { us: ${upstreamYaml(us.origin, 'region: us')}, eu: ${upstreamYaml(eu.origin, 'region: eu')} }
models: { m: [us, eu] }
`
  const gateway = await startTestGateway(t, yaml(''), { env: ENV })
  const ask = (path: string, body?: object, method = 'POST') =>
    gateway.request(path, { method, key: KEYS.eu, ...(body && { body: { model: 'm', ...body } }) })
  us.answer(json({ id: 'resp_us', object: 'response', status: 'completed', output: [] }))
  t.equal((await ask('/v1/responses', { input: 'hi' })).status, 200)
  t.equal((await ask('/v1/responses/resp_us', undefined, 'GET')).status, 200)
  t.equal(us.requests.items.length, 2)

  await gateway.write('gateway.yaml', yaml(', regions: [eu]'))
  await gateway.gateway.reload()
  eu.answer(json({ id: 'resp_c', object: 'response.compaction', output: [] }))
  for (const [method, below] of [
    ['GET', ''],
    ['GET', '/input_items'],
    ['POST', '/cancel'],
    ['DELETE', ''],
  ] as const) {
    t.equal((await ask(`/v1/responses/resp_us${below}`, undefined, method)).status, 404, `${method} ${below}`)
  }
  t.equal((await ask('/v1/responses/compact', { input: 'hi' })).status, 200)
  t.equal((await ask('/v1/responses/compact', { previous_response_id: 'resp_us' })).status, 400)
  t.same([us.requests.items.length, eu.requests.items.length], [2, 1])
})

t.test('a compaction out of its regions is refused for that, also if the conversation names files', async t => {
  const [eu, us] = [await startRawUpstream(t), await startRawUpstream(t)]
  const yaml = `version: 1
store: { type: memory }
keys: { eu: { secret: { env: EU_KEY }, regions: [eu] } }
upstreams:
  us: ${upstreamYaml(us.origin, 'region: us')}
  eu: { base: "${eu.origin}", region: eu, speaks: { embeddings: POST /v1/embeddings } }
models: { m: [us, eu] }
`
  const gateway = await startTestGateway(t, yaml, { env: ENV })
  const refused = async (content: object[]) => {
    const body = { items: [{ type: 'message', role: 'user', content }] }
    const made = await gateway.request('/v1/conversations', { body, key: KEYS.eu })
    const { id } = made.json() as { id: string }
    const { status, text } = await gateway.request('/v1/responses/compact', {
      body: { model: 'm', conversation: id },
      key: KEYS.eu,
    })
    return { status, text }
  }
  const expected = await refused([{ type: 'input_text', text: 'hi' }])
  t.match(expected.text, /model_not_found/)
  t.same(await refused([{ type: 'input_file', file_id: 'file-1' }]), expected)
  t.same([us.requests.items.length, eu.requests.items.length], [0, 0])
})

for (const [region, status] of [
  ['', 400],
  [', region: us', 400],
  [', region: eu', 200],
] as const) {
  t.test(`media by URL are fetched only from within its regions${region || ', which must be known'}`, async t => {
    const host = await startMediaHost(t, '127.0.0.2', png)
    const media = `media: { fetch: { allow: [127.0.0.2/32], http: true, ports: [${host.port}]${region} } }\n`
    const { gateway } = await stage(t, media, ', traits: { fetches_urls: false, max_output: 100 }')
    const content = [{ type: 'image', source: { type: 'url', url: `${host.origin}/a.png` } }]
    const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content }] }
    const answer = await gateway.request('/v1/messages', { body, key: KEYS.eu })
    t.equal(answer.status, status, answer.text)
    t.equal(host.connections(), status === 200 ? 1 : 0)
    t.equal((await gateway.request('/v1/messages', { body, key: KEYS.all })).status, 200)
  })
}

t.test('explain proves it, for the plan and for a request', async t => {
  const { gateway, asked } = await stage(t, 'webhooks: { secret: { env: HOOK_SECRET }, region: eu }\n')
  const { plan, config } = await loadPlan({ file: join(gateway.folder, 'gateway.yaml'), env: ENV })
  if (plan === undefined || config === undefined) throw new Error('there is a plan')
  const text = explainPlan(plan, config)
  t.match(
    text,
    /regions\n {2}eu +keys +eu\n +reach +eu \(eu\)\n +not +us \(us\), nowhere \(no region\)\n +models +m: eu, not us, nowhere\n/,
  )
  t.match(text, /unknown +abroad, glob-\*\n +media +none: off\n +webhooks +yes: webhooks is in eu/)
  const asking = { method: 'POST', path: '/v1/chat/completions', model: 'm', key: 'eu' }
  t.match(
    explainRequest(plan, asking),
    /regions +us \(us\): never asked for this key\n +nowhere \(no region\): never asked for this key\n +eu \(eu\): reached/,
  )
  t.match(explainRequest(plan, { ...asking, model: 'abroad' }), /404 model_not_found/)
  t.equal((await gateway.chat({ model: 'abroad' }, { key: KEYS.eu })).status, 404)
  t.same(asked(), [0, 0, 0])
})

t.test('a key of the store has regions as one of the file', async t => {
  const { line, origin } = await adminLine()
  const { gateway, asked } = await stage(t, `${line}\n`)
  const ask = adminOf(t, origin)
  const refused = await ask('POST', '/admin/keys', { name: 'eve', regions: ['asia'] })
  t.equal(refused.status, 400)
  t.match(refused.text, /no upstream is in asia/)
  const made = await ask('POST', '/admin/keys', { name: 'ann', regions: ['eu'] })
  t.equal(made.status, 201, made.text)
  const { secret: key } = made.json()
  t.equal((await gateway.chat({ model: 'm' }, { key })).status, 200)
  t.equal((await gateway.chat({ model: 'abroad' }, { key })).status, 404)
  t.same(asked(), [1, 0, 0])
  // The upstream moves away: the key follows the file that is in service.
  const file = join(gateway.folder, 'gateway.yaml')
  const text = readFileSync(file, 'utf8')
  await gateway.write(
    'gateway.yaml',
    text
      .replace('region: eu', 'region: us')
      .replace('region: us', 'region: eu2')
      .replace('regions: [eu]', 'regions: [eu2]'),
  )
  await gateway.gateway.reload()
  t.not((await gateway.chat({ model: 'm' }, { key })).status, 200)
  t.same(asked(), [1, 0, 0])
})
