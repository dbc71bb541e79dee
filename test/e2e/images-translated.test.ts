import { GoogleGenAI, Modality, ApiError as NativeError } from '@google/genai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { allowFault } from '../helpers/emitted.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { openApi, openApiFolder } from '../helpers/openapi.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { sseFrames } from '../helpers/text-recordings.js'
import { decodePng } from '../simulator/image/decode-png.js'

/** Clients of images before upstreams that are asked for them in other ways: as the simulator speaks, and as scripted. */

// Servers of chat models that make images know one modality more than the protocol's reference.
allowFault(/^modalities\[1\]: must be equal to one of the allowed values/)

const YAML = `version: 1
${CALLER}
upstreams:
  relay: { kind: simulator }
  generate: { kind: simulator-generate, speaks: { predict: off } }
  predict: { kind: simulator-generate, speaks: { generate: off, generate.count_tokens: off } }
  both: { kind: simulator-generate }
  chat: { kind: simulator-chat }
models:
  relay: { upstream: relay, as: sim-image }
  generate: { upstream: generate, as: sim-generate }
  predict: { upstream: predict, as: sim-image }
  declared: { upstream: both, as: sim-image, traits: { images: predict } }
  chat: { upstream: chat, as: sim-text, traits: { images: chat } }
  strict: { targets: [{ upstream: generate, as: sim-generate }], strict: true }
  busy: { upstream: generate, as: "sim-generate?status=429&retry-after=2" }
`

const ALL = ['relay', 'generate', 'predict', 'declared', 'chat'] as const
const PATH = '/v1/images/generations'

const openai = ({ origin, key }: TestGateway): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })
const genai = ({ origin, key }: TestGateway): GoogleGenAI =>
  new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: origin } })

/** Of this library only its other mode makes images by `:predict`: under a version of its own, unless told which. */
const predicting = ({ origin, key }: TestGateway): GoogleGenAI =>
  new GoogleGenAI({ vertexai: true, apiKey: key, httpOptions: { baseUrl: origin, apiVersion: 'v1beta' } })

const started = (t: Test): Promise<TestGateway> => startTestGateway(t, YAML)

function card(base64: string | undefined): ReturnType<typeof decodePng> {
  return decodePng(Buffer.from(base64 ?? '', 'base64'))
}

for (const model of ALL) {
  t.test(`${model}, the compatible library: two images of a size, with the prompt on them`, async t => {
    const gateway = await started(t)
    const prompt = 'A red lighthouse'
    const size = '1024x1024' as const
    const { data: answer, response } = await openai(gateway)
      .images.generate({ model, prompt, size, n: 2 })
      .withResponse()
    t.equal(answer.data?.length, 2)
    for (const { b64_json } of answer.data ?? [])
      t.match(card(b64_json), { width: 1024, height: 1024, description: prompt })
    t.equal(answer.output_format, 'png')
    t.ok(answer.created > 1_700_000_000)
    t.equal(response.headers.get('x-gateway-dropped'), null)
    const line = await gateway.log.find(one => one.msg === 'request')
    t.match(line, {
      outcome: 'ok',
      input_tokens: answer.usage?.input_tokens,
      output_tokens: answer.usage?.output_tokens,
    })
    if (openApiFolder() !== undefined) t.same(openApi('images.response')(answer), [])
  })

  t.test(`${model}, the compatible library: a stream of whole images`, async t => {
    const gateway = await started(t)
    const asked = { model, prompt: 'A lighthouse', stream: true, n: 2 } as const
    const events = []
    for await (const event of await openai(gateway).images.generate(asked)) events.push(event)
    t.same(
      events.map(({ type }) => type),
      ['image_generation.completed', 'image_generation.completed'],
    )
    for (const event of events) {
      t.match(card(event.b64_json), { width: 1024, description: 'A lighthouse' })
      if (openApiFolder() !== undefined) t.same(openApi('images.event')(event), [])
    }
    t.match(await gateway.log.find(one => one.msg === 'request'), { outcome: 'ok', stream: true, events: 2 })
  })

  t.test(`${model}: a prompt that may not be drawn is refused as the family refuses it`, async t => {
    const gateway = await started(t)
    for (const stream of [false, true]) {
      const refused = openai(gateway).images.generate({ model, prompt: 'simulate_block a cat', stream })
      const error = await refused.catch((reason: unknown) => reason)
      t.ok(error instanceof OpenAI.BadRequestError, model)
      t.match(error, { code: model === 'relay' ? 'moderation_blocked' : 'content_policy_violation' })
    }
  })
}

