import t from 'tap'
import { measure } from '../../../simulator/src/image/measure.js'
import { decodePng } from '../image/decode-png.js'
import { dataOf, post, sdk, simulator } from '../support.js'

const PATH = '/v1/images/generations'
const ASK = { model: 'sim-image', prompt: 'A small lighthouse', size: '96x64' }

t.test('as many images as are wanted, of the size that is wanted, each with the prompt in it', async t => {
  const client = sdk(await simulator(t))
  const answer = await client.images.generate({ ...ASK, size: '96x64' as '256x256', n: 3 })
  t.match(answer, { background: 'opaque', output_format: 'png', quality: 'medium', size: '96x64' })
  const files = (answer.data ?? []).map(({ b64_json = '' }) => Buffer.from(b64_json, 'base64'))
  t.equal(new Set(files.map(file => file.toString('hex'))).size, 3, 'no two are the same')
  for (const file of files) t.match(decodePng(file), { width: 96, height: 64, description: 'A small lighthouse' })
  const { input_tokens = 0, output_tokens = 0, total_tokens } = answer.usage ?? {}
  t.equal(total_tokens, input_tokens + output_tokens)
})

t.test('url gives addresses that need no server', async t => {
  const client = sdk(await simulator(t))
  const { data = [] } = await client.images.generate({ ...ASK, size: '256x256', response_format: 'url' })
  t.match(data[0]?.url, /^data:image\/png;base64,/)
  t.equal(data[0]?.b64_json, undefined)
  const file = Buffer.from(await (await fetch(data[0]?.url ?? '')).arrayBuffer())
  t.match(decodePng(file), { width: 256, height: 256 })
})

t.test('a stream shows partial images and then what the whole answer holds', async t => {
  const client = sdk(await simulator(t))
  const asked = { ...ASK, size: '256x256', n: 2 } as const
  const whole = await client.images.generate(asked)
  const stream = await client.images.generate({ ...asked, stream: true, partial_images: 2 })
  const events = []
  for await (const event of stream) events.push(event)
  t.same(
    events.map(event => (event.type === 'image_generation.partial_image' ? event.partial_image_index : 'whole')),
    [0, 1, 'whole', 0, 1, 'whole'],
  )
  t.same(new Set(events.map(({ b64_json }) => b64_json)).size, 6)
  for (const { b64_json } of events) t.match(decodePng(Buffer.from(b64_json, 'base64')), { width: 256 })
  // The number of partial images is part of the request, and so of what chooses the frame's colour.
  const plain = await client.images.generate({ ...asked, stream: true })
  const last = []
  for await (const event of plain) last.push(event.b64_json)
  t.same(
    last,
    whole.data?.map(({ b64_json }) => b64_json),
  )
})

t.test('a transparent background is one', async t => {
  const client = sdk(await simulator(t))
  const answer = await client.images.generate({ ...ASK, size: '256x256', background: 'transparent' })
  t.equal(answer.background, 'transparent')
  t.ok(decodePng(Buffer.from(answer.data?.[0]?.b64_json ?? '', 'base64')).chunks.includes('tRNS'))
})

const REFUSED: readonly (readonly [title: string, body: object, error: object])[] = [
  ['no prompt', { prompt: undefined }, { code: 'missing_required_parameter', param: 'prompt' }],
  ['an empty prompt', { prompt: ' ' }, { code: 'invalid_value', param: 'prompt' }],
  ['a prompt without end', { prompt: 'x'.repeat(32_001) }, { code: 'string_above_max_length', param: 'prompt' }],
  ['a prompt that is a number', { prompt: 1 }, { code: 'invalid_type', param: 'prompt' }],
  ['an invalid size', { size: 'big' }, { code: 'invalid_value', param: 'size' }],
  ['a size of nothing', { size: '0x64' }, { code: 'invalid_value', param: 'size' }],
  ['a size beyond all bounds', { size: '2049x2048' }, { code: 'invalid_value', param: 'size' }],
  ['too many images', { n: 11 }, { code: 'integer_above_max_value', param: 'n' }],
  ['too many pixels', { n: 10, size: '2048x2048' }, { code: 'invalid_value', param: 'n' }],
  ['no image', { n: 0 }, { code: 'integer_below_min_value', param: 'n' }],
  ['an unknown quality', { quality: 'best' }, { code: 'invalid_value', param: 'quality' }],
  ['an unknown format', { output_format: 'gif' }, { code: 'invalid_value', param: 'output_format' }],
  ['a JPEG file without a ground', { output_format: 'jpeg', background: 'transparent' }, { param: 'background' }],
  ['addresses in a stream', { stream: true, response_format: 'url' }, { param: 'response_format' }],
  ['too many partial images', { stream: true, partial_images: 4 }, { param: 'partial_images' }],
  ['an unknown parameter', { aspect: 1 }, { code: 'unknown_parameter', param: 'aspect' }],
  [
    'a blocked prompt',
    { prompt: 'simulate_block' },
    { code: 'moderation_blocked', type: 'image_generation_user_error' },
  ],
]

for (const [title, more, error] of REFUSED) {
  t.test(`refused: ${title}`, async t => {
    const answer = await post(await simulator(t), PATH, { ...ASK, ...more })
    t.equal(answer.status, 400)
    t.match(JSON.parse(answer.text).error, { type: 'invalid_request_error', ...error })
  })
}

for (const format of ['png', 'jpeg', 'webp'] as const) {
  t.test(`${format}: whole, as an address, and streamed`, async t => {
    const upstream = await simulator(t)
    const asked = { ...ASK, size: '65x71', output_format: format }
    const whole = JSON.parse((await post(upstream, PATH, asked)).text)
    t.equal(whole.output_format, format)
    const { b64_json } = whole.data[0]
    t.match(measure(Buffer.from(b64_json, 'base64')), { format, width: 65, height: 71 })
    const [{ url }] = JSON.parse((await post(upstream, PATH, { ...asked, response_format: 'url' })).text).data
    const [, type, data = ''] = /^data:(.*);base64,(.*)$/.exec(url) ?? []
    t.equal(type, `image/${format}`)
    t.match(measure(Buffer.from(data, 'base64')), { format })
    const events = dataOf((await post(upstream, PATH, { ...asked, stream: true })).text).map(data => JSON.parse(data))
    t.match(events.at(-1), { type: 'image_generation.completed', output_format: format, b64_json })
  })
}

t.test('faults strike images, too', async t => {
  const upstream = await simulator(t)
  const stream = await post(upstream, PATH, {
    ...ASK,
    model: 'sim-image?error-after=1',
    stream: true,
    partial_images: 2,
  })
  t.match(JSON.parse(dataOf(stream.text)[1] ?? ''), { type: 'error', error: { type: 'server_error' } })
  const bare = await post(upstream, PATH, { ...ASK, model: 'sim-image?usage=none' })
  t.notOk('usage' in JSON.parse(bare.text))
  t.equal((await post(upstream, PATH, { ...ASK, model: 'sim-image?status=429' })).status, 429)
})
