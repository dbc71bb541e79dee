import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { allowFault } from '../helpers/emitted.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** What of images, reranking and embeddings does not cross, and is named; and what has a counterpart, and is carried. */

// Members of the upstreams’ own.
allowFault(/input_type/)

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function stage(test: Test, kinds: string) {
  const up = await startRawUpstream(test)
  const gateway = await startTestGateway(
    test,
    `version: 1\n${CALLER}\nupstreams: { up: { base: "${up.origin}", secret: { env: UPSTREAM_KEY }, ${kinds} } }\nmodels: { m: up }\n`,
  )
  return { up, gateway }
}

const dropped = (answer: { header(name: string): string | undefined }): string | undefined =>
  answer.header('x-gateway-dropped')
const openai = ({ origin, key }: TestGateway): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })

const native = (...images: readonly string[]) => ({
  candidates: images.map((data, index) => ({
    index,
    content: { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data } }] },
    finishReason: 'STOP',
  })),
})

t.test('one of two images that is filtered is reported', async t => {
  const { up, gateway } = await stage(t, 'kind: native-generate, speaks: { generate: off }')
  const ask = (n: number) => gateway.request('/v1/images/generations', { body: { model: 'm', prompt: 'a', n } })
  up.answer(json({ predictions: [{ bytesBase64Encoded: PNG, mimeType: 'image/png' }, { raiFilteredReason: 'no' }] }))
  const answer = await ask(2)
  t.equal(answer.status, 200)
  t.equal((answer.json() as { data: unknown[] }).data.length, 1)
  t.equal(dropped(answer), 'n')
  t.equal(dropped(await ask(1)), undefined)
})

t.test('a native model that gives one image of two says so, or is asked twice', async t => {
  const body = { model: 'm', prompt: 'a', n: 2 }
  const asked = await stage(t, 'kind: native-generate, speaks: { predict: off }')
  asked.up.answer(json(native(PNG)))
  t.equal(dropped(await asked.gateway.request('/v1/images/generations', { body })), 'n')
  t.match(asked.up.requests.items[0]?.json(), { generationConfig: { candidateCount: 2 } })

  const { up, gateway } = await stage(t, 'kind: gemini-native, speaks: { predict: off }')
  up.answer(json(native(PNG)))
  const answer = await gateway.request('/v1/images/generations', { body })
  t.equal(dropped(answer), undefined)
  t.equal((answer.json() as { data: unknown[] }).data.length, 2)
  t.equal(up.requests.items.length, 2)
  t.equal(JSON.stringify(up.requests.items[0]?.json()).includes('candidateCount'), false)
})

t.test('seeds go to native models, and what is switched off against the default is named', async t => {
  const { up, gateway } = await stage(t, 'kind: native-generate, speaks: { predict: off }')
  up.answer(json(native(PNG)))
  const ask = (parameters: object) =>
    gateway.request('/v1beta/models/m:predict', { body: { instances: [{ prompt: 'a' }], parameters } })
  t.equal(dropped(await ask({ seed: 7, sampleCount: 1 })), undefined)
  t.match(up.requests.items[0]?.json(), { generationConfig: { seed: 7 } })
  const names = 'parameters.addWatermark, parameters.enhancePrompt'
  const off = { addWatermark: false, enhancePrompt: false, includeSafetyAttributes: false }
  t.equal(dropped(await ask({ ...off, sampleCount: 1 })), names)
  t.equal(dropped(await ask({ addWatermark: true, enhancePrompt: true, sampleCount: 1 })), undefined)
  // Without a number the protocol has four.
  t.equal(dropped(await ask({ seed: 7 })), 'parameters.sampleCount')
})

t.test('members of reranking go where they are known, and are named elsewhere', async t => {
  const answer = { results: [{ index: 0, relevance_score: 0.5 }] }
  const v1 = { model: 'm', query: 'q', documents: ['a'], max_tokens_per_doc: 64, truncation: false }
  const v2 = { model: 'm', query: 'q', documents: ['a'], max_tokens_per_doc: 64, priority: 1 }
  const texts = 'kind: bearer, speaks: { rerank.v2: POST /rerank }'
  const objects = 'kind: bearer, speaks: { rerank: POST /rerank }'
  const cases = [
    [texts, '/v1/rerank', v1, 'max_tokens_per_doc, truncation', {}],
    [`${texts}, traits: { rerank: [truncation] }`, '/v1/rerank', v1, 'max_tokens_per_doc', { truncation: false }],
    [objects, '/v2/rerank', v2, 'priority, max_tokens_per_doc', {}],
    [`${objects}, traits: { rerank: [max_doc_length] }`, '/v2/rerank', v2, 'priority', { max_doc_length: 64 }],
    [`${texts}, traits: { rerank: [max_tokens_per_doc] }`, '/v1/rerank', v1, 'truncation', { max_tokens_per_doc: 64 }],
  ] as const
  for (const [kinds, path, body, lost, sent] of cases) {
    const { up, gateway } = await stage(t, kinds)
    up.answer(json(answer))
    const given = await gateway.request(path, { body })
    t.equal(given.status, 200, given.text)
    t.same(dropped(given)?.split(', ').sort(), lost.split(', ').sort(), kinds)
    const out = up.requests.items[0]?.json() as object
    t.match(out, sent)
    for (const name of ['max_tokens_per_doc', 'max_doc_length', 'priority', 'truncation'])
      t.equal(name in out, name in sent, `${kinds}: ${name}`)
  }
})

t.test('what vectors are for is said in the words of the upstream', async t => {
  const { up, gateway } = await stage(t, 'kind: voyage')
  up.answer(json({ data: [{ index: 0, embedding: [1, 2] }], usage: { total_tokens: 1 } }))
  const genai = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.origin } })
  for (const [taskType, word] of [
    ['RETRIEVAL_QUERY', 'query'],
    ['RETRIEVAL_DOCUMENT', 'document'],
  ] as const) {
    await genai.models.embedContent({ model: 'm', contents: 'a', config: { taskType } })
    t.match(up.requests.items.at(-1)?.json(), { input_type: word })
  }
  const body = { content: { parts: [{ text: 'a' }] }, taskType: 'FACT_VERIFICATION' }
  t.equal(dropped(await gateway.request('/v1beta/models/m:embedContent', { body })), 'taskType')
  t.equal(JSON.stringify(up.requests.items.at(-1)?.json()).includes('input_type'), false)
  const sdk = openai(gateway)
  t.equal((await sdk.embeddings.create({ model: 'm', input: 'a' })).data.length, 1)
})

proveNoLeak(t)