t.test('a wide image is asked for by the nearest shape, and what is not exact is reported', async t => {
  const gateway = await started(t)
  for (const [model, size, width, height, told] of [
    ['generate', '1536x1024', 1248, 832, null],
    ['chat', '1024x1536', 832, 1248, null],
    ['predict', '1536x1024', 1184, 880, 'size'],
    ['generate', '1792x1024', 1360, 768, 'size'],
    ['generate', '256x256', 1024, 1024, 'size'],
    ['predict', '2048x2048', 2048, 2048, null],
  ] as const) {
    const answer = await gateway.request(PATH, { body: { model, prompt: 'x', size } })
    const { data } = answer.json() as { data: { b64_json: string }[] }
    const found = card(data[0]?.b64_json)
    t.same([found.width, found.height], [width, height], `${model} ${size}`)
    t.equal(answer.header('x-gateway-dropped') ?? null, told, `${model} ${size}`)
  }
})

const EXTRAS = {
  quality: 'high',
  style: 'vivid',
  background: 'transparent',
  output_format: 'png',
  output_compression: 80,
  moderation: 'low',
  user: 'user-1',
  brand_new: 1,
}

for (const [model, lost] of [
  ['generate', 'brand_new, quality, style, background, output_format, output_compression, moderation, user'],
  ['predict', 'brand_new, quality, style, background, moderation, user'],
  ['chat', 'brand_new, quality, style, background, output_format, output_compression, moderation'],
] as const) {
  t.test(`${model}: what cannot cross is named, and refused where nothing may be lost`, async t => {
    const gateway = await started(t)
    const answer = await gateway.request(PATH, { body: { model, prompt: 'x', ...EXTRAS } })
    t.equal(answer.status, 200, answer.text.slice(0, 200))
    t.same(answer.header('x-gateway-dropped')?.split(', ').sort(), lost.split(', ').sort())
    const auto = { quality: 'auto', background: 'auto', moderation: 'auto', size: 'auto', n: 1, user: null }
    const plain = await gateway.request(PATH, { body: { model, prompt: 'x', ...auto, response_format: 'b64_json' } })
    t.equal(plain.header('x-gateway-dropped'), undefined)
  })

  t.test(`${model}: images by address are refused: the gateway keeps none`, async t => {
    const gateway = await started(t)
    const error = await openai(gateway)
      .images.generate({ model, prompt: 'x', response_format: 'url' })
      .catch((reason: unknown) => reason)
    t.match(error, { status: 400, param: 'response_format', code: 'untranslatable', message: /b64_json/ })
  })
}

t.test('strict: the first loss is the error', async t => {
  const gateway = await started(t)
  for (const [field, value] of Object.entries(EXTRAS)) {
    const answer = await gateway.request(PATH, { body: { model: 'strict', prompt: 'x', [field]: value } })
    t.equal(answer.status, 400, field)
    t.match(answer.json(), { error: { code: 'untranslatable', param: field } })
  }
  const partial = await gateway.request(PATH, {
    body: { model: 'strict', prompt: 'x', stream: true, partial_images: 2 },
  })
  t.match(partial.json(), { error: { param: 'partial_images' } })
  t.equal((await gateway.request(PATH, { body: { model: 'strict', prompt: 'x', size: '1024x1024' } })).status, 200)
})

t.test('partial images are not to be had, and the whole ones come all the same', async t => {
  const gateway = await started(t)
  const answer = await gateway.request(PATH, {
    body: { model: 'generate', prompt: 'x', stream: true, partial_images: 3 },
  })
  t.equal(answer.header('x-gateway-dropped'), 'partial_images')
  t.match(answer.header('content-type'), /^text\/event-stream/)
  const frames = sseFrames(Buffer.from(answer.text))
  t.same(
    frames.map(({ event }) => event),
    ['image_generation.completed'],
  )
})

