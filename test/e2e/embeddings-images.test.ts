import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { allowFault } from '../helpers/emitted.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'

/** Images beside texts in requests for embeddings, by both libraries, before an upstream of each protocol. */

// Servers of models that embed images take more than the protocol's reference knows.
allowFault(/^input/)

const YAML = `version: 1
${CALLER}
upstreams:
  sim: { kind: simulator }
  compatible: { kind: simulator, speaks: { embed-content: off, embed-contents: off } }
  several: { kind: simulator, speaks: { embeddings: off, embed-content: off } }
  single: { kind: simulator, speaks: { embeddings: off, embed-contents: off } }
models:
  relayed: { upstream: sim, as: sim-embed }
  parts: { upstream: compatible, as: sim-embed, traits: { image_inputs: parts } }
  objects: { upstream: compatible, as: sim-embed, traits: { image_inputs: objects } }
  several: { upstream: several, as: sim-embed, traits: { image_inputs: parts } }
  single: { upstream: single, as: sim-embed, traits: { image_inputs: parts } }
  texts-compatible: { upstream: compatible, as: sim-embed }
  texts-native: { upstream: several, as: sim-embed }
`

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const URL = `data:image/png;base64,${PNG}`

const started = (t: Test): Promise<TestGateway> => startTestGateway(t, YAML)

/** The library's types know texts and tokens alone. */
async function compatible({ origin, key }: TestGateway, model: string, input: unknown): Promise<number[][]> {
  const sdk = new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })
  const { data } = await sdk.embeddings.create({ model, input: input as string[], dimensions: 32 })
  return data.map(({ embedding }) => embedding)
}

async function native({ origin, key }: TestGateway, model: string, parts: readonly object[]): Promise<number[]> {
  const sdk = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: origin } })
  const config = { outputDimensionality: 32 }
  const { embeddings = [] } = await sdk.models.embedContent({ model, contents: [{ parts: [...parts] }], config })
  return embeddings[0]?.values ?? []
}

function near(
  t: Test,
  found: readonly number[] | undefined,
  wanted: readonly number[] | undefined,
  where: string,
): void {
  t.equal(found?.length, 32, where)
  t.ok(
    wanted?.every((value, i) => Math.abs(value - (found?.[i] ?? Number.NaN)) < 1e-6),
    where,
  )
}

t.test('the compatible library: an image is the same vector by every upstream, in every way of writing it', async t => {
  const gateway = await started(t)
  const [wanted] = await compatible(gateway, 'relayed', [{ image: PNG }])
  for (const model of ['relayed', 'parts', 'objects', 'several'] as const) {
    const ways = [{ image: PNG }, { image: URL }, { content: [{ type: 'image_url', image_url: { url: URL } }] }]
    const vectors = await compatible(gateway, model, ['a text', ...ways])
    t.equal(vectors.length, 4)
    for (const vector of vectors.slice(1)) near(t, vector, wanted, model)
  }
  near(t, (await compatible(gateway, 'single', [{ image: PNG }]))[0], wanted, 'single')
})

t.test('the compatible library: a text and an image in one vector, where the model takes them so', async t => {
  const gateway = await started(t)
  const both = [
    {
      content: [
        { type: 'text', text: 'a cat' },
        { type: 'image_url', image_url: { url: URL } },
      ],
    },
  ]
  const [wanted] = await compatible(gateway, 'relayed', both)
  for (const model of ['parts', 'several', 'single'])
    near(t, (await compatible(gateway, model, both))[0], wanted, model)
})

t.test('the native library: an image beside a text is the same vector by every upstream', async t => {
  const gateway = await started(t)
  const image = { inlineData: { mimeType: 'image/png', data: PNG } }
  for (const parts of [[image], [{ text: 'a cat' }, image]]) {
    const wanted = await native(gateway, 'relayed', parts)
    for (const model of ['parts', 'several', 'single'])
      near(t, await native(gateway, model, parts), wanted, `${model} ${parts.length}`)
  }
  near(t, await native(gateway, 'objects', [image]), await native(gateway, 'relayed', [image]), 'objects')
})

t.test('a model that is not declared so is given no image, and the error says where it is', async t => {
  const gateway = await started(t)
  const message = /the model is declared to embed only texts/
  const error = await compatible(gateway, 'texts-native', ['a', { image: PNG }]).catch((reason: unknown) => reason)
  t.match(error, { status: 400, code: 'untranslatable', param: 'input[1]', message })
  const content = { parts: [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: PNG } }] }
  const path = '/v1beta/models/texts-compatible:embedContent'
  const answer = await gateway.request(path, { body: { content } })
  t.equal(answer.status, 400)
  t.match(answer.json(), { error: { status: 'INVALID_ARGUMENT', message } })
  t.match(answer.json(), { error: { message: /'content\.parts\[1\]'/ } })
})

t.test('a model that takes one thing a vector is not given two', async t => {
  const gateway = await started(t)
  const both = [{ text: 'a cat', image: PNG }]
  const error = await native(gateway, 'objects', [
    { text: 'a' },
    { inlineData: { mimeType: 'image/png', data: PNG } },
  ]).catch((reason: unknown) => reason)
  t.match(error, { status: 400, message: /a text or an image, not both/ })
  t.equal((await compatible(gateway, 'several', both)).length, 1, 'others are')
})

proveNoLeak(t)
