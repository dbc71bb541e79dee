import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { type Peer, type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

/** Several images of a model that makes one for each request: as many calls at once, and one answer. */

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PATH = '/v1/images/generations'

interface Stage {
  readonly up: RawUpstream
  readonly gateway: TestGateway
  readonly sdk: OpenAI
}

async function stage(test: Test, more = ''): Promise<Stage> {
  const up = await startRawUpstream(test)
  const kind = `{ kind: gemini-native, base: "${up.origin}", secret: { env: UPSTREAM_KEY }, speaks: { predict: off }${more} }`
  const gateway = await startTestGateway(
    test,
    `version: 1\n${CALLER}\nupstreams: { up: ${kind} }\nmodels: { m: up, strict: { targets: [up], strict: true } }\n`,
  )
  return { up, gateway, sdk: new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 }) }
}

const native = (part: object, reason = 'STOP'): Script =>
  json({
    candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: reason }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 20, totalTokenCount: 30 },
  })
const image = native({ inlineData: { mimeType: 'image/png', data: PNG } })
const filtered = native({ text: 'No.' }, 'IMAGE_SAFETY')
const failing = json({ error: { code: 500, message: 'broken', status: 'INTERNAL' } }, { status: 500 })

/** Answers requests once so many of them are there, each by its script, in the order of their arrival. */
function together(...scripts: readonly Script[]): Script {
  const there = new Journal<Peer>('calls')
  return async peer => {
    const place = there.items.length
    there.push(peer)
    await there.count(scripts.length)
    await scripts[place]?.(peer)
  }
}

const lineOf = async ({ log }: TestGateway): Promise<Record<string, unknown>> =>
  (await log.find(line => line.msg === 'request')) as Record<string, unknown>
const body = { model: 'm', prompt: 'A harbour', n: 3 }

t.test('three images are three calls at once, and cost what they cost together', async t => {
  const { up, gateway } = await stage(t)
  up.answer(together(image, image, image))
  const answer = await gateway.request(PATH, { body, headers: { 'idempotency-key': 'once' } })
  t.equal(answer.status, 200, answer.text)
  t.equal(answer.header('x-gateway-dropped'), undefined)
  t.match(answer.json(), {
    data: [{ b64_json: PNG }, { b64_json: PNG }, { b64_json: PNG }],
    usage: { input_tokens: 30, output_tokens: 60, total_tokens: 90 },
  })
  const sent = up.requests.items.map(request => request.body.toString())
  t.equal(new Set(sent).size, 1)
  t.notOk(sent[0]?.includes('candidateCount'))
  t.same(
    up.requests.items.map(request => request.header('idempotency-key')).filter(key => key !== undefined),
    ['once'],
    'the others are calls of their own',
  )
  const line = await lineOf(gateway)
  t.match(line, { outcome: 'ok', input_tokens: 30, output_tokens: 60 })
  t.equal((line.attempts as unknown[]).length, 3)
})

t.test('a request under which nothing may be lost gets all of them', async t => {
  const { up, gateway } = await stage(t)
  up.answer(together(image, image))
  const answer = await gateway.request(PATH, { body: { ...body, model: 'strict', n: 2 } })
  t.equal(answer.status, 200, answer.text)
  t.equal((answer.json() as { data: unknown[] }).data.length, 2)
})

const LOSSES: Readonly<Record<string, readonly [scripts: readonly Script[], made: number, usage: object]>> = {
  'the first fails': [[failing, image, image], 2, { input_tokens: 20, output_tokens: 40 }],
  'the last fails': [[image, image, failing], 2, { input_tokens: 20, output_tokens: 40 }],
  'two fail': [[failing, image, failing], 1, { input_tokens: 10, output_tokens: 20 }],
  'the first is filtered': [[filtered, image, image], 2, { input_tokens: 30, output_tokens: 60 }],
  'the last is filtered': [[image, image, filtered], 2, { input_tokens: 30, output_tokens: 60 }],
  'one is no JSON': [[image, peer => peer.send('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnope'), image], 2, {}],
  'one breaks off': [[image, peer => peer.reset(), image], 2, { input_tokens: 20, output_tokens: 40 }],
}