t.test('values that mean nothing are refused by name, before anyone is asked', async t => {
  const gateway = await started(t)
  for (const [more, param] of [
    [{ size: 'large' }, 'size'],
    [{ size: '0x100' }, 'size'],
    [{ output_format: 'gif' }, 'output_format'],
    [{ response_format: 'pdf' }, 'response_format'],
  ] as const) {
    const answer = await gateway.request(PATH, { body: { model: 'generate', prompt: 'x', ...more } })
    t.match(answer.json(), { error: { param, type: 'invalid_request_error' } })
    t.equal(answer.status, 400)
  }
})

t.test('an upstream’s refusal reaches the client in the family’s shape', async t => {
  const gateway = await started(t)
  const error = await openai(gateway)
    .images.generate({ model: 'busy', prompt: 'x' })
    .catch((reason: unknown) => reason)
  t.ok(error instanceof OpenAI.RateLimitError)
  t.match(error, { code: 'rate_limit_exceeded', headers: { get: Function } })
})

for (const model of ['predict', 'relay', 'generate', 'chat'] as const) {
  t.test(`${model}, the native library: generateImages`, async t => {
    const gateway = await started(t)
    const numberOfImages = 2
    const answer = await predicting(gateway).models.generateImages({
      model: `models/${model}`,
      prompt: 'A red lighthouse',
      config: { numberOfImages, aspectRatio: '1:1', includeRaiReason: true },
    })
    t.equal(answer.generatedImages?.length, numberOfImages)
    for (const { image } of answer.generatedImages ?? []) {
      t.equal(image?.mimeType, 'image/png')
      t.match(card(image?.imageBytes), { width: 1024, height: 1024, description: 'A red lighthouse' })
    }
  })
}

t.test('the native library: what is refused is an error of its family', async t => {
  const gateway = await started(t)
  const error = await predicting(gateway)
    .models.generateImages({ model: 'models/chat', prompt: 'simulate_block' })
    .catch((reason: unknown) => reason)
  t.ok(error instanceof NativeError)
  t.match(error, { status: 400, message: /INVALID_ARGUMENT/ })
  const missing = await predicting(gateway)
    .models.generateImages({ model: 'models/nobody', prompt: 'x' })
    .catch((reason: unknown) => reason)
  t.match(missing, { status: 404, message: /not supported for predict/ })
  const body = { instances: [{ prompt: 'a' }, { prompt: 'b' }] }
  const two = await gateway.request('/v1beta/models/generate:predict', { body })
  t.match(two.json(), { error: { code: 400, status: 'INVALID_ARGUMENT' } })
})

t.test('the native library: the modality of images, whole and streamed', async t => {
  const gateway = await started(t)
  const request = {
    model: 'generate',
    contents: 'A blue boat',
    config: { responseModalities: [Modality.TEXT, Modality.IMAGE], imageConfig: { aspectRatio: '16:9' } },
  }
  const answer = await genai(gateway).models.generateContent(request)
  t.match(card(answer.data), { width: 1360, height: 768, description: 'A blue boat' })
  t.ok(answer.text)
  const parts = []
  for await (const chunk of await genai(gateway).models.generateContentStream(request))
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
  const drawn = parts.flatMap(({ inlineData }) => (inlineData === undefined ? [] : [inlineData.data]))
  t.match(drawn.map(card), [{ description: 'A blue boat' }])
})

