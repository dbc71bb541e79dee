import { readFile } from 'node:fs/promises'
import t from 'tap'
import { CHAT_ANSWER, hang, json, reset, stream } from '../../helpers/answers.js'
import { startTestGateway, upstreamYaml } from '../../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../../helpers/raw-upstream.js'

type Test = Pick<typeof t, 'teardown'>

const refuse = (status: number, error: unknown): Script => json({ error }, { status })

/** Two targets of the model `m`, and one each of the models of its fallbacks. */
async function started(t: Test, models: string, keys = '["*"]', more = '') {
  const [a, b, long, other] = [
    await startRawUpstream(t),
    await startRawUpstream(t),
    await startRawUpstream(t),
    await startRawUpstream(t),
  ] as const
  for (const one of [a, b, long, other]) one.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(
    t,
    `version: 1
keys: { caller: { secret: { env: CALLER_KEY }, models: ${keys} } }
upstreams:
  a: ${upstreamYaml(a.origin)}
  b: ${upstreamYaml(b.origin)}
  long: ${upstreamYaml(long.origin)}
  other: ${upstreamYaml(other.origin)}
models:
  ${models}
  long: long
  other: { upstream: other, as: theirs }
${more}`,
  )
  return { gateway, a, b, long, other }
}

const M = `m:
    targets: [a, b]
    fallbacks:
      context_too_long: [long]
      content_refused: [other]
      overloaded: [other]
      timeout: [long]
      rate_limited: [other, long]
    timeouts: { first_byte: 200ms }`

const asked = (...all: readonly RawUpstream[]): readonly number[] => all.map(one => one.requests.items.length)

const TOO_LONG = { message: 'Too long.', code: 'context_length_exceeded', type: 'invalid_request_error' }

t.test('what is too long for the model goes to the fallback at once, although retry.on has no 400', async t => {
  const { gateway, a, b, long } = await started(t, M)
  a.answer(refuse(400, TOO_LONG))
  t.equal((await gateway.chat()).status, 200)
  t.same(asked(a, b, long), [1, 0, 1])
  t.match(long.requests.items[0]?.json(), { model: 'long' }, 'by the name of the fallback model')
})

for (const path of ['/v1/chat/completions', '/v1/messages']) {
  t.test(`${path}: of the targets at one upstream the first alone gets the idempotency key`, async t => {
    const models = 'm: [{ upstream: a, as: x }, { upstream: a, as: y }, b]'
    const { gateway, a, b } = await started(t, models, '["*"]', 'retry: { attempts: 4, on: [5xx] }\n')
    const full = refuse(503, { message: 'full' })
    a.answer(full)
    const headers = { 'idempotency-key': 'one', 'anthropic-version': '2023-06-01' }
    const body = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }
    await gateway.request(path, { body, headers })
    t.same(
      [...a.requests.items, ...b.requests.items].map(request => [
        (request.json() as { model: string }).model,
        request.header('idempotency-key'),
      ]),
      [
        ['x', 'one'],
        ['y', undefined],
        ['m', 'one'],
      ],
    )
  })
}

t.test('refused content goes to its own list', async t => {
  const { gateway, a, b, other } = await started(t, M)
  a.answer(refuse(400, { message: 'No.', code: 'content_filter' }))
  t.equal((await gateway.chat()).status, 200)
  t.same(asked(a, b, other), [1, 0, 1])
  t.match(other.requests.items[0]?.json(), { model: 'theirs' })
})

t.test('an overloaded target is followed by the other ones first, then by the fallback', async t => {
  const { gateway, a, b, other } = await started(t, M)
  for (const one of [a, b]) one.answer(refuse(503, { message: 'Busy.' }))
  t.equal((await gateway.chat()).status, 200)
  t.same(asked(a, b, other), [1, 1, 1])
})

t.test('a rate limit leads to each model of its list in turn, within the attempts', async t => {
  const { gateway, a, b, other, long } = await started(t, M, '["*"]', 'retry: { attempts: 4 }\n')
  for (const one of [a, b, other]) one.answer(refuse(429, { message: 'Slow down.', code: 'rate_limit_exceeded' }))
  t.equal((await gateway.chat()).status, 200)
  t.same(asked(a, b, other, long), [1, 1, 1, 1])
})

t.test('attempts count fallbacks, too', async t => {
  const { gateway, a, b, other } = await started(t, M.replace('timeouts:', 'retry: { attempts: 2 }\n    timeouts:'))
  for (const one of [a, b]) one.answer(refuse(503, { message: 'Busy.' }))
  t.equal((await gateway.chat()).status, 503)
  t.same(asked(a, b, other), [1, 1, 0])
})

t.test(
  'a target that does not answer in time is left for the fallback, although retry.on has no first_byte',
  async t => {
    const { gateway, a, long } = await started(t, M)
    a.answer(hang)
    t.equal((await gateway.chat()).status, 200)
    t.same(asked(a, long), [1, 1])
  },
)

t.test('a stream that begins with an error is led by what the error says', async t => {
  const { gateway, a, b, other } = await started(t, M)
  for (const one of [a, b])
    one.answer(stream([`data: ${JSON.stringify({ error: { message: 'Busy.', code: 'server_overloaded' } })}\n\n`]))
  other.answer(
    stream(['data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n', 'data: [DONE]\n\n']),
  )
  const answer = await gateway.chat({ stream: true })
  t.equal(answer.status, 200)
  t.match(answer.text, /"hi"/)
  t.same(asked(a, b, other), [1, 1, 1])
})

