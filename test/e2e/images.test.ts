import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { brokenStream, DONE, finish, json, reset, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { compatibleError } from '../helpers/expect.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { decodePng } from '../simulator/image/decode-png.js'

// Some bodies hold what no document knows, to see that it passes.
relaysAnything()

const PATH = '/v1/images/generations'
const ASK = { model: 'm', prompt: 'A lighthouse' }

async function playing(t: Test, ...scripts: Script[]): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(...scripts)
  return { upstream, gateway: await startTestGateway(t, oneUpstream(upstream.origin)) }
}

async function simulated(t: Test): Promise<{ gateway: TestGateway; sdk: OpenAI }> {
  const yaml = `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim, card: { upstream: sim, as: sim-image } }\n`
  const gateway = await startTestGateway(t, yaml)
  return { gateway, sdk: new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 }) }
}

function event(type: string, rest: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
}

const partial = (index: number, image = 'AAAA'): string =>
  event('image_generation.partial_image', { b64_json: image, partial_image_index: index })
const USAGE = { total_tokens: 9, input_tokens: 2, output_tokens: 7 }
const completed = (image = 'BBBB'): string => event('image_generation.completed', { b64_json: image, usage: USAGE })

t.test('SDK: images of the simulator are PNG files of the right size, under the model’s other name too', async t => {
  const { sdk, gateway } = await simulated(t)
  const answer = await sdk.images.generate({ model: 'card', prompt: 'A red lighthouse', size: '256x256', n: 2 })
  t.equal(answer.data?.length, 2)
  for (const { b64_json = '' } of answer.data ?? []) {
    const file = decodePng(Buffer.from(b64_json, 'base64'))
    t.match(file, { width: 256, height: 256, description: 'A red lighthouse' })
  }
  const line = await gateway.log.find(one => one.msg === 'request')
  t.match(line, { outcome: 'ok', input_tokens: answer.usage?.input_tokens, output_tokens: answer.usage?.output_tokens })
})

t.test('SDK: streamed images come partial first, and what the last event counts is accounted', async t => {
  const { sdk, gateway } = await simulated(t)
  const stream = await sdk.images.generate({
    ...{ model: 'sim-image', prompt: 'A lighthouse', size: '1024x1024' },
    ...{ stream: true, partial_images: 2 },
  })
  const events = []
  for await (const event of stream) events.push(event)
  t.same(
    events.map(({ type }) => type.replace('image_generation.', '')),
    ['partial_image', 'partial_image', 'completed'],
  )
  for (const { b64_json } of events) t.match(decodePng(Buffer.from(b64_json, 'base64')), { width: 1024 })
  const last = events.at(-1)
  const tokens = last?.type === 'image_generation.completed' ? last.usage.total_tokens : 0
  const line = await gateway.log.find(one => one.msg === 'request')
  t.match(line, { outcome: 'ok', stream: true, events: 3, total_tokens: tokens })
})

t.test('SDK: an address instead of the bytes', async t => {
  const { sdk } = await simulated(t)
  const answer = await sdk.images.generate({ model: 'sim-image', prompt: 'x', size: '256x256', response_format: 'url' })
  t.match(answer.data?.[0]?.url, /^data:image\/png;base64,/)
})

t.test('SDK: what the upstream refuses is reported in its words, as the family’s error', async t => {
  const { sdk } = await simulated(t)
  for (const [more, param, code] of [
    [{ size: '1x1' as const }, 'size', 'invalid_value'],
    [{ quality: 'best' as const }, 'quality', 'invalid_value'],
    [{ output_format: 'gif' as 'png' }, 'output_format', 'invalid_value'],
    [{ n: 11 }, 'n', 'integer_above_max_value'],
  ] as const) {
    const asked = { model: 'sim-image', prompt: 'x', ...more } as OpenAI.ImageGenerateParamsNonStreaming
    const error = await sdk.images.generate(asked).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    t.ok(error instanceof OpenAI.BadRequestError, param)
    t.match(error, { param, code })
  }
})

t.test(
  'every image of a stream passes, with one completing event each whose tokens add up, to the end of the transfer',
  async t => {
    const events = [partial(0), completed(), ': ping\n\n', partial(0, 'CCCC'), completed('DDDD')]
    const { gateway } = await playing(t, stream(events))
    const answer = await gateway.request(PATH, { body: { ...ASK, n: 2, stream: true } })
    t.equal(answer.text, events.join(''))
    t.ok(answer.whole)
    t.match(await gateway.log.find(one => one.msg === 'request'), { outcome: 'ok', total_tokens: 18 })
  },
)

t.test('a server that says [DONE] after the last image has said all', async t => {
  const { gateway } = await playing(t, stream([completed(), DONE, 'data: {"more":1}\n\n']))
  const answer = await gateway.request(PATH, { body: { ...ASK, stream: true } })
  t.equal(answer.text, completed() + DONE)
  t.match(await gateway.log.find(one => one.msg === 'request'), { outcome: 'ok' })
})

for (const [title, events, end] of [
  ['before its first image is complete', [partial(0)], stream([partial(0)])],
  ['between two images', [completed(), partial(0)], stream([completed(), partial(0)])],
  ['by the end of the connection', [partial(0)], brokenStream([partial(0)], finish)],
  ['by a reset', [completed()], brokenStream([completed()], reset)],
] as const) {
  t.test(`F-U6 F-U8 a stream that breaks off ${title} ends in an error, not as if it were whole`, async t => {
    const { gateway } = await playing(t, end)
    const answer = await gateway.request(PATH, { body: { ...ASK, n: 2, stream: true } })
    const [text, failure = ''] = [
      answer.text.slice(0, events.join('').length),
      answer.text.slice(events.join('').length),
    ]
    t.equal(text, events.join(''))
    t.match(JSON.parse(failure.replace(/^data: /, '')), { error: { code: 'upstream_truncated' } })
    t.match(await gateway.log.find(one => one.msg === 'request'), { outcome: 'upstream_error', truncated: true })
  })
}

