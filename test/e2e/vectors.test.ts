import { Buffer } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { allowFault, relaysAnything } from '../helpers/emitted.js'
import { oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

/** Vectors in the form that the client asked for, regardless of what form the upstream writes. */

// Clients send members of their upstreams’ own, and a kind renames one.
relaysAnything()
allowFault(/output_dimension/)

/** Numbers that 32 bits hold exactly. */
const numbersOf = (length: number): number[] => Array.from({ length }, (_, i) => ((i % 64) - 32) / 64 + 1 / 4096)
const base64Of = (vector: readonly number[]): string => Buffer.from(Float32Array.from(vector).buffer).toString('base64')

type Form = 'numbers' | 'base64' | 'as asked'

/** Answers each input with the vector, in one form or in the one that the request names. */
function embeds(vector: readonly number[], form: Form): Script {
  return peer => {
    const { input, encoding_format: asked } = peer.request.json() as { input: unknown; encoding_format?: string }
    const isBase64 = form === 'base64' || (form === 'as asked' && asked === 'base64')
    const embedding = isBase64 ? base64Of(vector) : vector
    const inputs = Array.isArray(input) ? input.length : 1
    const data = Array.from({ length: inputs }, (_, index) => ({ object: 'embedding', index, embedding }))
    return json({
      object: 'list',
      note: 'ü "embedding": [',
      data,
      model: 'up-model',
      usage: { prompt_tokens: 5, total_tokens: 5 },
    })(peer)
  }
}

async function stage(t: Test, upstream = ''): Promise<{ gateway: TestGateway; up: RawUpstream }> {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(up.origin, '', upstream))
  return { gateway, up }
}

/** One vector in a few kilobytes, which is held; many, which pass unchanged; more than 256 KiB, which are read in steps. */
const SIZES: readonly (readonly [inputs: number, length: number])[] = [
  [1, 8],
  [3, 1536],
  [12, 3072],
]

for (const form of ['numbers', 'base64', 'as asked'] as const) {
  t.test(`an upstream that writes ${form}: every client reads the same vectors`, async t => {
    const { gateway, up } = await stage(t)
    const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
    for (const [inputs, length] of SIZES) {
      const vector = numbersOf(length)
      const input = Array.from({ length: inputs }, (_, i) => `text ${i}`)
      up.answer(embeds(vector, form))
      const byDefault = await sdk.embeddings.create({ model: 'm', input })
      const wanted = input.map(() => vector)
      const read = byDefault.data.map(one => Array.from(one.embedding))
      t.ok(isDeepStrictEqual(read, wanted), 'the default of the SDK')
      const asNumbers = await sdk.embeddings.create({ model: 'm', input, encoding_format: 'float' })
      const numbers = asNumbers.data.map(one => one.embedding)
      t.ok(isDeepStrictEqual(numbers, wanted), 'float')
      for (const asked of ['base64', 'float', undefined] as const) {
        const body = { model: 'm', input, ...(asked && { encoding_format: asked }) }
        const answer = await gateway.request('/v1/embeddings', { body })
        const { data, note, usage } = answer.json() as {
          data: { index: number; embedding: unknown }[]
          note: string
          usage: unknown
        }
        t.equal(note, 'ü "embedding": [')
        t.strictSame(usage, { prompt_tokens: 5, total_tokens: 5 })
        for (const [i, { index, embedding }] of data.entries()) {
          t.equal(index, i)
          if (asked === 'base64' || (asked === undefined && form === 'base64'))
            t.equal(embedding, base64Of(vector), `${length} ${asked}`)
          else t.ok(isDeepStrictEqual(embedding, vector), `${length} ${asked}`)
        }
      }
    }
    const line = await gateway.log.find(one => one.model === 'm' && one.total_tokens === 5)
    t.match(line, { status: 200 })
  })
}

t.test('a large request says what it wants, too', async t => {
  const { gateway, up } = await stage(t)
  up.answer(embeds([0.5, -0.25], 'numbers'))
  const body = { model: 'm', input: [`${'long '.repeat(80_000)}`], encoding_format: 'base64' }
  const answer = await gateway.request('/v1/embeddings', { body })
  t.match(answer.json(), { data: [{ embedding: base64Of([0.5, -0.25]) }] })
})

