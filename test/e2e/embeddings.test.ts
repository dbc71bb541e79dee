import { GoogleGenAI, ApiError as NativeError } from '@google/genai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'

/** Both libraries of embeddings against the gateway, before an upstream of each protocol of embeddings. */

const YAML = `version: 1
${CALLER}
upstreams:
  embeddings: { kind: simulator, speaks: { embed-content: off, embed-contents: off } }
  embed-contents: { kind: simulator, speaks: { embeddings: off, embed-content: off } }
  embed-content: { kind: simulator, speaks: { embeddings: off, embed-contents: off } }
models:
  "embeddings-*": { upstream: embeddings, as: "sim-embed*" }
  "embed-contents-*": { upstream: embed-contents, as: "sim-embed*" }
  "embed-content-*": { upstream: embed-content, as: "sim-embed*" }
  embeddings: { upstream: embeddings, as: sim-embed }
  embed-contents: { upstream: embed-contents, as: sim-embed }
  embed-content: { upstream: embed-content, as: sim-embed }
  strict: { targets: [{ upstream: embeddings, as: sim-embed }], strict: true }
  busy-embeddings: { upstream: embeddings, as: "sim-embed?status=429&retry-after=2" }
  busy-embed-contents: { upstream: embed-contents, as: "sim-embed?status=429&retry-after=2" }
  busy-embed-content: { upstream: embed-content, as: "sim-embed?status=429&retry-after=2" }
`

const UPSTREAMS = ['embeddings', 'embed-contents', 'embed-content'] as const
/** Protocols that embed several inputs at once. */
const SEVERAL = ['embeddings', 'embed-contents'] as const

const openai = ({ origin, key }: TestGateway): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })
const genai = ({ origin, key }: TestGateway): GoogleGenAI =>
  new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: origin } })

const TEXTS = ['The wall is red.', 'The wall is green.', 'Stocks fell on Monday.']

/** The same vectors, as far as 32 bits go. */
function close(t: Test, found: readonly number[] | undefined, wanted: readonly number[], where: string): void {
  t.equal(found?.length, wanted.length, where)
  t.ok(
    wanted.every((value, i) => Math.abs(value - (found?.[i] ?? Number.NaN)) < 1e-6),
    where,
  )
}

