import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { body, json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { openApi, openApiFolder } from '../helpers/openapi.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Moderations by the official library: an upstream that answers them, and models of texts that judge. */

const sdkOf = ({ origin, key }: TestGateway): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })

const JUDGES = ['chat', 'responses', 'messages', 'generate', 'converse'] as const
const skip = openApiFolder() === undefined

t.test('models of texts that are said to judge, by each protocol', async t => {
  const upstreams = JUDGES.map(one => `  ${one}: { kind: simulator-${one} }`).join('\n')
  const traits = 'traits: { moderates: true, max_output: 4096 }'
  const models = JUDGES.map(one => `  ${one}: { targets: [{ upstream: ${one}, as: sim-${one} }], ${traits} }`).join(
    '\n',
  )
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\nupstreams:\n${upstreams}\nmodels:\n${models}\n`)
  const sdk = sdkOf(gateway)
  for (const model of JUDGES) {
    await t.test(`${model}: a text, texts, a text with an image`, async t => {
      const one = await sdk.moderations.create({ model, input: 'hello' })
      t.match(one, { id: /^modr-/, model })
      if (!skip) t.same(openApi('moderations.response')(one), [])
      t.equal(one.results.length, 1)
      for (const score of Object.values(one.results[0]?.category_scores ?? {})) t.ok(score >= 0 && score <= 1)
      const several = await sdk.moderations.create({ model, input: ['hello', 'goodbye', 'hello again'] })
      t.equal(several.results.length, 3)
      const image = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
      const parts = await sdk.moderations.create({ model, input: [{ type: 'text', text: 'hello' }, image] })
      t.same(parts.results[0]?.category_applied_input_types.violence, ['text', 'image'])
      const line = await gateway.log.find(line => line.model === model)
      t.match(line, { status: 200, upstream: model, input_tokens: Number, output_tokens: Number })
    })
  }
})

async function judge(t: Test): Promise<{ upstream: RawUpstream; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t)
  const yaml = `version: 1
${CALLER}
upstreams: { up: { kind: openai-compatible, base: "${upstream.origin}" } }
models:
  judge: { upstream: up, traits: { moderates: true } }
  forced: { upstream: up, traits: { moderates: true, structured: tool } }
  plain: up
`
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

const said = (content: string) =>
  json({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'up',
    choices: [
      { index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop', logprobs: null },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
  })

t.test('a judge is asked by its own protocol with a schema, also where the upstream has moderations', async t => {
  const { upstream, gateway } = await judge(t)
  upstream.answer(said('nothing'))
  await gateway.request('/v1/moderations', { body: { model: 'judge', input: 'hello' } })
  await gateway.request('/v1/moderations', { body: { model: 'forced', input: 'hello' } })
  await gateway.request('/v1/moderations', { body: { model: 'plain', input: 'hello' } })
  const [asked, forced, plain] = upstream.requests.items
  t.equal(asked?.target, '/v1/chat/completions')
  t.match(asked?.json(), {
    response_format: { type: 'json_schema', json_schema: { strict: true, schema: { required: ['results'] } } },
  })
  t.match(forced?.json(), { tools: [{ type: 'function' }], tool_choice: {} })
  t.equal(plain?.target, '/v1/moderations', 'no judge')
})

t.test('a judge that does not judge is a 502: nothing passes as harmless', async t => {
  const { upstream, gateway } = await judge(t)
  const ask = () => gateway.request('/v1/moderations', { body: { model: 'judge', input: ['a', 'b'] } })
  for (const content of [
    'I would rather not.',
    '{}',
    '{"results":[]}',
    '{"results":[{},{}]}',
    '{"results":[{"hate":0}',
  ]) {
    upstream.answer(said(content))
    compatibleError(t, await ask(), 502, 'bad_upstream_response')
  }
  upstream.answer(json({ error: { message: 'Slow down.', code: 'rate_limit_exceeded' } }, { status: 429 }))
  compatibleError(t, await ask(), 429)
})

/** Wrong in one place, which the error names; nothing goes upstream. */
const WRONG: readonly (readonly [string, object, string])[] = [
  ['no model', { model: undefined }, 'model'],
  ['no input', { input: undefined }, 'input'],
  ['an input that is a number', { input: 7 }, 'input'],
  ['an empty list', { input: [] }, 'input'],
  ['a list with a null', { input: ['a', null] }, 'input[1]'],
  ['a part without a type', { input: [{ text: 'a' }] }, 'input[0].type'],
]

t.test('bad input is refused in the family of the client, and names the member', async t => {
  const upstream = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  for (const [what, more, param] of WRONG) {
    const answer = await gateway.request('/v1/moderations', { body: { model: 'm', input: 'a', ...more } })
    const { message } = compatibleError(t, answer, 400)
    t.ok(message.includes(param), `${what}: ${message}`)
  }
  t.equal(upstream.requests.items.length, 0)
})

t.test('F-C12 100,000 texts, and what a hostile upstream answers to them', async t => {
  const upstream = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  const input = Array.from({ length: 100_000 }, (_, i) => `text ${i}`)
  upstream.answer(json({ id: 'modr-1', model: 'm', results: [] }))
  const answer = await gateway.request('/v1/moderations', { body: { model: 'm', input } })
  t.equal(answer.status, 200)
  t.equal((upstream.requests.items[0]?.json() as { input: string[] } | undefined)?.input.length, 100_000)
  for (const broken of ['', '<html>', '{"results":']) {
    upstream.answer(body(broken))
    compatibleError(t, await gateway.request('/v1/moderations', { body: { model: 'm', input: 'a' } }), 502)
  }
})

proveNoLeak(t)
