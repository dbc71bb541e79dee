import { createServer } from 'node:http'
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { json } from '../helpers/answers.js'
import { formOf, sending } from '../helpers/forms.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { listening } from '../helpers/listening.js'
import { greysOf, pngOf } from '../helpers/png.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** Edits of images by kind bedrock: forms and JSON of clients as requests of InvokeModel, in the documented shapes. */

const IMAGE = pngOf([
  [
    [1, 2, 3, 255],
    [4, 5, 6, 255],
  ],
])
const OTHER = pngOf([[[7, 8, 9, 255]]])
/** The first pixel may change. */
const MASK = pngOf([
  [
    [9, 9, 9, 0],
    [9, 9, 9, 255],
  ],
])
const BASE64 = { image: IMAGE.toString('base64'), other: OTHER.toString('base64') }

/** The greys of a mask that was sent. */
const painted = (base64: unknown): readonly number[] | undefined => greysOf(Buffer.from(String(base64), 'base64'))[0]

const ANSWER = json({ images: ['aGk='] })

const yaml = (base: string, port: number): string => `version: 1
${CALLER}
media: { fetch: { allow: [127.0.0.1], http: true, ports: [${port}] } }
upstreams:
  bedrock: { kind: bedrock-key, base: "${base}", secret: { env: UPSTREAM_KEY } }
models:
  canvas: { upstream: bedrock, as: "amazon.nova-canvas-v1:0" }
  around: { upstream: bedrock, as: "amazon.nova-canvas-v1:0", request: [{ set: { imageGenerationConfig.cfgScale: 8 } }] }
  inpaint: { upstream: bedrock, as: "us.stability.stable-image-inpaint-v1:0" }
  search: { upstream: bedrock, as: "us.stability.stable-image-search-replace-v1:0" }
  style: { upstream: bedrock, as: "us.stability.stable-style-transfer-v1:0" }
  erase: { upstream: bedrock, as: "us.stability.stable-image-erase-object-v1:0" }
  sd3: { upstream: bedrock, as: "stability.sd3-5-large-v1:0" }
`