t.test('the compatible library', async t => {
  const gateway = await startTestGateway(t, YAML)
  const sdk = openai(gateway)
  const dimensions = 96
  const wanted = (
    await sdk.embeddings.create({ model: 'embeddings', input: TEXTS, dimensions, encoding_format: 'float' })
  ).data

  for (const model of SEVERAL) {
    await t.test(`${model}: several inputs, as numbers and in base64`, async t => {
      for (const encoding of [undefined, 'float', 'base64'] as const) {
        const answer = await sdk.embeddings.create({
          model,
          input: TEXTS,
          dimensions,
          ...(encoding && { encoding_format: encoding }),
        })
        t.equal(answer.data.length, 3)
        for (const [i, { index, embedding }] of answer.data.entries()) {
          t.equal(index, i)
          // Anyone who asks for base64 gets it as it is; by default the library asks for it and reads it.
          const numbers = encoding === 'base64' ? floats(embedding as unknown as string) : embedding
          close(t, numbers, wanted[i]?.embedding ?? [], `${i} ${encoding}`)
        }
        t.ok(answer.usage.prompt_tokens > 0)
        t.equal(answer.usage.total_tokens, answer.usage.prompt_tokens)
        t.equal(answer.object, 'list')
      }
    })
  }

  for (const model of UPSTREAMS) {
    await t.test(`${model}: one input, its dimensions, usage in the log`, async t => {
      const answer = await sdk.embeddings.create({ model, input: TEXTS[0] ?? '', dimensions: 64 })
      t.equal(answer.data[0]?.embedding.length, 64)
      const { prompt_tokens: input } = answer.usage
      const line = await gateway.log.find(one => one.model === model && one.input_tokens === input)
      t.match(line, { status: 200, upstream: model, total_tokens: input })
      const { data } = await sdk.embeddings.create({ model, input: TEXTS[0] ?? '' })
      t.ok((data[0]?.embedding.length ?? 0) >= 256, 'as many as the model gives by itself')
    })

    await t.test(`${model}: what an upstream refuses is the library's own error`, async t => {
      const refused = await sdk.embeddings
        .create({ model, input: 'a', dimensions: 100_000 })
        .catch((error: unknown) => error)
      t.ok(refused instanceof OpenAI.BadRequestError, String(refused))
      const busy = await sdk.embeddings.create({ model: `busy-${model}`, input: 'a' }).catch((error: unknown) => error)
      t.ok(busy instanceof OpenAI.RateLimitError, String(busy))
      if (busy instanceof OpenAI.RateLimitError) {
        t.equal(busy.code, 'rate_limit_exceeded')
        t.equal(busy.headers?.get('retry-after'), '2')
      }
    })
  }

  await t.test('a user is named where it is left out', async t => {
    const { response } = await sdk.embeddings
      .create({ model: 'embed-contents', input: 'a', user: 'someone' })
      .withResponse()
    t.equal(response.headers.get('x-gateway-dropped'), 'user')
    const same = await sdk.embeddings.create({ model: 'embeddings', input: 'a', user: 'someone' }).withResponse()
    t.equal(same.response.headers.get('x-gateway-dropped'), null)
  })

  for (const model of ['embed-contents', 'embed-content']) {
    await t.test(`${model}: tokens mean nothing there, which the error says`, async t => {
      for (const [input, param] of [
        [[1, 2, 3], 'input'],
        [[[1, 2], [3]], 'input[0]'],
      ] as const) {
        if (model === 'embed-content' && Array.isArray(input[0])) continue
        const error = await sdk.embeddings
          .create({ model, input: input as unknown as number[] })
          .catch((reason: unknown) => reason)
        t.match(error, { status: 400, code: 'untranslatable', param })
      }
    })
  }

  await t.test('an input that names another model than the path is refused, no matter who is to embed it', async t => {
    const content = { parts: [{ text: 'a' }] }
    for (const model of ['embeddings', 'embed-contents']) {
      const ask = (second: string) =>
        gateway.request(`/v1beta/models/${model}:batchEmbedContents`, {
          body: {
            requests: [
              { model: `models/${model}`, content },
              { model: second, content },
            ],
          },
        })
      t.equal((await ask(model)).status, 200, 'with the name of the collection, or without')
      const refused = await ask('models/other')
      t.equal(refused.status, 400)
      t.match(refused.json(), { error: { message: /^'requests\[1\]\.model' must be the model of the path/ } })
    }
  })

  await t.test('an upstream that embeds one input at a time gets one', async t => {
    const error = await sdk.embeddings
      .create({ model: 'embed-content', input: TEXTS })
      .catch((reason: unknown) => reason)
    t.match(error, { status: 400, code: 'untranslatable', param: 'input[1]' })
    const { data } = await sdk.embeddings.create({ model: 'embed-content', input: TEXTS.slice(0, 1), dimensions })
    close(t, data[0]?.embedding, wanted[0]?.embedding ?? [], 'a list of one')
  })

  await t.test('what a text is for goes to those who have a word for it', async t => {
    const body = { model: 'embed-contents', input: 'a', input_type: 'query' } as OpenAI.EmbeddingCreateParams
    const { response } = await sdk.embeddings.create(body).withResponse()
    t.equal(response.headers.get('x-gateway-dropped'), null)
  })
})

