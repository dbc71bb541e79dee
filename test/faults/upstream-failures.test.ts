import t, { type Test } from 'tap'
import {
  body,
  brokenStream,
  CHAT_ANSWER,
  chatEvent,
  DONE,
  finish,
  hang,
  json,
  reset,
  startStream,
  stream,
} from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { hangingOrigin, refusingOrigin } from '../helpers/hanging-port.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

/** A gateway whose model `m` has two targets: `first` at this origin, then `second`, a sound upstream. */
async function withFallback(t: Test, first: string, more = ''): Promise<{ gateway: TestGateway; second: RawUpstream }> {
  const second = await startRawUpstream(t, { host: '127.0.0.2' })
  second.answer(json(CHAT_ANSWER))
  const upstreams = `upstreams:\n  first: ${upstreamYaml(first)}\n  second: ${upstreamYaml(second.origin)}\n`
  const yaml = `version: 1\n${CALLER}\n${upstreams}models: { m: [{ upstream: first }, { upstream: second }] }\n${more}`
  return { gateway: await startTestGateway(t, yaml), second }
}

/** The phases of the attempts that the request's log line names. */
async function phases(gateway: TestGateway): Promise<unknown> {
  const line = await gateway.log.find(line => line.msg === 'request')
  return (line.attempts as { phase: string }[]).map(attempt => attempt.phase)
}

t.test('F-U1 an upstream that refuses connections is answered for by the next target', async t => {
  const { gateway, second } = await withFallback(t, await refusingOrigin())
  t.same((await gateway.chat()).json(), CHAT_ANSWER)
  t.equal(second.requests.items.length, 1)
  t.same(await phases(gateway), ['connect', 'ok'])
})

t.test('F-U1 no target left: 502 upstream_unavailable', async t => {
  const gateway = await startTestGateway(t, oneUpstream(await refusingOrigin()))
  compatibleError(t, await gateway.chat(), 502, 'upstream_unavailable')
  t.same(await phases(gateway), ['connect', 'connect', 'connect'])
})

t.test('F-U2 a connect that hangs continues to the next target after the connect time-out', async t => {
  const { gateway } = await withFallback(t, await hangingOrigin(t), 'timeouts: { connect: 300ms }\n')
  t.same((await gateway.chat()).json(), CHAT_ANSWER)
  t.same(await phases(gateway), ['connect', 'ok'])
})

t.test('F-U2 no target left: 504 upstream_timeout in phase connect', async t => {
  const gateway = await startTestGateway(t, oneUpstream(await hangingOrigin(t), 'timeouts: { connect: 300ms }\n'))
  compatibleError(t, await gateway.chat(), 504, 'upstream_timeout')
  const line = await gateway.log.find(line => line.msg === 'request')
  t.equal(line.phase, 'connect')
})

t.test('F-U3 silence before the headers: 504, and the upstream socket is destroyed', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(hang)
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, 'timeouts: { first_byte: 300ms }\n'))
  compatibleError(t, await gateway.chat(), 504, 'upstream_timeout')
  await upstream.closes.count(1)
  const line = await gateway.log.find(line => line.msg === 'request')
  t.equal(line.phase, 'first_byte')
  t.equal(upstream.requests.items.length, 1, 'a request that may have been served is not repeated by default')
})

t.test('F-U3 with `first_byte` among the retry conditions the next target answers', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(hang)
  const settings = 'timeouts: { first_byte: 300ms }\nretry: { attempts: 2, on: [first_byte] }\n'
  const { gateway } = await withFallback(t, upstream.origin, settings)
  t.same((await gateway.chat()).json(), CHAT_ANSWER)
  t.same(await phases(gateway), ['first_byte', 'ok'])
})

t.test('F-U3 a head without a body counts as silence too', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(async peer => {
    await startStream(peer)
    await peer.gone()
  })
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, 'timeouts: { first_byte: 300ms }\n'))
  compatibleError(t, await gateway.chat({ stream: true }), 504, 'upstream_timeout')
  await upstream.closes.count(1)
})

const BEFORE_THE_FIRST_BYTE: readonly (readonly [string, Script])[] = [
  ['F-U4 a reset before the head', reset],
  ['F-U4 an end before the head', finish],
  ['F-U4 a reset within the head', async peer => peer.send('HTTP/1.1 200 OK\r\ncontent-ty').then(() => peer.reset())],
  ['F-U5 a reset after the head, before any event', brokenStream([], reset)],
  ['F-U5 an end after the head, before any event', brokenStream([], finish)],
  ['F-U5 a reset within the first event', brokenStream(['data: {"id"'], reset)],
]

