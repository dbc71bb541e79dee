import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { DONE, json, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { formOf, noise, sending } from '../helpers/forms.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { decodePng } from '../simulator/image/decode-png.js'

// Some bodies hold what no document knows, to see that it passes.
relaysAnything()

const PATH = '/v1/images/edits'
const IMAGES = json({ created: 1, data: [{ b64_json: 'AAAA' }] })

async function playing(
  t: Test,
  script: Script,
  more = '',
  models = 'models: { m: up }\n',
): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(script)
  const yaml = oneUpstream(upstream.origin, more).replace(/^models:.*\n/m, models)
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

interface Simulated {
  readonly gateway: TestGateway
  readonly sdk: OpenAI
  /** A picture of that size. */
  draw(size: string): Promise<File>
}

async function simulated(t: Test): Promise<Simulated> {
  const yaml = `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim, pen: { upstream: sim, as: sim-image } }\n`
  const gateway = await startTestGateway(t, yaml)
  const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  const draw = async (size: string): Promise<File> => {
    const answer = await sdk.images.generate({ model: 'sim-image', prompt: 'A harbour', size: size as '256x256' })
    return toFile(Buffer.from(answer.data?.[0]?.b64_json ?? '', 'base64'), 'harbour.png', { type: 'image/png' })
  }
  return { gateway, sdk, draw }
}

const decoded = (answer: OpenAI.ImagesResponse, index = 0): ReturnType<typeof decodePng> =>
  decodePng(Buffer.from(answer.data?.[index]?.b64_json ?? '', 'base64'))

t.test('SDK: an edited image has the size of the first one, and the prompt on it', async t => {
  const { sdk, draw, gateway } = await simulated(t)
  const image = await draw('128x96')
  const answer = await sdk.images.edit({ model: 'pen', image, mask: await draw('128x96'), prompt: 'By night', n: 2 })
  t.equal(answer.data?.length, 2)
  t.match(decoded(answer), { width: 128, height: 96, description: 'By night' })
  t.ok((answer.usage?.input_tokens_details.image_tokens ?? 0) > 0)
  const line = await gateway.log.find(one => String(one.route).endsWith(PATH))
  t.match(line, { outcome: 'ok', model: 'pen', target: 'sim-image', total_tokens: answer.usage?.total_tokens })
})

t.test('SDK: several images, and another size', async t => {
  const { sdk, draw } = await simulated(t)
  const image = [await draw('64x64'), await draw('96x64')]
  const answer = await sdk.images.edit({ model: 'sim-image', image, prompt: 'Together', size: '256x256' })
  t.match(decoded(answer), { width: 256, height: 256 })
})

t.test('SDK: streamed edits have events of their own', async t => {
  const { sdk, draw } = await simulated(t)
  const asked = {
    model: 'sim-image',
    image: await draw('64x64'),
    prompt: 'x',
    stream: true,
    partial_images: 1,
  } as const
  const types: string[] = []
  for await (const event of await sdk.images.edit(asked)) types.push(event.type)
  t.same(types, ['image_edit.partial_image', 'image_edit.completed'])
})

t.test('SDK: variations', async t => {
  const { sdk, draw } = await simulated(t)
  const answer = await sdk.images.createVariation({ model: 'sim-image', image: await draw('80x64'), n: 2 })
  t.match(decoded(answer, 1), { width: 80, height: 64, description: 'A variation of png 80x64' })
})

t.test('SDK: what is not an image, or does not fit, the upstream refuses in its words', async t => {
  const { sdk, draw } = await simulated(t)
  const image = await draw('64x64')
  const refused = async (more: object, param: string): Promise<void> => {
    const asked = { model: 'sim-image', image, prompt: 'x', ...more } as OpenAI.ImageEditParamsNonStreaming
    const error = await sdk.images.edit(asked).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    t.ok(error instanceof OpenAI.BadRequestError, `${param}: ${error}`)
    t.match(error, { param })
  }
  await refused({ mask: await draw('64x80') }, 'mask')
  await refused({ image: await toFile(Buffer.from('<svg/>'), 'a.png', { type: 'image/png' }) }, 'image')
  await refused({ image: [image, await toFile(noise(500), 'b.jpg', { type: 'image/jpeg' })] }, 'image')
  await refused({ image: await toFile(Buffer.alloc(0), 'c.png', { type: 'image/png' }) }, 'image')
  await refused({ size: '1x1' }, 'size')
  await refused({ n: 11 }, 'n')
  await refused({ input_fidelity: 'perfect' }, 'input_fidelity')
  await refused({ prompt: '' }, 'prompt')
})

t.test('JSON in place of the form: images by their address', async t => {
  const { gateway, draw } = await simulated(t)
  const url = `data:image/png;base64,${Buffer.from(await (await draw('64x72')).arrayBuffer()).toString('base64')}`
  const body = { model: 'pen', prompt: 'By night', images: [{ image_url: url }], n: 1 }
  const answer = await gateway.request(PATH, { body })
  t.match(decoded(answer.json() as OpenAI.ImagesResponse), { width: 64, height: 72 })
  t.match((await gateway.request(PATH, { body: { ...body, mask: { image_url: 'https://a.example/m.png' } } })).json(), {
    error: { param: 'mask.image_url' },
  })
})

t.test('F-A4 JSON that names a file of no one, or of another key, is refused before anyone is asked', async t => {
  const { gateway, upstream } = await playing(t, IMAGES)
  for (const body of [
    { model: 'm', prompt: 'x', images: [{ file_id: 'file-1' }] },
    { model: 'm', prompt: 'x', images: [{ image_url: 'data:image/png;base64,AA==' }], mask: { file_id: 'file-1' } },
  ]) {
    t.equal((await gateway.request(PATH, { body })).status, 404)
  }
  t.equal(upstream.requests.items.length, 0)
})

t.test('JSON names files of its caller: the upstream that holds them reads them', async t => {
  const { gateway, sdk, draw } = await simulated(t)
  const upload = async (size: string) => await sdk.files.create({ file: await draw(size), purpose: 'vision' })
  const [image, mask, other] = [await upload('96x64'), await upload('96x64'), await upload('64x64')]
  const ask = (mask: { id: string }) =>
    gateway.request(PATH, {
      body: { model: 'pen', prompt: 'By night', images: [{ file_id: image.id }], mask: { file_id: mask.id } },
    })
  const answer = (await ask(mask)).json() as unknown as OpenAI.ImagesResponse
  t.match(decoded(answer), { width: 96, height: 64, description: 'By night' })
  const refused = await ask(other)
  t.equal(refused.status, 400)
  t.match(refused.json(), { error: { param: 'mask', message: /64x64/ } })
})

t.test('JSON in place of the form goes out byte for byte, but for the model’s name', async t => {
  const { gateway, upstream } = await playing(t, IMAGES, '', 'models: { mine: { upstream: up, as: theirs } }\n')
  const body = (model: string): string =>
    `{ "images":[{"image_url":"data:image/png;base64,AA=="}, {"image_url":"https://a.example/b.png"}], "model" : "${model}",\n"prompt":"x", "new": 1.0e2 }`
  t.equal((await gateway.request(PATH, { body: body('mine') })).status, 200)
  t.equal(upstream.requests.items[0]?.body.toString(), body('theirs'))
  t.equal(upstream.requests.items[0]?.header('content-type'), 'application/json')
})

const PICTURE = ['image', noise(900), 'image/png'] as const

t.test('fields that no one knows pass, names and order as they are', async t => {
  const { gateway, upstream } = await playing(t, IMAGES)
  const form = formOf(['strength', '0.3'], ['image[]', noise(900), 'image/png'], ['image[]', noise(901), 'image/png'], ['prompt', 'x'], ['model', 'm'], ['Prompt', 'y']) // biome-ignore format: one line
  t.equal((await gateway.request(PATH, sending(form))).status, 200)
  t.ok(upstream.requests.items[0]?.body.equals(form))
})

const REFUSED: readonly (readonly [title: string, form: Buffer | object, param: string])[] = [
  ['without an image', formOf(['model', 'm'], ['prompt', 'x']), 'image'],
  ['without a prompt', formOf(['model', 'm'], PICTURE), 'prompt'],
  ['with an image that is empty', formOf(['model', 'm'], ['prompt', 'x'], ['image', Buffer.alloc(0), 'image/png']), 'image'], // biome-ignore format: one line
  ['with an image that is text', formOf(['model', 'm'], ['prompt', 'x'], ['image', 'https://a.example']), 'image'],
  ['whose second image is empty', formOf(['model', 'm'], ['prompt', 'x'], PICTURE, ['image', Buffer.alloc(0), 'image/png']), 'image[1]'], // biome-ignore format: one line
  ['with two masks', formOf(['model', 'm'], ['prompt', 'x'], PICTURE, ['mask', noise(9), 'image/png'], ['mask', noise(9), 'image/png']), 'mask'], // biome-ignore format: one line
  ['with n in words', formOf(['model', 'm'], ['prompt', 'x'], PICTURE, ['n', 'two']), 'n'],
  ['in JSON without images', { model: 'm', prompt: 'x' }, 'images'],
  ['in JSON with no image', { model: 'm', prompt: 'x', images: [] }, 'images'],
  [
    'in JSON with stream in quotes',
    { model: 'm', prompt: 'x', images: [{ file_id: 'f' }], stream: 'perhaps' },
    'stream',
  ],
]

for (const [title, body, param] of REFUSED)
  t.test(`an edit ${title} is refused here, in the family’s shape`, async t => {
    const { gateway, upstream } = await playing(t, IMAGES)
    const answer = await gateway.request(PATH, Buffer.isBuffer(body) ? sending(body) : { body })
    t.equal(answer.status, 400, answer.text)
    t.match(answer.json(), { error: { message: String, type: 'invalid_request_error', param } })
    t.equal(upstream.requests.items.length, 0)
  })

t.test('every image of a stream passes, with one completing event each', async t => {
  const event = (type: string): string => `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: 'AAAA', usage: { total_tokens: 3 } })}\n\n` // biome-ignore format: one line
  const events = [event('image_edit.partial_image'), event('image_edit.completed'), event('image_edit.completed'), DONE]
  const { gateway } = await playing(t, stream(events))
  const form = formOf(['model', 'm'], PICTURE, ['prompt', 'x'], ['stream', 'true'])
  t.equal((await gateway.request(PATH, sending(form))).text, events.join(''))
  t.match(await gateway.log.find(one => one.msg === 'request'), { outcome: 'ok', total_tokens: 6 })
})

t.test('verbs change the fields of a form, and nothing else of it', async t => {
  const verbs =
    '[{ rename: { image: "image[]", prompt: text } }, { set: { quality: high, n: 2 } }, { default: { size: 64x64, user: me } }, ' +
    '{ alias: { format: output_format } }, { remove: [mask, extra.inner] }]'
  const models = `models: { m: { upstream: up, as: theirs, request: ${verbs} } }\n`
  const { gateway, upstream } = await playing(t, IMAGES, '', models)
  const form = formOf(
    ['mask', noise(50), 'image/png'],
    ['n', '1'],
    PICTURE,
    ['model', 'm'],
    ['user', 'you'],
    ['mask', noise(51), 'image/png'],
    ['prompt', 'x'],
    ['format', 'png'],
  )
  // The schema of the shipped route takes one mask alone.
  const answer = await gateway.request(PATH, sending(form.subarray(0)))
  t.equal(answer.status, 400)
  const one = formOf(['mask', noise(50), 'image/png'], ['n', '1'], PICTURE, ['model', 'm'], ['user', 'you'], ['prompt', 'x'], ['format', 'png']) // biome-ignore format: one line
  t.equal((await gateway.request(PATH, sending(one))).status, 200)
  const [sent] = upstream.requests.items
  const expected = formOf(['n', '2'], ['image', PICTURE[1], PICTURE[2]], ['model', 'theirs'], ['user', 'you'], ['text', 'x'], ['output_format', 'png']) // biome-ignore format: one line
    .toString('latin1')
    .replace('name="image"', 'name="image[]"')
    .replace('--B--\r\n', '--B\r\ncontent-disposition: form-data; name="quality"\r\n\r\nhigh\r\n--B\r\ncontent-disposition: form-data; name="size"\r\n\r\n64x64\r\n--B--\r\n') // biome-ignore format: one line
  t.equal(sent?.body.toString('latin1'), expected)
  t.equal(sent?.header('content-length'), String(expected.length))
})

t.test('what a form cannot say is refused where it is declared for a model', async t => {
  const models = 'models: { m: { upstream: up, request: [{ set: { metadata.team: a } }] } }\n'
  const { gateway, upstream } = await playing(t, IMAGES, '', models)
  const answer = await gateway.request(PATH, sending(formOf(['model', 'm'], PICTURE, ['prompt', 'x'])))
  t.equal(answer.status, 400)
  t.equal(answer.header('x-gateway-error'), 'untranslatable')
  t.equal(upstream.requests.items.length, 0)
})

proveNoLeak(t)
