import t from 'tap'
import { decodePng } from '../image/decode-png.js'
import { dataOf, post, simulator } from '../support.js'

/** Images that are made by other protocols than the one of images, and images that are embedded. */

const GENERATE = '/v1beta/models/sim-generate:generateContent'
const STREAM = '/v1beta/models/sim-generate:streamGenerateContent?alt=sse'
const PREDICT = '/v1beta/models/sim-image:predict'
const CHAT = '/v1/chat/completions'

// biome-ignore lint/suspicious/noExplicitAny: parsed answers are looked into freely here
type Json = any

const contents = [{ role: 'user', parts: [{ text: 'A blue boat' }] }]
const messages = [{ role: 'user', content: 'A blue boat' }]
const drawing = { responseModalities: ['TEXT', 'IMAGE'] }

function card(base64: string): ReturnType<typeof decodePng> {
  return decodePng(Buffer.from(base64, 'base64'))
}

t.test('the native protocol draws behind its words, or without any, whole and streamed alike', async t => {
  const upstream = await simulator(t)
  const ask = async (generationConfig: object, path = GENERATE) => post(upstream, path, { contents, generationConfig })
  const imageConfig = { aspectRatio: '16:9', imageSize: '1K' }
  const whole: Json = JSON.parse((await ask({ ...drawing, imageConfig })).text)
  const [words, image] = whole.candidates[0].content.parts
  t.match(words, { text: /A blue boat/ })
  t.equal(image.inlineData.mimeType, 'image/png')
  t.match(card(image.inlineData.data), { width: 1360, height: 768, description: 'A blue boat' })
  t.ok(whole.usageMetadata.candidatesTokenCount > 1290)

  const alone: Json = JSON.parse((await ask({ responseModalities: ['IMAGE'] })).text)
  t.match(alone.candidates[0].content.parts, [{ inlineData: { mimeType: 'image/png' } }])
  t.equal(alone.usageMetadata.candidatesTokenCount, 1290)

  const streamed = await ask({ ...drawing, imageConfig }, STREAM)
  const parts = dataOf(streamed.text.replaceAll('\r', ''))
    .map(data => JSON.parse(data) as Json)
    .flatMap(document => document.candidates[0].content.parts)
  t.same(
    parts.filter(part => part.inlineData !== undefined),
    [image],
  )
})

t.test('chat draws beside its words', async t => {
  const upstream = await simulator(t)
  const body = { model: 'sim-text', messages, modalities: ['image', 'text'], image_config: { aspect_ratio: '3:2' } }
  const whole: Json = JSON.parse((await post(upstream, CHAT, body)).text)
  const { message } = whole.choices[0]
  t.match(message.content, /A blue boat/)
  const { url } = message.images[0].image_url
  t.match(card(url.replace('data:image/png;base64,', '')), { width: 1248, height: 832, description: 'A blue boat' })
  t.ok(whole.usage.completion_tokens > 1290)
  const streamed = dataOf((await post(upstream, CHAT, { ...body, stream: true })).text).slice(0, -1)
  const images = streamed.flatMap(data => (JSON.parse(data) as Json).choices[0]?.delta.images ?? [])
  t.same(images, message.images)
})