for (const [title, script] of BEFORE_THE_FIRST_BYTE) {
  t.test(`${title} is tried again at the next target`, async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(script)
    const { gateway, second } = await withFallback(t, upstream.origin)
    second.answer(stream([chatEvent('ok'), DONE]))
    const answer = await gateway.chat({ stream: true })
    t.equal(answer.text, chatEvent('ok') + DONE)
    t.equal(answer.whole, true)
    t.same(await phases(gateway), ['reset', 'ok'])
  })

  t.test(`${title}: with no other target it is tried again, then 502`, async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(script)
    const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
    const { code } = compatibleError(t, await gateway.chat({ stream: true }), 502)
    t.ok(['upstream_unavailable', 'bad_upstream_response'].includes(String(code)), String(code))
    t.equal(upstream.requests.items.length, 3, 'attempts in all')
  })
}

t.test('F-U4 a kept-alive connection that breaks is replaced without the client seeing it', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER), reset, json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  t.equal((await gateway.chat()).status, 200)
  t.equal((await gateway.chat()).status, 200)
  t.equal(upstream.requests.items.length, 3)
})

t.test('F-U12 a refusal of the request is passed on as it is, and not repeated', async t => {
  for (const status of [400, 404, 409, 413, 422]) {
    const upstream = await startRawUpstream(t)
    const refusal = { error: { message: 'no', type: 'invalid_request_error', param: 'messages', code: 'bad' } }
    upstream.answer(json(refusal, { status }))
    const { gateway, second } = await withFallback(t, upstream.origin)
    const answer = await gateway.chat()
    t.equal(answer.status, status)
    t.same(answer.json(), refusal)
    t.equal(second.requests.items.length, 0, `${status} is not tried elsewhere`)
    const line = await gateway.log.find(line => line.msg === 'request')
    t.match(line.attempts, [{ status }])
  }
})

t.test("F-U12 a refusal of the gateway's own credential is 502 upstream_auth, never 401", async t => {
  for (const status of [401, 403]) {
    const upstream = await startRawUpstream(t)
    upstream.answer(
      json({ error: { message: 'Incorrect API key', type: 'x', param: null, code: 'invalid_api_key' } }, { status }),
    )
    const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
    const answer = await gateway.chat()
    compatibleError(t, answer, 502, 'upstream_auth')
    t.notMatch(answer.text, /Incorrect/)
  }
})

t.test('F-U12 a refusal that repeats the credential is not passed on', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(peer =>
    json({ error: { message: `bad key ${peer.request.header('authorization')}` } }, { status: 400 })(peer),
  )
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  const answer = await gateway.chat()
  compatibleError(t, answer, 400, 'upstream_rejected')
})

t.test('F-U12 a refusal that is not JSON becomes an error in the family of the route', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(body('<html>Bad Request</html>', { status: 400, headers: { 'content-type': 'text/html' } }))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  const answer = await gateway.chat()
  compatibleError(t, answer, 400, 'upstream_rejected')
  t.notMatch(answer.text, /html/)
})

const NO_ANSWERS: readonly (readonly [string, string])[] = [
  ['HTML', '<!doctype html><title>502</title>'],
  ['nothing', ''],
  ['white space', ' \n'],
  ['broken JSON', '{"choices":['],
  ['two documents', '{}{}'],
  ['a comma too many', '{"a":1,}'],
  ['text', 'OK'],
  ['half a document, with its usage', '{"choices":[{"text":"x"}],"usage":{"prompt_tokens":1}'],
  ['an error before its usage', '{"error":{"message":"no"},"usage":{"prompt_tokens":1}'],
]

for (const [what, text] of NO_ANSWERS) {
  for (const type of ['application/json', 'text/html', 'text/plain']) {
    t.test(`F-U13 200 with ${what} as ${type} is 502 bad_upstream_response`, async t => {
      const upstream = await startRawUpstream(t)
      upstream.answer(body(text, { headers: { 'content-type': type } }))
      const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
      const answer = await gateway.chat()
      compatibleError(t, answer, 502, 'bad_upstream_response')
      t.notMatch(answer.text, /doctype|choices/)
    })
  }
}

t.test('F-U13 a malformed answer may continue to the next target where the rule says so', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(body('<html>'))
  const { gateway } = await withFallback(t, upstream.origin, 'retry: { attempts: 2, on: [bad_response] }\n')
  t.same((await gateway.chat()).json(), CHAT_ANSWER)
  t.same(await phases(gateway), ['bad_response', 'ok'])
})

t.test(
  'F-U13 an answer whose usage is sound but not its text is given up where another target is left, and passes where none is',
  async t => {
    const upstream = await startRawUpstream(t)
    const odd = '{"choices":[{"logprobs":NaN}],"usage":{"prompt_tokens":7}}'
    upstream.answer(body(odd))
    const { gateway } = await withFallback(t, upstream.origin, 'retry: { attempts: 2, on: [bad_response] }\n')
    t.same((await gateway.chat()).json(), CHAT_ANSWER)
    const alone = await startTestGateway(t, oneUpstream(upstream.origin))
    const answer = await alone.chat()
    t.equal(answer.status, 200)
    t.equal(answer.text, odd)
  },
)

t.test('F-U13 an event stream that is HTML is 502', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(stream(['<html>sorry</html>']))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  compatibleError(t, await gateway.chat({ stream: true }), 502, 'bad_upstream_response')
})

proveNoLeak(t)
