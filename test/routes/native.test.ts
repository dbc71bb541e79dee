import t, { type Test } from 'tap'
import { json, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Answer, type RequestOptions, request } from '../helpers/raw-client.js'
import { type RawUpstream, type RecordedRequest, startRawUpstream } from '../helpers/raw-upstream.js'

const HELLO = { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] }
const USAGE = {
  promptTokenCount: 20,
  toolUsePromptTokenCount: 3,
  candidatesTokenCount: 7,
  thoughtsTokenCount: 30,
  totalTokenCount: 60,
  cachedContentTokenCount: 4,
}
const answerOf = (text: string, end: object = {}): object => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...end }],
  usageMetadata: USAGE,
  modelVersion: 'm-2026',
})
const [FIRST, SECOND] = [answerOf('he'), answerOf('llo', { finishReason: 'STOP' })]
const event = (data: object): string => `data: ${JSON.stringify(data)}\r\n\r\n`

/** The request that the upstream got, by its number from 0. */
async function received(up: RawUpstream, index = 0): Promise<RecordedRequest> {
  return (await up.requests.count(index + 1))[index] as RecordedRequest
}

interface Pair {
  readonly up: RawUpstream
  readonly gateway: TestGateway
  /** A request with the caller's key in x-goog-api-key. */
  ask(path: string, options?: RequestOptions): Promise<Answer>
}

async function pair(t: Test, routes = ''): Promise<Pair> {
  const up = await startRawUpstream(t)
  const upstream = `{ kind: native-generate, base: "${up.origin}", secret: { env: UPSTREAM_KEY } }`
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${upstream} }\nmodels: { m: { upstream: up, as: m-2026 }, vendor/m: up }\n${routes}`
  const gateway = await startTestGateway(t, yaml)
  return {
    up,
    gateway,
    ask: (path, { headers, ...more } = {}) =>
      request(t, gateway.origin, path, { headers: { 'x-goog-api-key': gateway.key, ...headers }, ...more }),
  }
}

const calls: readonly [string, object, object][] = [
  ['generateContent', HELLO, FIRST],
  ['countTokens', HELLO, { totalTokens: 3 }],
  ['embedContent', { content: { parts: [{ text: 'a' }] } }, { embedding: { values: [1] } }],
  [
    'batchEmbedContents',
    { requests: [{ model: 'models/m', content: { parts: [{ text: 'a' }] } }] },
    { embeddings: [{ values: [1] }] },
  ],
]

for (const [method, body, answered] of calls) {
  t.test(`${method} passes to an upstream that speaks it, under the model's name there`, async t => {
    const { up, ask } = await pair(t)
    up.answer(json(answered))
    const answer = await ask(`/v1beta/models/m:${method}`, { body })
    t.equal(answer.status, 200, answer.text)
    t.same(answer.json(), answered)
    const got = await received(up)
    t.equal(got.target, `/v1beta/models/m-2026:${method}`)
    const sent = JSON.stringify(body).replace('"models/m"', '"models/m-2026"')
    t.equal(got.body.toString(), sent, 'byte for byte, but for the name')
    t.match(got.header('x-goog-api-key'), /^canary-upstream/)
  })
}

t.test('thoughts, and what tools made the model read, are counted', async t => {
  const { up, gateway, ask } = await pair(t)
  up.answer(json(FIRST))
  await ask('/v1beta/models/m:generateContent', { body: HELLO })
  const line = await gateway.log.find(one => one.msg === 'request')
  t.match(line, { input_tokens: 23, output_tokens: 37, total_tokens: 60, cached_tokens: 4, reasoning_tokens: 30 })
})

const framings: readonly [string, string, string][] = [
  ['', 'application/x-ndjson', `${JSON.stringify(FIRST)}\n${JSON.stringify(SECOND)}\n`],
  ['?alt=json', 'application/json', `[${JSON.stringify(FIRST)},${JSON.stringify(SECOND)}]`],
  ['?alt=sse', 'text/event-stream', event(FIRST) + event(SECOND)],
]