t.test(':predict draws four images, or as many as are requested', async t => {
  const upstream = await simulator(t)
  const ask = async (parameters: object, prompt = 'A blue boat'): Promise<Json> =>
    JSON.parse((await post(upstream, PREDICT, { instances: [{ prompt }], parameters })).text)
  t.equal((await ask({})).predictions.length, 4)
  const { predictions } = await ask({ sampleCount: 1, aspectRatio: '9:16' })
  t.match(predictions, [{ mimeType: 'image/png' }])
  const jpeg = await ask({ sampleCount: 1, outputOptions: { mimeType: 'image/jpeg' } })
  t.match(jpeg.predictions, [{ mimeType: 'image/jpeg', bytesBase64Encoded: /^\/9j\// }])
  t.match(card(predictions[0].bytesBase64Encoded), { width: 768, height: 1360, description: 'A blue boat' })
  t.same(await ask({}, 'simulate_block'), {})
  t.match(await ask({ includeRaiReason: true }, 'simulate_block'), { predictions: [{ raiFilteredReason: String }] })
})

t.test('refusals and blocks draw nothing', async t => {
  const upstream = await simulator(t)
  const ask = async (text: string): Promise<Json> => {
    const body = { contents: [{ role: 'user', parts: [{ text }] }], generationConfig: drawing }
    return JSON.parse((await post(upstream, GENERATE, body)).text)
  }
  t.match(await ask('simulate_refusal'), { candidates: [{ finishReason: 'IMAGE_SAFETY', content: { role: 'model' } }] })
  t.match(await ask('simulate_block'), { promptFeedback: { blockReason: 'SAFETY' } })
})

const BAD: readonly (readonly [title: string, path: string, body: object])[] = [
  ['video', GENERATE, { contents, generationConfig: { responseModalities: ['VIDEO'] } }],
  ['an invalid shape', GENERATE, { contents, generationConfig: { ...drawing, imageConfig: { aspectRatio: 'x' } } }],
  ['an invalid size', GENERATE, { contents, generationConfig: { ...drawing, imageConfig: { imageSize: '9K' } } }],
  ['a long strip', GENERATE, { contents, generationConfig: { ...drawing, imageConfig: { aspectRatio: '1:9' } } }],
  [
    'too many pixels',
    GENERATE,
    { contents, generationConfig: { ...drawing, imageConfig: { imageSize: '2K' }, candidateCount: 3 } },
  ],
  [
    'a chat with an invalid shape',
    CHAT,
    { model: 'sim-text', messages, modalities: ['image'], image_config: { aspect_ratio: '' } },
  ],
  ['too many chats', CHAT, { model: 'sim-text', messages, modalities: ['image'], n: 11 }],
  ['two instances', PREDICT, { instances: [{ prompt: 'a' }, { prompt: 'b' }] }],
  ['no prompt', PREDICT, { instances: [{}] }],
  [
    'another format',
    PREDICT,
    { instances: [{ prompt: 'a' }], parameters: { outputOptions: { mimeType: 'image/bmp' } } },
  ],
  ['five images', PREDICT, { instances: [{ prompt: 'a' }], parameters: { sampleCount: 5 } }],
  ['what is unknown', PREDICT, { instances: [{ prompt: 'a' }], more: 1 }],
  ['an image by address', '/v1/embeddings', { model: 'sim-embed', input: [{ image: 'https://images.example/a.png' }] }],
  ['an input that is a number', '/v1/embeddings', { model: 'sim-embed', input: [{ text: 'a' }, 1] }],
]

for (const [title, path, body] of BAD) {
  t.test(`${title} is refused`, async t => {
    const answer = await post(await simulator(t), path, body)
    t.equal(answer.status, 400, answer.text.slice(0, 200))
  })
}

t.test('an image is embedded as what it is: a card is near its words, any other is like itself alone', async t => {
  const upstream = await simulator(t)
  const drawn: Json = JSON.parse(
    (await post(upstream, PREDICT, { instances: [{ prompt: 'A blue boat' }], parameters: { sampleCount: 1 } })).text,
  )
  const image: string = drawn.predictions[0].bytesBase64Encoded
  const input = ['A blue boat', { image }, { image: `data:image/png;base64,${image}` }, { text: 'A blue boat' }]
  const other = [
    { image: 'AAAA' },
    { content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
    { image: 'AAAB' },
  ]
  const answer: Json = JSON.parse(
    (await post(upstream, '/v1/embeddings', { model: 'sim-embed', input: [...input, ...other], dimensions: 32 })).text,
  )
  const vectors = answer.data.map(({ embedding }: { embedding: number[] }) => JSON.stringify(embedding))
  t.equal(new Set(vectors.slice(0, 4)).size, 1)
  t.equal(vectors[4], vectors[5])
  t.equal(new Set(vectors).size, 3)
  const content = { parts: [{ inlineData: { mimeType: 'image/png', data: image } }] }
  const native: Json = JSON.parse(
    (await post(upstream, '/v1beta/models/sim-embed:embedContent', { content, outputDimensionality: 32 })).text,
  )
  t.equal(JSON.stringify(native.embedding.values), vectors[0])
})