t.test('on a route of the user’s own, without a schema, as well', async t => {
  const up = await startRawUpstream(t)
  const own = 'routes: { POST /own/embeddings: { protocol: embeddings, model: body.model } }'
  const gateway = await startTestGateway(t, oneUpstream(up.origin, own))
  up.answer(embeds([0.5, -0.25], 'numbers'))
  for (const pad of ['', 'x'.repeat(4096)]) {
    const body = { model: 'm', input: `a${pad}`, encoding_format: 'base64' }
    t.match((await gateway.request('/own/embeddings', { body })).json(), {
      data: [{ embedding: base64Of([0.5, -0.25]) }],
    })
  }
})

t.test('what verbs make of an answer is looked at, and not what it was', async t => {
  const { gateway, up } = await stage(t, 'response: [{ rename: { data.*.vector: data.*.embedding } }]')
  up.answer(json({ data: [{ index: 0, vector: [0.5, -0.25] }], usage: { total_tokens: 1 } }))
  const answer = await gateway.request('/v1/embeddings', {
    body: { model: 'm', input: 'a', encoding_format: 'base64' },
  })
  t.match(answer.json(), { data: [{ embedding: base64Of([0.5, -0.25]) }] })
})

t.test('forms that the upstream alone knows pass unchanged', async t => {
  const { gateway, up } = await stage(t)
  const cases = [
    [{ embedding_type: 'base64' }, { embedding: base64Of([1]) }],
    [{ output_dtype: 'binary' }, { embedding: [1, 2] }],
    [{ encoding_format: 'ubinary' }, { embedding: 'AQI=' }],
    [{ encoding_format: 'base64' }, { embedding: [[1], [2]] }],
    [{ encoding_format: 'base64' }, { embedding: { float: [1] } }],
  ]
  for (const [more, given] of cases) {
    up.answer(json({ data: [given] }))
    const answer = await gateway.request('/v1/embeddings', { body: { model: 'm', input: 'a', ...more } })
    t.equal(answer.text, JSON.stringify({ data: [given] }), JSON.stringify(more))
  }
})

t.test('a text that is not a sequence of floats is not a vector', async t => {
  const { gateway, up } = await stage(t)
  up.answer(json({ data: [{ embedding: 'AQI=' }] }))
  const body = { model: 'm', input: 'a', encoding_format: 'float' }
  const answer = await gateway.request('/v1/embeddings', { body })
  t.equal(answer.status, 502)
  t.match(answer.json(), { error: { code: 'bad_upstream_response' } })
})

t.test('voyage refuses float: clients of both protocols reach it, regardless of what they ask for', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `${oneUpstream(up.origin).replace('models: { m: up }', 'models: { m: voyage }')}
`.replace(
      'upstreams:\n',
      `upstreams:\n  voyage: { kind: voyage, base: "${up.origin}", secret: { env: UPSTREAM_KEY } }\n`,
    ),
  )
  const vector = numbersOf(16)
  // Their API reference: "encoding_format: null or base64".
  up.answer(peer => {
    const { encoding_format: format } = peer.request.json() as { encoding_format?: unknown }
    const isKnown = format === undefined || format === null || format === 'base64'
    const refusal = { detail: `Value '${String(format)}' for encoding_format is not supported` }
    return isKnown ? embeds(vector, 'as asked')(peer) : json(refusal, { status: 400 })(peer)
  })
  const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  for (const asked of [undefined, 'float'] as const) {
    const answer = await sdk.embeddings.create({ model: 'm', input: 'a', ...(asked && { encoding_format: asked }) })
    t.strictSame(Array.from(answer.data[0]?.embedding ?? []), vector, String(asked))
  }
  const genai = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.origin } })
  const native = await genai.models.embedContent({
    model: 'm',
    contents: ['a', 'b'],
    config: { outputDimensionality: 16 },
  })
  t.strictSame(
    native.embeddings?.map(({ values }) => values),
    [vector, vector],
  )
  t.match(up.requests.items.at(-1)?.json(), { output_dimension: 16 })
})

proveNoLeak(t)