/** Answers that hold no image, or none that can be shown. */
const BAD: readonly (readonly [title: string, model: string, answer: unknown, status: number, code: string])[] = [
  [
    'words alone',
    'g',
    { candidates: [{ content: { parts: [{ text: 'no' }] }, finishReason: 'STOP' }] },
    502,
    'bad_upstream_response',
  ],
  ['no image, it says', 'g', { candidates: [{ content: {}, finishReason: 'NO_IMAGE' }] }, 502, 'bad_upstream_response'],
  [
    'a filtered image',
    'g',
    { candidates: [{ content: {}, finishReason: 'IMAGE_SAFETY' }] },
    400,
    'content_policy_violation',
  ],
  ['a blocked prompt', 'g', { promptFeedback: { blockReason: 'SAFETY' } }, 400, 'content_policy_violation'],
  ['nothing', 'g', {}, 502, 'bad_upstream_response'],
  ['no predictions', 'p', {}, 502, 'bad_upstream_response'],
  [
    'predictions of the wrong kind',
    'p',
    { predictions: [1, {}, { bytesBase64Encoded: 2 }] },
    502,
    'bad_upstream_response',
  ],
  [
    'a prediction that was filtered',
    'p',
    { predictions: [{ raiFilteredReason: 'no' }] },
    400,
    'content_policy_violation',
  ],
  [
    'a chat without images',
    'c',
    { choices: [{ message: { content: 'no' }, finish_reason: 'stop' }] },
    502,
    'bad_upstream_response',
  ],
  [
    'a chat that refuses',
    'c',
    { choices: [{ message: { refusal: 'no' }, finish_reason: 'stop' }] },
    400,
    'content_policy_violation',
  ],
  [
    'a chat whose answer was filtered',
    'c',
    { choices: [{ finish_reason: 'content_filter' }] },
    400,
    'content_policy_violation',
  ],
]

const RAW = (origin: string): string => `version: 1
${CALLER}
upstreams:
  generate: { kind: native-generate, base: "${origin}", secret: { env: UPSTREAM_KEY } }
  chat: { kind: openai-compatible, base: "${origin}", secret: { env: UPSTREAM_KEY } }
models:
  g: generate
  p: { upstream: generate, traits: { images: predict } }
  c: { upstream: chat, traits: { images: chat } }
`

for (const [title, model, answer, status, code] of BAD) {
  t.test(`${model}: ${title} is ${code}, whole and streamed`, async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(json(answer))
    const gateway = await startTestGateway(t, RAW(upstream.origin))
    for (const stream of [false, true]) {
      const found = await gateway.request(PATH, { body: { model, prompt: 'x', stream } })
      t.equal(found.status, status, found.text)
      t.match(found.json(), { error: { code } })
    }
  })
}

t.test('some images filtered, the others come', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(
    json({ predictions: [{ raiFilteredReason: 'no' }, { bytesBase64Encoded: 'AAAA', mimeType: 'image/jpeg' }] }),
  )
  const gateway = await startTestGateway(t, RAW(upstream.origin))
  const answer = await gateway.request(PATH, { body: { model: 'p', prompt: 'x', n: 2 } })
  t.match(answer.json(), { data: [{ b64_json: 'AAAA' }], output_format: 'jpeg' })
  t.match(upstream.requests.items[0]?.json(), {
    instances: [{ prompt: 'x' }],
    parameters: { sampleCount: 2, includeRaiReason: true },
  })
})

t.test('images of chat models are beside the words or among them, as bytes or addresses', async t => {
  const upstream = await startRawUpstream(t)
  const image_url = { url: 'data:image/webp;base64,AAAA' }
  const choice = (message: unknown): unknown => ({ choices: [{ message, finish_reason: 'stop' }] })
  upstream.answer(
    json(choice({ content: 'Here.', images: [{ type: 'image_url', image_url }] })),
    json(
      choice({
        content: [
          { type: 'text', text: 'Here.' },
          { type: 'image_url', image_url },
        ],
      }),
    ),
    json(choice({ content: null, images: [{ image_url: { url: 'https://cdn.example/a.png' } }] })),
  )
  const gateway = await startTestGateway(t, RAW(upstream.origin))
  const body = { model: 'c', prompt: 'x', size: '2048x1152' }
  for (let i = 0; i < 2; i++) {
    const answer = await gateway.request(PATH, { body })
    t.match(answer.json(), { data: [{ b64_json: 'AAAA' }], output_format: 'webp' })
  }
  t.match((await gateway.request(PATH, { body })).json(), { data: [{ url: 'https://cdn.example/a.png' }] })
  t.match(upstream.requests.items[0]?.json(), {
    messages: [{ role: 'user', content: 'x' }],
    modalities: ['text', 'image'],
    image_config: { aspect_ratio: '16:9', image_size: '2K' },
  })
  const native = await gateway.request('/v1beta/models/c:predict', { body: { instances: [{ prompt: 'x' }] } })
  t.match(native.json(), { error: { code: 502, message: /URL of an image/ } }, 'whose clients know bytes alone')
})

proveNoLeak(t)
