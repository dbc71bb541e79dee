import { GoogleGenAI } from '@google/genai'
import t from 'tap'
import { json } from '../helpers/answers.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

// The native protocol has the model's name in its path, and in some bodies once more.

type Test = Pick<typeof t, 'teardown'>

async function stage(test: Test): Promise<{ readonly gateway: TestGateway; readonly up: RawUpstream }> {
  const up = await startRawUpstream(test)
  const calls = ['generateContent', 'countTokens', 'embedContent', 'batchEmbedContents'].map(
    (verb, n) =>
      `${['generate', 'generate.count_tokens', 'embed-content', 'embed-contents'][n]}: "POST /v1beta/models/{model}:${verb}"`,
  )
  const gateway = await startTestGateway(
    test,
    `version: 1\n${CALLER}\nupstreams: { up: { base: "${up.origin}", speaks: { ${calls.join(', ')} } } }\nmodels: { m: { upstream: up, as: real }, same: up, "maker/*": { upstream: up, as: "*" } }\n`,
  )
  return { gateway, up }
}

t.test('the official client embeds with a model that has another name upstream', async t => {
  const { gateway, up } = await stage(t)
  up.answer(json({ embeddings: [{ values: [1, 2] }] }))
  const sdk = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.origin } })
  const answer = await sdk.models.embedContent({ model: 'm', contents: 'hi' })
  t.same(answer.embeddings?.[0]?.values, [1, 2])
  const [request] = up.requests.items
  t.equal(request?.target, '/v1beta/models/real:batchEmbedContents')
  t.match(request?.json(), { requests: [{ model: 'models/real' }] })
})

t.test('the official client calls a model whose name has a slash, which it does not escape', async t => {
  const { gateway, up } = await stage(t)
  const sdk = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.origin } })
  const model = 'maker/large:8b'
  up.answer(json({ candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP' }] }))
  t.equal((await sdk.models.generateContent({ model, contents: 'hi' })).text, 'hello')
  up.answer(json({ totalTokens: 3 }))
  t.equal((await sdk.models.countTokens({ model, contents: 'hi' })).totalTokens, 3)
  up.answer(json({ embeddings: [{ values: [1, 2] }] }))
  t.same((await sdk.models.embedContent({ model, contents: 'hi' })).embeddings?.[0]?.values, [1, 2])
  t.same(
    up.requests.items.map(request => request.target),
    ['generateContent', 'countTokens', 'batchEmbedContents'].map(verb => `/v1beta/models/large%3A8b:${verb}`),
  )
  t.match(up.requests.items[2]?.json(), { requests: [{ model: 'models/large:8b' }] })
})

t.test('wherever a body repeats the model it gets the upstream’s name, and nothing else changes', async t => {
  const { gateway, up } = await stage(t)
  const bodies: readonly (readonly [verb: string, sent: string, got: string])[] = [
    [
      'embedContent',
      '{ "model":"models/m", "content":{"parts":[]} }',
      '{ "model":"models/real", "content":{"parts":[]} }',
    ],
    ['embedContent', '{"content":{"parts":[{"text":"model"}]}}', '{"content":{"parts":[{"text":"model"}]}}'],
    [
      'batchEmbedContents',
      '{"requests":[{"model":"m","content":{"parts":[]}}, {"content":{"parts":[]},"model" : "models/m"}]}',
      '{"requests":[{"model":"real","content":{"parts":[]}}, {"content":{"parts":[]},"model" : "models/real"}]}',
    ],
    [
      'countTokens',
      '{"generateContentRequest":{"model":"models/m","contents":[{"parts":[{"text":"\\u00e9"}]}]}}',
      '{"generateContentRequest":{"model":"models/real","contents":[{"parts":[{"text":"\\u00e9"}]}]}}',
    ],
  ]
  for (const [verb, sent, got] of bodies) {
    up.answer(json({}))
    t.equal((await gateway.request(`/v1beta/models/m:${verb}`, { body: sent })).status, 200, verb)
    t.equal(up.requests.items.at(-1)?.body.toString(), got)
  }
})

t.test('a body that names another model than its path is refused, and no upstream hears of it', async t => {
  const { gateway, up } = await stage(t)
  for (const model of ['m', 'same']) {
    const body = {
      requests: [
        { model: `models/${model}`, content: {} },
        { model: 'models/secret', content: {} },
      ],
    }
    const answer = await gateway.request(`/v1beta/models/${model}:batchEmbedContents`, { body })
    t.equal(answer.status, 400)
    t.match(answer.json(), { error: { code: 400, message: /requests\[1\]\.model/, status: 'INVALID_ARGUMENT' } })
  }
  t.equal(up.requests.items.length, 0)
})

t.test('a verb that no one serves is refused in the shape of the client’s family', async t => {
  const { gateway } = await stage(t)
  const post = (path: string, header: string): ReturnType<TestGateway['request']> =>
    gateway.request(path, { method: 'POST', key: '', headers: { [header]: gateway.key }, body: {} })
  for (const path of ['/v1beta/models/m:paint', '/v1/models/m:paint']) {
    const answer = await post(path, 'x-goog-api-key')
    t.equal(answer.status, 404, path)
    t.match(answer.json(), { error: { code: 404, message: String, status: 'NOT_FOUND' } })
  }
})