t.test('F-U14 an error in the stream passes as the upstream put it', async t => {
  const failure = event('error', { error: { type: 'image_generation_server_error', message: 'boom' } })
  const { gateway } = await playing(t, stream([partial(0), failure]))
  const answer = await gateway.request(PATH, { body: { ...ASK, stream: true } })
  t.equal(answer.text, partial(0) + failure)
  t.match(await gateway.log.find(one => one.msg === 'request'), { error: 'upstream_failed' })
})

t.test('an event may hold a large image, and a document several: byte for byte', async t => {
  const image = 'iVBOR'.repeat(600_000)
  const text = JSON.stringify({ created: 1, data: [{ b64_json: image }, { b64_json: image }], usage: USAGE })
  const { gateway } = await playing(t, stream([partial(0, image), completed(image)]), json(JSON.parse(text)))
  const streamed = await gateway.request(PATH, { body: { ...ASK, stream: true } })
  t.ok(streamed.body.equals(Buffer.from(partial(0, image) + completed(image))))
  const whole = await gateway.request(PATH, { body: ASK })
  t.ok(whole.body.equals(Buffer.from(text)))
  const lines = await gateway.log.count(2, one => one.msg === 'request')
  for (const line of lines) t.match(line, { outcome: 'ok', input_tokens: 2, output_tokens: 7, total_tokens: 9 })
})

t.test('F-U16 an event beyond the limit of the route is cut with an error', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(stream([partial(0), `data: {"b64_json":"${'x'.repeat(70_000)}`]))
  const route = `{ protocol: images.generations, model: body.model, stream: body.stream, limits: { line: 64KiB, event: 64KiB } }`
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, `routes: { POST ${PATH}: ${route} }\n`))
  const answer = await gateway.request(PATH, { body: { ...ASK, stream: true } })
  t.ok(answer.text.startsWith(partial(0)))
  t.match(JSON.parse(answer.text.slice(partial(0).length + 6)), { error: { code: 'bad_upstream_response' } })
})

t.test('20 MiB of base64 in a request go out untouched, but for the model’s name', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json({ created: 1, data: [] }))
  const models = 'models: { mine: { upstream: up, as: theirs } }\n'
  const yaml = oneUpstream(upstream.origin).replace(/^models:.*\n/m, models)
  const gateway = await startTestGateway(t, yaml)
  const body = (model: string): string =>
    `{ "prompt": "x",\n "image":"${'QUJD'.repeat(5 * 1024 * 1024)}", "model" : "${model}", "big": 12345678901234567890.10e+2 }`
  t.equal((await gateway.request(PATH, { body: body('mine') })).status, 200)
  t.ok(upstream.requests.items[0]?.body.equals(Buffer.from(body('theirs'))))
})

const BAD: readonly (readonly [title: string, body: unknown, status: number, param: string | null])[] = [
  ['without a model', { prompt: 'x' }, 400, 'model'],
  ['without a prompt', { model: 'm' }, 400, 'prompt'],
  ['with an empty prompt', { model: 'm', prompt: '' }, 400, 'prompt'],
  ['with a size that is a number', { ...ASK, size: 1024 }, 400, 'size'],
  ['with no image to make', { ...ASK, n: 0 }, 400, 'n'],
  ['with half an image', { ...ASK, n: 1.5 }, 400, 'n'],
  ['with stream in quotes', { ...ASK, stream: 'true' }, 400, 'stream'],
  ['F-C11 with two models', '{"model":"m","prompt":"x","model":"other"}', 400, 'model'],
  ['F-C11 with stream said twice', '{"model":"m","prompt":"x","stream":true,"stream":false}', 400, 'stream'],
  ['F-C11 that is nested without end', `{"model":"m","prompt":${'['.repeat(100_000)}`, 400, null],
  ['F-C11 that is no JSON', '{"model":"m",', 400, null],
  ['F-C11 that is no object', '[]', 400, null],
  ['F-C13 with a model of several lines', { ...ASK, model: 'm\r\nx: y' }, 404, null],
  ['F-C14 with a model that climbs', { ...ASK, model: '../../m' }, 404, null],
]

for (const [title, body, status, param] of BAD) {
  t.test(`a request ${title} is refused here, in the family’s shape`, async t => {
    const { gateway, upstream } = await playing(t, json({}))
    const answer = await gateway.request(PATH, { body })
    t.equal(answer.status, status, answer.text)
    t.match(answer.json(), { error: { message: String, type: 'invalid_request_error', param } })
    t.equal(upstream.requests.items.length, 0)
  })
}

t.test('F-C10 F-C15 a body that is too large, or of another type, or another method, is refused', async t => {
  const upstream = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, 'limits: { body: 1KiB }\n'))
  compatibleError(t, await gateway.request(PATH, { body: { ...ASK, user: 'x'.repeat(1024) } }), 413, 'too_large')
  const form = { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: '--x--' }
  t.equal((await gateway.request(PATH, form)).status, 415)
  t.equal((await gateway.request(PATH, { method: 'GET' })).status, 405)
  t.equal(upstream.requests.items.length, 0)
})

t.test('F-A1 without a key no one is asked', async t => {
  const { gateway, upstream } = await playing(t, json({}))
  t.equal((await gateway.request(PATH, { body: ASK, key: 'wrong' })).status, 401)
  t.equal(upstream.requests.items.length, 0)
})

proveNoLeak(t)
