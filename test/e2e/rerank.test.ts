import { CohereClient, CohereError, CohereTimeoutError, Cohere as Library } from 'cohere-ai'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Reranking: the official library of either version, before upstreams of each version and of servers with ways of their own. */

const SIMULATED = `version: 1
${CALLER}
upstreams:
  first: { kind: simulator, speaks: { rerank.v2: off } }
  second: { kind: simulator, speaks: { rerank: off } }
models:
  first: { upstream: first, as: sim-rerank }
  second: { upstream: second, as: sim-rerank }
  "first?*": { upstream: first, as: "sim-rerank?*" }
  "second?*": { upstream: second, as: "sim-rerank?*" }
  strict: { targets: [{ upstream: second, as: sim-rerank }], strict: true }
`
const MODELS = ['first', 'second'] as const

const QUERY = 'the capital of Norway'
const DOCUMENTS = ['Paris is the capital of France.', 'Ruby is a language.', 'The capital of Norway is Oslo.']
const ORDER = [2, 0, 1]

const library = ({ origin, key }: TestGateway): CohereClient =>
  new CohereClient({ token: key, environment: origin, maxRetries: 0 })

t.test('the official library, first version: texts and objects, no matter who ranks them', async t => {
  const gateway = await startTestGateway(t, SIMULATED)
  const sdk = library(gateway)
  for (const model of MODELS) {
    await t.test(`${model}: the order, the scores, the usage in the log`, async t => {
      const { results, id } = await sdk.rerank({ model, query: QUERY, documents: DOCUMENTS })
      t.same(
        results.map(({ index }) => index),
        ORDER,
      )
      t.ok(results.every(({ relevanceScore }, i) => relevanceScore <= (results[i - 1]?.relevanceScore ?? 1)))
      t.ok((id ?? '').length > 8)
      const line = await gateway.log.find(one => one.model === model && one.route === 'POST /v1/rerank')
      t.match(line, { status: 200, upstream: model, input_tokens: Number, total_tokens: Number })
    })

    await t.test(`${model}: documents come back as they were, texts in objects`, async t => {
      const documents = [{ text: 'Oslo', page: '7' }, 'The capital of Norway']
      const { results } = await sdk.rerank({ model, query: 'Oslo', documents, returnDocuments: true, topN: 1 })
      t.same(
        results.map(({ document }) => document),
        [documents[0]],
      )
      const texts = await sdk.rerank({ model, query: 'Norway', documents, returnDocuments: true })
      t.match(texts.results[0], { index: 1, document: { text: 'The capital of Norway' } })
    })

    await t.test(`${model}: objects are ranked by the members that are named`, async t => {
      const documents = [
        { text: 'x', title: 'Paris' },
        { text: 'x', title: 'Oslo' },
      ]
      const { results } = await sdk.rerank({ model, query: 'Oslo', documents, rankFields: ['title'] })
      t.equal(results[0]?.index, 1)
    })
  }

  await t.test('both upstreams give the same scores', async t => {
    const [one, other] = await Promise.all(
      MODELS.map(async model => (await sdk.rerank({ model, query: QUERY, documents: DOCUMENTS, topN: 2 })).results),
    )
    t.equal(one?.length, 2)
    t.same(one, other)
  })

  await t.test('what an upstream of texts alone cannot be told is named, or refused', async t => {
    const body = { model: 'second', query: 'a', documents: ['a'], truncation: true, max_chunks_per_doc: 3, made_up: 1 }
    const answer = await gateway.request('/v1/rerank', { body })
    t.equal(answer.status, 200, answer.text)
    t.equal(answer.header('x-gateway-dropped'), 'max_chunks_per_doc, made_up, truncation')
    const strict = await gateway.request('/v1/rerank', { body: { ...body, model: 'strict' } })
    t.equal(compatibleError(t, strict, 400, 'untranslatable').param, 'max_chunks_per_doc')
    const images = { model: 'second', query: 'a', documents: ['a', { image: 'https://images.example/a.png' }] }
    const refused = await gateway.request('/v1/rerank', { body: images })
    t.equal(compatibleError(t, refused, 400, 'untranslatable').param, 'documents[1]')
  })
})