t.test('the native library', async t => {
  const gateway = await startTestGateway(t, YAML)
  const sdk = genai(gateway)
  const config = { outputDimensionality: 96 }
  const wanted = (await sdk.models.embedContent({ model: 'embed-contents', contents: TEXTS, config })).embeddings ?? []

  for (const model of SEVERAL) {
    await t.test(`${model}: several inputs`, async t => {
      const { embeddings = [] } = await sdk.models.embedContent({ model, contents: TEXTS, config })
      t.equal(embeddings.length, 3)
      for (const [i, { values }] of embeddings.entries()) close(t, values, wanted[i]?.values ?? [], `${i}`)
    })
  }

  for (const model of UPSTREAMS) {
    await t.test(`${model}: one input, and its dimensions`, async t => {
      const { embeddings = [] } = await sdk.models.embedContent({ model, contents: TEXTS.slice(0, 1), config })
      t.equal(embeddings.length, 1)
      close(t, embeddings[0]?.values, wanted[0]?.values ?? [], model)
    })

    await t.test(`${model}: what an upstream refuses is the library's own error`, async t => {
      const ask = (model: string, outputDimensionality: number) =>
        sdk.models
          .embedContent({ model, contents: ['a'], config: { outputDimensionality } })
          .catch((error: unknown) => error)
      const refused = await ask(model, 100_000)
      t.ok(refused instanceof NativeError, String(refused))
      t.match(refused, { status: 400 })
      const busy = await ask(`busy-${model}`, 8)
      t.ok(busy instanceof NativeError, String(busy))
      t.match(busy, { status: 429, message: /RESOURCE_EXHAUSTED/ })
      // What the simulator says of its own accord is relayed as it is, with the wait in a header.
      if (model === 'embeddings') t.match(busy, { message: /"retryDelay":"2s"/ })
    })
  }

  await t.test('an upstream that embeds one input at a time gets one', async t => {
    const error = await sdk.models
      .embedContent({ model: 'embed-content', contents: TEXTS })
      .catch((reason: unknown) => reason)
    t.match(error, { status: 400, message: /one input at a time/ })
  })

  await t.test('task and title are carried to native upstreams, and named where they are left out', async t => {
    const settings = { taskType: 'RETRIEVAL_DOCUMENT', title: 'Walls', outputDimensionality: 8 }
    const told = async (model: string): Promise<string | undefined> => {
      const { sdkHttpResponse } = await sdk.models.embedContent({ model, contents: ['a'], config: settings })
      return sdkHttpResponse?.headers?.['x-gateway-dropped']
    }
    t.equal(await told('embed-contents'), undefined)
    t.equal(await told('embed-content'), undefined)
    t.equal(await told('embeddings'), 'requests[].taskType, requests[].title')
  })

  await t.test('where nothing may be left out, it is refused by its name', async t => {
    const ask = { model: 'strict', contents: ['a'], config: { taskType: 'CLUSTERING' } }
    const error = await sdk.models.embedContent(ask).catch((reason: unknown) => reason)
    t.match(error, { status: 400, message: /taskType/ })
  })
})

t.test('embedContent, which the library does not call: one input, in either way of writing names', async t => {
  const gateway = await startTestGateway(t, YAML)
  const headers = { 'x-goog-api-key': gateway.key }
  const ask = async (model: string, body: object) => {
    const answer = await gateway.request(`/v1beta/models/${model}:embedContent`, { headers, body })
    t.equal(answer.status, 200, answer.text)
    return answer.json() as { embedding: { values: number[] }; usageMetadata?: { promptTokenCount?: number } }
  }
  const content = { parts: [{ text: TEXTS[0] }] }
  const wanted = (await ask('embed-content', { content, outputDimensionality: 32 })).embedding.values
  for (const model of UPSTREAMS) {
    await t.test(model, async t => {
      for (const size of [
        { outputDimensionality: 32 },
        // Relayed, it would go out as the client wrote it.
        ...(model === 'embed-content' ? [] : [{ output_dimensionality: 32 }]),
        { embedContentConfig: { outputDimensionality: 32 } },
      ]) {
        const { embedding, usageMetadata } = await ask(model, { content, ...size })
        close(t, embedding.values, wanted, JSON.stringify(size))
        t.ok((usageMetadata?.promptTokenCount ?? 0) > 0)
      }
    })
  }
})

function floats(base64: string): readonly number[] {
  const bytes = Buffer.from(base64, 'base64')
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4))
}

proveNoLeak(t)