for (const [what, [scripts, made, usage]] of Object.entries(LOSSES)) {
  t.test(`${what}: the others are the answer, and what is missing is named`, async t => {
    const { up, gateway } = await stage(t, ', retry: { attempts: 1 }')
    up.answer(together(...scripts))
    const answer = await gateway.request(PATH, { body })
    t.equal(answer.status, 200, answer.text)
    t.equal((answer.json() as { data: unknown[] }).data.length, made)
    t.equal(answer.header('x-gateway-dropped'), 'n')
    t.match(await lineOf(gateway), { outcome: 'ok', ...usage, dropped: ['n'] })
  })
}

t.test('images that may have been made are not asked for again when connections break', async t => {
  const { up, gateway } = await stage(t)
  const there = new Journal<Peer>('calls')
  up.answer(async peer => {
    there.push(peer)
    await there.count(3)
    peer.reset()
  })
  const answer = await gateway.request(PATH, { body })
  t.equal(answer.status, 502, answer.text)
  t.equal(up.requests.items.length, 3)
})

t.test('where none comes the client hears why, once', async t => {
  const { up, gateway } = await stage(t, ', retry: { attempts: 1 }')
  up.answer(together(failing, failing, failing))
  const answer = await gateway.request(PATH, { body })
  t.equal(answer.status, 500, answer.text)
  t.match(answer.json(), { error: { message: 'broken' } })
  const refused = await stage(t)
  refused.up.answer(together(filtered, filtered, filtered))
  const none = await refused.gateway.request(PATH, { body })
  t.match(none.json(), { error: { code: 'content_policy_violation' } })
  t.match(await lineOf(refused.gateway), { input_tokens: 30, output_tokens: 60 })
})

t.test('edits, and streams of whole images', async t => {
  const { up, sdk } = await stage(t)
  up.answer(together(image, image))
  const file = await toFile(Buffer.from(PNG, 'base64'), 'a.png', { type: 'image/png' })
  const edited = await sdk.images.edit({ model: 'm', image: file, prompt: 'By night', n: 2 })
  t.equal(edited.data?.length, 2)
  up.answer(together(image, image))
  const types: string[] = []
  const stream = await sdk.images.generate({ model: 'm', prompt: 'x', n: 2, stream: true })
  for await (const event of stream) types.push(event.type)
  t.same(types, ['image_generation.completed', 'image_generation.completed'])
})

t.test('by one seed all would be the same: each has one of its own', async t => {
  const { up, gateway } = await stage(t)
  up.answer(together(image, image))
  const asked = { instances: [{ prompt: 'a' }], parameters: { sampleCount: 2, seed: 7 } }
  const answer = await gateway.request('/v1beta/models/m:predict', { body: asked })
  t.equal((answer.json() as { predictions: unknown[] }).predictions.length, 2, answer.text)
  const seeds = up.requests.items.map(
    one => (one.json() as { generationConfig: { seed: number } }).generationConfig.seed,
  )
  t.same(seeds.sort(), [7, 8])
})

t.test('no more than ten calls, and a client that goes ends them all', async t => {
  const { up, gateway } = await stage(t)
  const there = new Journal<Peer>('calls')
  up.answer(async peer => {
    there.push(peer)
    await peer.gone()
  })
  const client = new AbortController()
  const asking = fetch(gateway.origin + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, n: 50 }),
    signal: client.signal,
  })
  await there.count(10)
  client.abort()
  await t.rejects(asking)
  await up.aborts.count(10)
  t.equal(up.requests.items.length, 10)
  t.match(await lineOf(gateway), { outcome: 'client_abort' })
})

proveNoLeak(t)