t.test('the official library, second version: texts, no matter who ranks them', async t => {
  const gateway = await startTestGateway(t, SIMULATED)
  const { v2: sdk } = library(gateway)
  for (const model of MODELS) {
    await t.test(`${model}: the order, the scores, the usage in the log`, async t => {
      const { results, meta } = await sdk.rerank({ model, query: QUERY, documents: DOCUMENTS, topN: 2 })
      t.same(
        results.map(({ index }) => index),
        ORDER.slice(0, 2),
      )
      t.match(meta, { apiVersion: { version: '2' }, tokens: { inputTokens: Number } })
      const line = await gateway.log.find(one => one.model === model && one.route === 'POST /v2/rerank')
      t.match(line, { status: 200, upstream: model, input_tokens: meta?.tokens?.inputTokens })
    })
  }

  await t.test('what the first version cannot be told is named', async t => {
    const body = { model: 'first', query: 'a', documents: ['a'], priority: 3 }
    const answer = await gateway.request('/v2/rerank', { body })
    t.equal(answer.header('x-gateway-dropped'), 'priority')
  })
})

t.test('errors are those that the library knows, in the shape of each version', async t => {
  const gateway = await startTestGateway(t, SIMULATED)
  const sdk = library(gateway)
  const wrongKey = new CohereClient({ token: 'wrong', environment: gateway.origin, maxRetries: 0 })
  const ask = { query: 'a', documents: ['a'] }
  for (const version of ['v1', 'v2'] as const) {
    const rerank = (client: CohereClient, model: string, more: object = {}): Promise<unknown> =>
      (version === 'v1'
        ? client.rerank({ ...ask, model, ...more })
        : client.v2.rerank({ ...ask, model, ...more })
      ).then(
        () => undefined,
        (error: unknown) => error,
      )
    const cases = [
      [await rerank(wrongKey, 'first'), Library.UnauthorizedError],
      [await rerank(sdk, 'nobody'), Library.NotFoundError],
      [await rerank(sdk, 'first', { documents: [] }), Library.BadRequestError],
      [await rerank(sdk, 'first', { topN: 0 }), Library.BadRequestError],
      [await rerank(sdk, 'first?status=429'), Library.TooManyRequestsError],
      [await rerank(sdk, 'second?status=429'), Library.TooManyRequestsError],
      [await rerank(sdk, 'first?status=422'), Library.UnprocessableEntityError],
      [await rerank(sdk, 'second?status=503'), Library.ServiceUnavailableError],
      [await rerank(sdk, 'first?html'), CohereError],
      [await rerank(sdk, 'second?malformed'), CohereError],
    ] as const
    for (const [i, [error, type]] of cases.entries()) {
      const where = `${version} ${i}: ${error}`
      t.ok(error instanceof type && !(error instanceof CohereTimeoutError), where)
      if (!(error instanceof CohereError)) continue
      t.match(
        error.body,
        version === 'v1' ? { error: { message: String, type: String } } : { id: String, message: String },
        where,
      )
    }
  }
})

/** Kinds of upstream, each with an answer in its own way, and what is asked of it for `REQUEST`. */
interface Dialect {
  readonly kind: string
  readonly target: string
  readonly sent: Readonly<Record<string, unknown>>
  readonly answer: Readonly<Record<string, unknown>>
}

const REQUEST = {
  query: 'rain',
  documents: ['Sun.', { text: 'Rain.', page: 3 }],
  top_n: 1,
  return_documents: true,
} as const
const TEXTS = { query: 'rain', documents: ['Sun.', 'Rain.'] }
const RELAYED = { ...REQUEST }
const ranked = (more: object = {}) => [{ index: 1, relevance_score: 0.75, ...more }]
const usage = { total_tokens: 7 }