for (const [query, type, text] of framings) {
  t.test(`a stream asked for with "${query}" comes as ${type}`, async t => {
    const { up, gateway, ask } = await pair(t)
    up.answer(stream([event(FIRST), event(SECOND)], { headers: { 'content-type': 'text/event-stream' } }))
    const answer = await ask(`/v1beta/models/m:streamGenerateContent${query}`, { body: HELLO })
    t.equal(answer.status, 200)
    t.match(answer.header('content-type'), type)
    if (type === 'application/json') t.same(answer.json(), JSON.parse(text))
    else t.equal(answer.text, text)
    t.equal((await received(up)).target, '/v1beta/models/m-2026:streamGenerateContent?alt=sse')
    t.match(await gateway.log.find(one => one.msg === 'request'), { output_tokens: 37 })
  })
}

t.test('the key may also be a bearer token, but not stand in the query', async t => {
  const { up, gateway } = await pair(t)
  up.answer(json(FIRST))
  const path = '/v1beta/models/m:generateContent'
  t.equal((await gateway.request(path, { body: HELLO })).status, 200)
  const refused = await request(t, gateway.origin, `${path}?key=${gateway.key}`, { body: HELLO })
  t.equal(refused.status, 401)
  const details = [{ reason: 'API_KEY_INVALID', domain: 'googleapis.com' }]
  t.match(refused.json(), { error: { code: 401, status: 'UNAUTHENTICATED', details } })
})

t.test("where a route takes the query's key, the key goes nowhere else", async t => {
  const { up, gateway } = await pair(
    t,
    `routes:
  POST /v1beta/models/{model}:generateContent:
    protocol: generate
    model: path.model
    schema: generate.request
    errors: native
    caller: [{ in: header, name: x-goog-api-key }, { in: query, name: key }]
`,
  )
  up.answer(json(FIRST))
  const path = `/v1beta/models/m:generateContent?key=${gateway.key}&prettyPrint=false`
  t.equal((await request(t, gateway.origin, path, { body: HELLO })).status, 200)
  t.equal((await received(up)).target, '/v1beta/models/m-2026:generateContent?prettyPrint=false')
  for (const [target, body] of [
    [path, {}],
    [path.replace(':generateContent', ':nothing'), HELLO],
    [path.replace('/m:', '/unknown:'), HELLO],
    [path.replace('key=', 'key=wrong'), HELLO],
  ] as const) {
    const answer = await request(t, gateway.origin, target, { body })
    t.ok(answer.status >= 400)
    t.notMatch(answer.text, gateway.key)
  }
  // Logs and answers are searched for the key by the last test.
  await gateway.log.find(one => one.status === 404)
})

t.test('the slash of a name may be escaped, or be as it is', async t => {
  const { up, ask } = await pair(t)
  up.answer(json(FIRST))
  for (const [name, version] of [
    ['vendor%2Fm', 'v1beta'],
    ['vendor/m', 'v1beta'],
    ['vendor/m', 'v1'],
  ] as const)
    t.equal((await ask(`/${version}/models/${name}:generateContent`, { body: HELLO })).status, 200)
})

t.test('what the gateway refuses it refuses in the shape of the family', async t => {
  const { gateway, ask } = await pair(t)
  const cases: readonly [Promise<Answer>, number, string, string][] = [
    [
      ask('/v1beta/models/none:generateContent', { body: HELLO }),
      404,
      'NOT_FOUND',
      'not supported for generateContent',
    ],
    [ask('/v1beta/models/none:countTokens', { body: HELLO }), 404, 'NOT_FOUND', 'models/none is not found'],
    [
      ask('/v1beta/models/none:batchGenerateContent', { body: { batch: {} } }),
      404,
      'NOT_FOUND',
      'not supported for batchGenerateContent',
    ],
    [ask('/v1beta/models/m:generateContent', { body: {} }), 400, 'INVALID_ARGUMENT', 'contents'],
    [
      ask('/v1beta/models/m:generateContent', { body: { ...HELLO, generation_config: { top_p: 2 } } }),
      400,
      'INVALID_ARGUMENT',
      'generation_config.top_p',
    ],
    [ask('/v1beta/nothing', { body: HELLO }), 404, 'NOT_FOUND', 'nothing'],
    [
      request(t, gateway.origin, '/v1beta/models/m:generateContent', { body: HELLO }),
      401,
      'UNAUTHENTICATED',
      'x-goog-api-key',
    ],
  ]
  for (const [asked, status, word, message] of cases) {
    const answer = await asked
    t.equal(answer.status, status, answer.text)
    t.match(answer.json(), { error: { code: status, status: word } })
    t.match((answer.json() as { error: { message: string } }).error.message, message)
  }
})

proveNoLeak(t)
