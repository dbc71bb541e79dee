import t, { type Test } from 'tap'
import { body, brokenStream, finish, json, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { eventsOf } from '../helpers/expect.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Answer, type RequestOptions, request } from '../helpers/raw-client.js'
import { type RawUpstream, type RecordedRequest, startRawUpstream } from '../helpers/raw-upstream.js'

// Bodies go through as they are, with what no document knows.
relaysAnything()

const HELLO = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] }
const ANSWER = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm-2026',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: {
    input_tokens: 5,
    cache_creation_input_tokens: 10,
    cache_read_input_tokens: 100,
    output_tokens: 7,
    output_tokens_details: { thinking_tokens: 2 },
  },
}

const named = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const START = named('message_start', {
  message: { ...ANSWER, content: [], usage: { ...ANSWER.usage, output_tokens: 1 } },
})
const DELTA = named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'hi' } })
const LAST = named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } })
const STOP = named('message_stop', {})

/** The request that the upstream got, by its number from 0. */
async function received(up: RawUpstream, index = 0): Promise<RecordedRequest> {
  return (await up.requests.count(index + 1))[index] as RecordedRequest
}

interface Pair {
  readonly up: RawUpstream
  readonly gateway: TestGateway
  /** `POST` with the caller's key in x-api-key. */
  post(path: string, options: RequestOptions): Promise<Answer>
}