const DIALECTS: readonly Dialect[] = [
  {
    kind: 'cohere',
    target: '/v1/rerank',
    sent: RELAYED,
    answer: {
      id: 'a',
      results: ranked({ document: REQUEST.documents[1] }),
      meta: { billed_units: { search_units: 1 }, tokens: { input_tokens: 7 } },
    },
  },
  {
    kind: 'jina',
    target: '/v1/rerank',
    sent: RELAYED,
    answer: { model: 'm', object: 'list', usage, results: ranked({ document: REQUEST.documents[1] }) },
  },
  {
    kind: 'together',
    target: '/v1/rerank',
    sent: RELAYED,
    answer: { model: 'm', object: 'rerank', usage, results: ranked({ document: REQUEST.documents[1] }) },
  },
  {
    kind: 'voyage',
    target: '/v1/rerank',
    sent: { ...TEXTS, top_k: 1 },
    answer: { object: 'list', data: ranked(), model: 'm', usage },
  },
  {
    kind: 'llama-cpp',
    target: '/v1/rerank',
    sent: { ...TEXTS, top_n: 1 },
    // Older servers know nothing of top_n and do not sort.
    answer: {
      model: 'm',
      object: 'list',
      usage: { prompt_tokens: 7, total_tokens: 7 },
      results: [{ index: 0, relevance_score: -9.5 }, ...ranked()],
    },
  },
  {
    kind: 'vllm',
    target: '/v2/rerank',
    sent: { ...TEXTS, top_n: 1 },
    answer: { id: 'score-1', model: 'm', usage, results: ranked({ document: { text: 'Rain.' } }) },
  },
]

async function dialect(t: Test, kind: string): Promise<{ upstream: RawUpstream; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t)
  const yaml = `version: 1
${CALLER}
upstreams: { up: { kind: ${kind}, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY } } }
models: { m: up }
`
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

for (const { kind, target, sent, answer } of DIALECTS) {
  t.test(`kind ${kind}: asked in its own way, answers in ours`, async t => {
    const { upstream, gateway } = await dialect(t, kind)
    upstream.answer(json(answer))
    const got = await gateway.request('/v1/rerank', { body: { model: 'm', ...REQUEST } })
    t.equal(got.status, 200, got.text)
    const [request] = upstream.requests.items
    t.equal(request?.target, target)
    t.same(request?.json(), { model: 'm', ...sent })
    const { results } = got.json() as { results: object[] }
    t.same(results, [{ index: 1, relevance_score: 0.75, document: REQUEST.documents[1] }])
    t.match(await gateway.log.find(one => one.model === 'm'), { status: 200, input_tokens: 7, total_tokens: 7 })
  })

  t.test(`kind ${kind}: texts for clients of the second version`, async t => {
    const { upstream, gateway } = await dialect(t, kind)
    upstream.answer(json(answer))
    const got = await gateway.request('/v2/rerank', { body: { model: 'm', ...TEXTS, top_n: 1 } })
    t.equal(got.status, 200, got.text)
    t.match(upstream.requests.items[0]?.json(), TEXTS)
    const { results } = got.json() as { results: { index: number }[] }
    t.match(
      results.find(({ index }) => index === 1),
      { relevance_score: 0.75 },
    )
    t.match(await gateway.log.find(one => one.model === 'm'), { status: 200, input_tokens: 7 })
  })
}

t.test('a hostile upstream: a clear 502 in the family of the client, and the next request is served', async t => {
  const answers: readonly (readonly [string, object | readonly unknown[]])[] = [
    ['an array', []],
    ['no results', {}],
    ['results that are a text', { data: 'x' }],
    ['a document that no one sent', { data: [{ index: 76, relevance_score: 1 }] }],
    ['a document twice', { data: [...ranked(), ...ranked()] }],
    ['a score that is a text', { data: [{ index: 0, relevance_score: '1' }] }],
    ['an error with status 200', { error: { message: 'no such engine' } }],
    ['places of the prototype', JSON.parse('{"data":[{"__proto__":{"index":0,"relevance_score":1}}]}')],
  ]
  const { upstream, gateway } = await dialect(t, 'voyage')
  for (const [what, answer] of answers) {
    upstream.answer(json(answer))
    const got = await gateway.request('/v1/rerank', { body: { model: 'm', ...REQUEST } })
    const { message } = compatibleError(t, got, 502)
    t.notMatch(message, /undefined|NaN/, what)
  }
  upstream.answer(json({ data: ranked(), usage: { total_tokens: -3 } })) // F-U24
  t.equal((await gateway.request('/v1/rerank', { body: { model: 'm', ...REQUEST } })).status, 200)
})