t.test('edits of images at Bedrock', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(ANSWER)
  const files = createServer(({ url }, response) => {
    response.writeHead(200, { 'content-type': 'image/png' }).end(url === '/mask.png' ? MASK : IMAGE)
  })
  const port = await listening(t, files)
  const gateway = await startTestGateway(t, yaml(upstream.origin, port))
  const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  const file = (bytes: Buffer): Promise<File> => toFile(bytes, 'a.png', { type: 'image/png' })
  const sent = (): Record<string, unknown> => JSON.parse(upstream.requests.items.at(-1)?.body.toString() ?? '')
  const form = async (model: string, fields: Readonly<Record<string, string>>, ...files: string[]): Promise<number> => {
    const parts = files.map(name => [name, name === 'mask' ? MASK : IMAGE, 'image/png'] as const)
    const body = formOf(['model', model], ['prompt', 'By night'], ...Object.entries(fields), ...parts)
    return (await gateway.request('/v1/images/edits', sending(body, { method: 'POST' }))).status
  }

  await t.test('Canvas: images are varied as the prompt says', async t => {
    const image = [await file(IMAGE), await file(OTHER)]
    const asked = { model: 'canvas', image, prompt: 'By night', n: 2, size: '1024x1024', quality: 'high' } as const
    const { data } = await sdk.images.edit({ ...asked, user: 'me', background: 'opaque', output_format: 'png' })
    t.same(data, [{ b64_json: 'aGk=' }])
    t.equal(upstream.requests.items.at(-1)?.target, '/model/amazon.nova-canvas-v1%3A0/invoke')
    t.equal(upstream.requests.items.at(-1)?.header('content-type'), 'application/json')
    t.same(sent(), {
      taskType: 'IMAGE_VARIATION',
      imageVariationParams: { images: [BASE64.image, BASE64.other], text: 'By night' },
      imageGenerationConfig: { numberOfImages: 2, quality: 'premium', width: 1024, height: 1024 },
    })
  })

  await t.test('Canvas: what a mask has transparent is painted anew, and is black there', async t => {
    await sdk.images.edit({
      model: 'canvas',
      image: await file(IMAGE),
      mask: await file(MASK),
      prompt: 'By night',
      size: '1024x1024',
    })
    const { maskImage, ...params } = sent().inPaintingParams as Record<string, string>
    t.same(params, { image: BASE64.image, text: 'By night' })
    t.same(sent(), { taskType: 'INPAINTING', inPaintingParams: sent().inPaintingParams })
    t.same(painted(maskImage), [0, 255])
  })

  await t.test('Canvas: masks in words, what is around a mask, a seed, and what is set for the model', async t => {
    t.equal(await form('canvas', { mask_prompt: 'the sky', negative_prompt: 'people', seed: '7' }, 'image'), 200)
    t.same(sent(), {
      taskType: 'INPAINTING',
      inPaintingParams: { image: BASE64.image, maskPrompt: 'the sky', text: 'By night', negativeText: 'people' },
      imageGenerationConfig: { seed: 7 },
    })
    t.equal(await form('around', { taskType: 'OUTPAINTING' }, 'image', 'mask'), 200)
    const { maskImage, ...params } = sent().outPaintingParams as Record<string, string>
    t.same(params, { image: BASE64.image, text: 'By night' })
    t.same(painted(maskImage), [255, 0])
    t.match(sent(), { taskType: 'OUTPAINTING', imageGenerationConfig: { cfgScale: 8 } })
  })

  await t.test('JSON in place of a form', async t => {
    const image_url = `data:image/png;base64,${BASE64.image}`
    const body = { model: 'canvas', prompt: 'By night', images: [{ image_url }] }
    const got = await gateway.request('/v1/images/edits', { body })
    t.match(got.json(), { data: [{ b64_json: 'aGk=' }] })
    t.same(sent(), { taskType: 'IMAGE_VARIATION', imageVariationParams: { images: [BASE64.image], text: 'By night' } })
  })

  await t.test('images and masks by address are fetched', async t => {
    const at = (name: string): object => ({ image_url: `http://127.0.0.1:${port}/${name}` })
    const body = { model: 'canvas', prompt: 'By night', images: [at('a.png')], mask: at('mask.png') }
    const got = await gateway.request('/v1/images/edits', { body })
    t.equal(got.status, 200, got.text)
    const { maskImage, ...params } = sent().inPaintingParams as Record<string, string>
    t.same(params, { image: BASE64.image, text: 'By night' })
    t.same(painted(maskImage), [0, 255])
  })

  await t.test('a stream has whole images', async t => {
    const events = []
    const asked = { model: 'canvas', image: await file(IMAGE), prompt: 'By night', stream: true } as const
    for await (const event of await sdk.images.edit(asked)) events.push(event)
    t.match(events, [{ type: 'image_edit.completed', b64_json: 'aGk=' }])
    t.notOk('stream' in sent())
  })

  await t.test('Stability: each way to edit has a model', async t => {
    t.equal(
      await form('inpaint', { size: '1024x1024', n: '1', output_format: 'webp', grow_mask: '5' }, 'image', 'mask'),
      200,
    )
    const prompt = 'By night'
    const { image } = BASE64
    const { mask, ...others } = sent()
    t.same(others, { prompt, image, output_format: 'webp', grow_mask: 5 })
    t.same(painted(mask), [255, 0])
    t.equal(await form('search', { search_prompt: 'the sun' }, 'image'), 200)
    t.same(sent(), { prompt, image, search_prompt: 'the sun' })
    t.equal(await form('style', {}, 'image[]', 'image[]'), 200)
    t.same(sent(), { prompt, init_image: image, style_image: image })
    t.equal(await form('erase', {}, 'image', 'mask'), 200)
    t.same(Object.keys(sent()).sort(), ['image', 'mask'])
    t.equal(await form('sd3', { strength: '0.5' }, 'image'), 200)
    t.same(sent(), { prompt, image, mode: 'image-to-image', strength: 0.5 })
  })

  await t.test('what a model does not know stays, and is refused there', async t => {
    t.equal(await form('inpaint', { n: '2' }, 'image[]', 'image[]'), 200)
    t.match(sent(), { n: 2, images: [BASE64.image] })
  })

  await t.test('a filtered image is a refusal, and a mask that cannot be read is one of the gateway', async t => {
    upstream.answer(json({ finish_reasons: ['Filter reason: prompt'] }))
    const asked = { model: 'canvas', image: await file(IMAGE), prompt: 'By night' }
    const refused = await sdk.images.edit(asked).catch((reason: unknown) => reason)
    t.match(refused, { status: 400, code: 'content_policy_violation', message: /Filter reason: prompt/ })
    upstream.answer(ANSWER)
    const before = upstream.requests.items.length
    const broken = await sdk.images
      .edit({ ...asked, mask: await file(MASK.subarray(0, 40)) })
      .catch((reason: unknown) => reason)
    t.match(broken, { status: 400, param: 'mask', message: /not a valid PNG/ })
    t.equal(upstream.requests.items.length, before)
  })
})