t.test('the key must be allowed to use the fallback', async t => {
  const { gateway, a, b, long } = await started(t, M, '["m", "other"]')
  a.answer(refuse(400, TOO_LONG))
  const answer = await gateway.chat()
  t.equal(answer.status, 400)
  t.match(answer.json(), { error: { code: 'context_length_exceeded' } }, 'the upstream’s own words')
  t.same(asked(a, b, long), [1, 0, 0])
})

t.test('failures without a fallback do what they did', async t => {
  const { gateway, a, b, other, long } = await started(t, M)
  a.answer(refuse(400, { message: 'A bad field.', code: 'invalid_value' }))
  t.equal((await gateway.chat()).status, 400)
  t.same(asked(a, b, other, long), [1, 0, 0, 0])
})

t.test('a fallback that fails for another cause leads on, and each cause leads once', async t => {
  const { gateway, a, b, long, other } = await started(t, M)
  a.answer(refuse(400, TOO_LONG))
  long.answer(refuse(400, { message: 'No.', code: 'content_filter' }))
  other.answer(refuse(400, TOO_LONG))
  t.equal((await gateway.chat()).status, 400)
  t.same(asked(a, b, long, other), [1, 0, 1, 1])
})

t.test('a target whose connection breaks counts as overloaded', async t => {
  const { gateway, a, b, other } = await started(t, M)
  for (const one of [a, b]) one.answer(reset)
  t.equal((await gateway.chat()).status, 200)
  t.same(asked(a, b, other), [1, 1, 1])
})

t.test('messages at an upstream of another protocol: the cause is read in the words of the upstream', async t => {
  const { gateway, a, long } = await started(t, M)
  a.answer(refuse(400, TOO_LONG))
  const content = [{ type: 'output_text', text: 'hello', annotations: [] }]
  const output = [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }]
  long.answer(json({ id: 'resp_1', object: 'response', created_at: 1, model: 'long', status: 'completed', output }))
  const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
  const answer = await gateway.request('/v1/messages', { body })
  t.equal(answer.status, 200)
  t.same(asked(a, long), [1, 1])
})

t.test('a fallback is asked as its own strategy has it', async t => {
  const { gateway, a, long, other } = await started(
    t,
    'm: { targets: [a], fallbacks: { context_too_long: [pair] } }\n  pair: { targets: [long, other], strategy: cheapest }',
    '["*"]',
    'prices: { long/pair: { input: 9, output: 9 }, other/pair: { input: 1, output: 1 } }\n',
  )
  a.answer(refuse(400, TOO_LONG))
  for (let n = 0; n < 10; n++) t.equal((await gateway.chat()).status, 200)
  t.same(asked(a, long, other), [10, 0, 10])
})

t.test('a fallback whose upstream has several secrets is asked only where a failure leads to it', async t => {
  const { gateway, a, other } = await started(
    t,
    'm: { targets: [a], fallbacks: { context_too_long: [several] } }\n  several: other',
  )
  const text = await readFile(`${gateway.folder}/gateway.yaml`, 'utf8')
  const upstream = `several: { base: "${other.origin}", credential: { in: header, name: authorization, scheme: Bearer }, secrets: [{ env: UPSTREAM_KEY }, { env: CALLER_KEY }], speaks: { chat: POST /v1/chat/completions } }`
  await gateway.write(
    'gateway.yaml',
    text.replace('upstreams:\n', `upstreams:\n  ${upstream}\n`).replace('several: other', 'several: several'),
  )
  const { problems } = await gateway.gateway.reload()
  t.same(
    problems.filter(one => one.severity === 'error'),
    [],
  )
  a.answer(refuse(503, { message: 'Busy.' }))
  t.equal((await gateway.chat()).status, 503)
  t.same(asked(other), [0])
  a.answer(refuse(400, TOO_LONG))
  t.equal((await gateway.chat()).status, 200)
  t.same(asked(other), [1])
})

t.test('a fallback is led to by the cause also where the answer is kept or continues something', async t => {
  const { gateway, a, b, long, other } = await started(t, M)
  const response = { id: 'resp_1', object: 'response', status: 'completed', output: [] }
  const tooLong = refuse(400, TOO_LONG)
  const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }], store: true }
  a.answer(tooLong)
  t.equal((await gateway.request('/v1/chat/completions', { body: chat })).status, 200)
  t.same(asked(a, b, long, other), [1, 0, 1, 0])

  const { id } = (await gateway.request('/v1/conversations', { body: {} })).json() as { id: string }
  a.answer(tooLong)
  long.answer(json(response))
  const turn = { model: 'm', input: 'hi', conversation: id }
  t.equal((await gateway.request('/v1/responses', { body: turn })).status, 200)
  t.same(asked(a, b, long, other), [2, 0, 2, 0])
})

t.test('a response that continues at the upstream that keeps it has the fallbacks there, by their causes', async t => {
  const { gateway, a } = await started(
    t,
    `m: { targets: [a], fallbacks: { context_too_long: [spare] } }
  spare: { upstream: a, as: spare }`,
  )
  const response = { id: 'resp_1', object: 'response', status: 'completed', output: [] }
  const turn = { model: 'm', input: 'hi' }
  const models = () => a.requests.items.map(one => (one.json() as { model: string }).model)
  a.answer(json(response))
  await gateway.request('/v1/responses', { body: turn })
  a.answer(refuse(503, { message: 'Busy.' }))
  const next = { ...turn, previous_response_id: 'resp_1' }
  t.equal((await gateway.request('/v1/responses', { body: next })).status, 503)
  t.notOk(models().includes('spare'))
  a.answer(refuse(400, TOO_LONG), json({ ...response, id: 'resp_2' }))
  t.equal((await gateway.request('/v1/responses', { body: next })).status, 200)
  t.equal(models().at(-1), 'spare')
})
