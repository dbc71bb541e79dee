import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { allowFault } from '../helpers/emitted.js'
import { formOf, noise, sending } from '../helpers/forms.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { openApi, openApiFolder } from '../helpers/openapi.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { decodePng } from '../simulator/image/decode-png.js'

/** Edits of images before upstreams that take no forms: native models with the image modality, and chat models. */

// Servers of chat models that make images know one modality more than the protocol's reference.
allowFault(/^modalities\[1\]: must be equal to one of the allowed values/)

const YAML = `version: 1
${CALLER}
upstreams:
  relay: { kind: simulator }
  generate: { kind: simulator-generate }
  chat: { kind: simulator-chat }
  words: { kind: simulator-chat, speaks: { images.edits: off } }
models:
  relay: { upstream: relay, as: sim-image }
  generate: { upstream: generate, as: sim-generate }
  bytes: { upstream: generate, as: sim-generate, traits: { fetches_urls: false } }
  chat: { upstream: chat, as: sim-text, traits: { images: chat } }
  strict: { targets: [{ upstream: generate, as: sim-generate }], strict: true }
  predict: { upstream: generate, as: sim-image, traits: { images: predict } }
  plain: { upstream: words, as: sim-text }
  second: { targets: [{ upstream: relay, as: "sim-image?status=503" }, { upstream: generate, as: sim-generate }] }
`

const MODELS = ['generate', 'chat'] as const
const PATH = '/v1/images/edits'

interface Started {
  readonly gateway: TestGateway
  readonly sdk: OpenAI
  readonly draw: () => Promise<File>
}

async function started(t: Test): Promise<Started> {
  const gateway = await startTestGateway(t, YAML)
  const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  const draw = async (): Promise<File> => {
    const answer = await sdk.images.generate({ model: 'relay', prompt: 'A harbour', size: '256x256' })
    return toFile(Buffer.from(answer.data?.[0]?.b64_json ?? '', 'base64'), 'harbour.png', { type: 'image/png' })
  }
  return { gateway, sdk, draw }
}

function card(base64: string | undefined): ReturnType<typeof decodePng> {
  return decodePng(Buffer.from(base64 ?? '', 'base64'))
}

for (const model of MODELS) {
  t.test(`${model}, SDK: one image, and several`, async t => {
    const { sdk, draw, gateway } = await started(t)
    const size = '1024x1024' as const
    for (const image of [await draw(), [await draw(), await draw()]]) {
      const asked = sdk.images.edit({ model, image, prompt: 'By night', n: 2, size })
      const { data: answer, response } = await asked.withResponse()
      t.equal(answer.data?.length, 2)
      for (const { b64_json } of answer.data ?? []) t.match(card(b64_json), { width: 1024, height: 1024 })
      t.equal(response.headers.get('x-gateway-dropped'), null)
      if (openApiFolder() !== undefined) t.same(openApi('images.response')(answer), [])
      const { input_tokens_details: told, input_tokens } = answer.usage ?? {}
      t.equal((told?.text_tokens ?? 0) + (told?.image_tokens ?? 0), input_tokens)
    }
    const line = await gateway.log.find(one => String(one.route).endsWith(PATH))
    t.match(line, { outcome: 'ok', model })
  })

  t.test(`${model}, SDK: a stream of whole images`, async t => {
    const { sdk, draw } = await started(t)
    const asked = { model, image: await draw(), prompt: 'By night', stream: true } as const
    const events = []
    for await (const event of await sdk.images.edit(asked)) events.push(event)
    t.same(
      events.map(({ type }) => type),
      ['image_edit.completed'],
    )
    t.match(card(events[0]?.b64_json), { width: 1024 })
    if (openApiFolder() !== undefined) t.same(openApi('images.edit-event')(events[0]), [])
  })

  t.test(`${model}, SDK: a mask, addresses in place of bytes, and what is no image are refused`, async t => {
    const { sdk, draw } = await started(t)
    const image = await draw()
    const svg = await toFile(Buffer.from('<svg/>'), 'a.png', { type: 'image/png' })
    for (const [more, param, code] of [
      [{ mask: image }, 'mask', 'untranslatable'],
      [{ response_format: 'url' }, 'response_format', 'untranslatable'],
      [{ image: svg }, 'image', null],
      [{ image: [image, svg] }, 'image[1]', null],
      [{ size: 'large' }, 'size', null],
    ] as const) {
      const asked = { model, image, prompt: 'x', ...more } as OpenAI.ImageEditParamsNonStreaming
      const error = await sdk.images.edit(asked).catch((reason: unknown) => reason)
      t.ok(error instanceof OpenAI.BadRequestError, `${param}: ${error}`)
      t.match(error, { param, ...(code !== null && { code }) })
    }
  })

  t.test(`${model}: what cannot cross is named`, async t => {
    const { sdk, draw } = await started(t)
    const asked = sdk.images.edit({
      ...{ model, image: await draw(), prompt: 'x', quality: 'high', input_fidelity: 'high', background: 'auto' },
    })
    const { response } = await asked.withResponse()
    t.same(response.headers.get('x-gateway-dropped')?.split(', ').sort(), ['input_fidelity', 'quality'])
  })

  t.test(`${model}: JSON in place of the form`, async t => {
    const { gateway, draw } = await started(t)
    const image_url = `data:image/png;base64,${Buffer.from(await (await draw()).arrayBuffer()).toString('base64')}`
    const body = { model, prompt: 'By night', images: [{ image_url }, { image_url }] }
    const answer = await gateway.request(PATH, { body })
    t.equal(answer.status, 200, answer.text.slice(0, 200))
    t.match(card((answer.json() as OpenAI.ImagesResponse).data?.[0]?.b64_json), { width: 1024 })
  })
}