async function pair(t: Test): Promise<Pair> {
  const up = await startRawUpstream(t)
  const upstream = `{ kind: messages, base: "${up.origin}", secret: { env: UPSTREAM_KEY } }`
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${upstream} }\nmodels: { m: { upstream: up, as: m-2026, traits: { max_output: 99 } } }\n`
  const gateway = await startTestGateway(t, yaml)
  return {
    up,
    gateway,
    post: (path, { headers, ...more }) =>
      request(t, gateway.origin, path, { headers: { 'x-api-key': gateway.key, ...headers }, ...more }),
  }
}

t.test('message blocks pass to an upstream that speaks them, but for the name of the model', async t => {
  const { up, post } = await pair(t)
  up.answer(json(ANSWER))
  const text = '{ "model":"m","max_tokens":9,  "messages":[{"role":"user","content":"héllo"}],"vendor_field":1.50 }'
  const answer = await post('/v1/messages', { body: text })
  t.equal(answer.status, 200)
  t.same(answer.json(), ANSWER)
  const got = await received(up)
  t.equal(got.target, '/v1/messages')
  t.equal(got.body.toString(), text.replace('"m"', '"m-2026"'))
})

t.test('the key may also be a bearer token, and the gateway puts its own in its place', async t => {
  const { up, gateway } = await pair(t)
  up.answer(json(ANSWER))
  t.equal((await gateway.request('/v1/messages', { body: HELLO })).status, 200)
  const got = await received(up)
  t.match(got.header('x-api-key'), /^canary-upstream/)
  t.equal(got.header('authorization'), undefined)
})

t.test('version and beta headers of the client pass, and so does the query', async t => {
  const { up, post } = await pair(t)
  up.answer(json(ANSWER), json(ANSWER))
  const headers = { 'anthropic-version': '2024-10-22', 'anthropic-beta': 'one-2025,two-2026' }
  await post('/v1/messages?beta=true', { body: HELLO, headers })
  const got = await received(up)
  t.equal(got.target, '/v1/messages?beta=true')
  t.equal(got.header('anthropic-version'), '2024-10-22')
  t.equal(got.header('anthropic-beta'), 'one-2025,two-2026')
  await post('/v1/messages', { body: HELLO })
  t.equal(
    (await received(up, 1)).header('anthropic-version'),
    '2023-06-01',
    'where it says none, the declared one goes',
  )
})

t.test('tokens that came from caches are counted among those of the input', async t => {
  const { up, gateway, post } = await pair(t)
  up.answer(json(ANSWER))
  await post('/v1/messages', { body: HELLO })
  const line = await gateway.log.find(one => one.msg === 'request')
  t.match(line, {
    input_tokens: 115,
    output_tokens: 7,
    cached_tokens: 100,
    cache_write_tokens: 10,
    reasoning_tokens: 2,
  })
})

t.test('a stream passes to its message_stop; what its first and last events told is counted', async t => {
  const { up, gateway, post } = await pair(t)
  const filler = Array.from({ length: 400 }, () => DELTA)
  up.answer(stream([START, ...filler, LAST, STOP, 'data: {"too":"late"}\n\n']))
  const answer = await post('/v1/messages', { body: { ...HELLO, stream: true } })
  t.ok(answer.whole)
  t.equal(answer.text, START + filler.join('') + LAST + STOP)
  const line = await gateway.log.find(one => one.msg === 'request')
  t.match(line, { input_tokens: 115, output_tokens: 7, cached_tokens: 100, cache_write_tokens: 10 })
})

t.test('a stream that breaks off ends with the error event of the family', async t => {
  const { up, post } = await pair(t)
  up.answer(brokenStream([START, DELTA], finish))
  const answer = await post('/v1/messages', { body: { ...HELLO, stream: true } })
  const last = eventsOf(answer.text).at(-1)
  t.equal(last?.event, 'error')
  t.match(JSON.parse(last?.data ?? ''), { type: 'error', error: { type: 'api_error' }, request_id: String })
  t.notMatch(answer.text, 'message_stop')
})

t.test('tokens are counted by the upstream', async t => {
  const { up, post } = await pair(t)
  up.answer(json({ input_tokens: 14 }))
  const { max_tokens: _, ...counted } = HELLO
  const answer = await post('/v1/messages/count_tokens', { body: counted })
  t.same(answer.json(), { input_tokens: 14 })
  t.equal((await received(up)).target, '/v1/messages/count_tokens')
})

t.test('what the gateway refuses it refuses in the shape of the family', async t => {
  const { gateway, post } = await pair(t)
  const cases: readonly [Promise<Answer>, number, string, RegExp][] = [
    [post('/v1/messages', { body: { ...HELLO, model: 'none' } }), 404, 'not_found_error', /^model: none$/],
    [post('/v1/messages', { body: { model: 'm' } }), 400, 'invalid_request_error', /max_tokens/],
    [
      post('/v1/messages', { body: { ...HELLO, messages: [{ role: 'tool' }] } }),
      400,
      'invalid_request_error',
      /messages\[0\]/,
    ],
    [post('/v1/messages', { body: '{' }), 400, 'invalid_request_error', /JSON/],
    [request(t, gateway.origin, '/v1/messages', { body: HELLO }), 401, 'authentication_error', /x-api-key/],
    [post('/v1/messages', { method: 'PUT', body: HELLO }), 405, 'invalid_request_error', /POST/],
    [post('/v1/messages/nothing', { body: HELLO }), 404, 'not_found_error', /nothing/],
    [post('/v1/messages/batches', { body: HELLO }), 400, 'invalid_request_error', /requests/],
  ]
  for (const [asked, status, type, message] of cases) {
    const answer = await asked
    t.equal(answer.status, status, answer.text)
    t.match(answer.json(), { type: 'error', error: { type, message }, request_id: String })
  }
})

t.test('two different keys are refused', async t => {
  const { gateway, post } = await pair(t)
  const answer = await post('/v1/messages', { body: HELLO, headers: { authorization: 'Bearer other' } })
  t.equal(answer.status, 401)
  t.notMatch(answer.text, gateway.key)
})

t.test("an upstream's own refusal passes as it is", async t => {
  const { up, post } = await pair(t)
  const refusal = '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}'
  up.answer(body(refusal, { status: 400, headers: { 'request-id': 'req_1' } }))
  const answer = await post('/v1/messages', { body: HELLO })
  t.equal(answer.status, 400)
  t.equal(answer.text, refusal)
  t.equal(answer.header('request-id'), 'req_1')
})

proveNoLeak(t)