t.test('F-U12 a refusal in a shape of its own comes in that of the client', async t => {
  const { upstream, gateway } = await dialect(t, 'voyage')
  upstream.answer(json({ detail: 'Argument top_k has to be a positive number.' }, { status: 400 }))
  const got = await gateway.request('/v1/rerank', { body: { model: 'm', ...REQUEST } })
  t.match(compatibleError(t, got, 400).message, /positive number/)
})

/** Wrong in one place, which the error names; nothing goes upstream. */
const WRONG: readonly (readonly [string, object, string])[] = [
  ['no model', { model: undefined }, 'model'],
  ['a model that is a number', { model: 7 }, 'model'],
  ['no query', { query: undefined }, 'query'],
  ['a query that is an object', { query: { text: 'a' } }, 'query'],
  ['no documents', { documents: undefined }, 'documents'],
  ['documents that are a text', { documents: 'a' }, 'documents'],
  ['an empty list', { documents: [] }, 'documents'],
  ['a document that is null', { documents: ['a', null] }, 'documents[1]'],
  ['a document that is a list', { documents: [['a']] }, 'documents[0]'],
  ['top_n of 0', { top_n: 0 }, 'top_n'],
  ['top_n that is a text', { top_n: '3' }, 'top_n'],
  ['top_n with a fraction', { top_n: 1.5 }, 'top_n'],
]

t.test('bad input is refused by the gateway in the shape of each version, and names the member', async t => {
  const { upstream, gateway } = await dialect(t, 'llama-cpp')
  for (const [what, more, param] of WRONG) {
    const body = { model: 'm', ...TEXTS, ...more }
    const first = await gateway.request('/v1/rerank', { body })
    t.equal(first.status, 400, what)
    const { error } = first.json() as { error: { param: string | null; message: string } }
    t.equal(error.param ?? error.message.match(/model/)?.[0], param, what)
    const second = await gateway.request('/v2/rerank', { body })
    t.equal(second.status, 400, what)
    const refusal = second.json() as { id: string; message: string }
    t.same(Object.keys(refusal), ['id', 'message'])
    t.equal(refusal.id, second.header('x-request-id'))
    t.ok(refusal.message.includes(param), refusal.message)
  }
  for (const documents of [[{ text: 5 }], [{}], [{ image: 5 }]]) {
    const answer = await gateway.request('/v1/rerank', { body: { model: 'm', query: 'a', documents } })
    t.match(compatibleError(t, answer, 400).param, /^documents\[0\]/)
  }
  const objects = await gateway.request('/v2/rerank', { body: { model: 'm', query: 'a', documents: [{ text: 'a' }] } })
  t.equal(objects.status, 400)
  t.equal(upstream.requests.items.length, 0)
})

t.test('F-C12 100,000 documents: translated and ranked, in order', async t => {
  const { upstream, gateway } = await dialect(t, 'voyage')
  const documents = Array.from({ length: 100_000 }, (_, i) => `document ${i}`)
  const data = documents.map((_, index) => ({ index, relevance_score: ((index * 7919) % 100_000) / 100_000 }))
  upstream.answer(json({ data, usage }))
  const answer = await gateway.request('/v1/rerank', { body: { model: 'm', query: 'a', documents } })
  t.equal(answer.status, 200, answer.text.slice(0, 200))
  const { results } = answer.json() as { results: { index: number; relevance_score: number }[] }
  t.equal(results.length, 100_000)
  t.ok(results.every(({ relevance_score: score }, i) => score <= (results[i - 1]?.relevance_score ?? 1)))
  t.equal((upstream.requests.items[0]?.json() as { documents: string[] } | undefined)?.documents.length, 100_000)
})

t.test('F-C12 F-U12 100,000 documents that the upstream refuses: its 400 in the shape of the client', async t => {
  const gateway = await startTestGateway(t, SIMULATED)
  const documents = Array<string>(100_000).fill('a')
  for (const model of MODELS) {
    const answer = await gateway.request('/v1/rerank', { body: { model, query: 'a', documents } })
    t.match(compatibleError(t, answer, 400).message, /maximum length 10000/)
  }
})

proveNoLeak(t)