t.test('strict: the first loss is the error', async t => {
  const { sdk, draw } = await started(t)
  const asked = sdk.images.edit({ model: 'strict', image: await draw(), prompt: 'x', quality: 'high' })
  t.match(await asked.catch((reason: unknown) => reason), { status: 400, code: 'untranslatable', param: 'quality' })
})

t.test('an image by address is not fetched where that is not allowed, and no one else’s file is sent', async t => {
  const { gateway } = await started(t)
  const edit = (image: object): ReturnType<TestGateway['request']> =>
    gateway.request(PATH, { body: { model: 'bytes', prompt: 'x', images: [image] } })
  const remote = await edit({ image_url: 'https://a.example/b.png' })
  t.equal(remote.status, 400, remote.text)
  t.match(remote.json(), { error: { code: 'untranslatable', param: 'images[0].image_url' } })
  t.equal((await edit({ file_id: 'file-1' })).status, 404)
})

t.test('a second target that takes no forms gets the same image', async t => {
  const { sdk, draw, gateway } = await started(t)
  const answer = await sdk.images.edit({ model: 'second', image: await draw(), prompt: 'By night' })
  t.match(card(answer.data?.[0]?.b64_json), { width: 1024 })
  t.match(await gateway.log.find(one => String(one.route).endsWith(PATH)), { outcome: 'ok', upstream: 'generate' })
})

t.test('models that make no images of images, or are not declared to, are not asked', async t => {
  const { sdk, draw } = await started(t)
  for (const model of ['predict', 'plain']) {
    const asked = sdk.images.edit({ model, image: await draw(), prompt: 'x' })
    t.match(await asked.catch((reason: unknown) => reason), { status: 404 }, model)
  }
})

async function scripted(t: Test): Promise<{ upstream: RawUpstream; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t)
  const yaml = `version: 1
${CALLER}
upstreams:
  generate:
    kind: native-generate
    base: "${upstream.origin}"
    secret: { env: UPSTREAM_KEY }
    request: [{ set: { generationConfig.temperature: 0.5 } }]
models: { g: generate }
`
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

const PNG = Buffer.from('iVBORw0KGgoAAAAN', 'base64')
const MADE = json({ candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] } }] })

t.test('a large form, held on the disk, reaches the upstream whole, as JSON with declared changes', async t => {
  const { upstream, gateway } = await scripted(t)
  upstream.answer(MADE)
  const first = Buffer.concat([PNG, noise(5 * 1024 * 1024 + 1)])
  const second = Buffer.concat([PNG, noise(2 * 1024 * 1024 + 2)])
  const form = formOf(['image[]', first, 'image/png'], ['prompt', 'Zürich'], ['image[]', second, 'image/png'], ['model', 'g'], ['n', '1']) // biome-ignore format: one line
  const answer = await gateway.request(PATH, sending(form))
  t.match(answer.json(), { data: [{ b64_json: 'AAAA' }] }, answer.text.slice(0, 200))
  const sent = upstream.requests.items[0]
  t.match(sent?.header('content-type'), /^application\/json/)
  const body = sent?.json() as {
    contents: { parts: { text?: string; inlineData?: { data: string } }[] }[]
    generationConfig: object
  }
  t.match(body.generationConfig, { temperature: 0.5 })
  const parts = body.contents[0]?.parts ?? []
  t.equal(parts.length, 3)
  t.ok(Buffer.from(parts[0]?.inlineData?.data ?? '', 'base64').equals(first))
  t.ok(Buffer.from(parts[1]?.inlineData?.data ?? '', 'base64').equals(second))
  t.equal(parts[2]?.text, 'Zürich')
})

t.test('files that are too large to be held as JSON are refused before anyone is asked', async t => {
  const { upstream, gateway } = await scripted(t)
  const form = formOf(['image', Buffer.concat([PNG, Buffer.alloc(33 * 1024 * 1024)]), 'image/png'], ['prompt', 'x'], ['model', 'g']) // biome-ignore format: one line
  const answer = await gateway.request(PATH, sending(form))
  t.equal(answer.status, 413, answer.text.slice(0, 200))
  t.equal(upstream.requests.items.length, 0)
})

proveNoLeak(t)
