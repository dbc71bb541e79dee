import t from 'tap'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { CALLER, type LogLine, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

interface Stage {
  readonly gateway: TestGateway
  readonly first: RawUpstream
  readonly second: RawUpstream
}

/** A gateway at that level whose model `m` has two targets. */
async function stage(level: string): Promise<Stage> {
  const first = await startRawUpstream(t)
  const second = await startRawUpstream(t, { host: '127.0.0.2' })
  const upstreams = `upstreams:\n  first: ${upstreamYaml(first.origin)}\n  second: ${upstreamYaml(second.origin)}\n`
  const models = 'models: { m: [{ upstream: first, as: m-1 }, second] }\n'
  const yaml = `version: 1\n${CALLER}\n${upstreams}${models}log: { level: ${level} }\n`
  return { gateway: await startTestGateway(t, yaml), first, second }
}

/** The lines of one request, its own last. */
async function linesOf({ log }: TestGateway, id: string): Promise<readonly LogLine[]> {
  await log.find(line => line.msg === 'request' && line.id === id)
  return log.items.filter(line => line.id === id)
}

t.test('debug tells what becomes of a request, step by step', async t => {
  const { gateway, first, second } = await stage('debug')
  first.answer(json({ error: { message: 'overloaded' } }, { status: 503 }))
  second.answer(json(CHAT_ANSWER))
  await gateway.chat({}, { headers: { 'x-request-id': 'one' } })
  t.match(await linesOf(gateway, 'one'), [
    { level: 'debug', msg: 'request received', method: 'POST', route: 'POST /v1/chat/completions' },
    { level: 'debug', msg: 'request admitted', key: 'caller', model: 'm', ways: ['first/m-1', 'second/m'] },
    {
      level: 'debug',
      msg: 'calling an upstream',
      upstream: 'first',
      call: 'POST /v1/chat/completions',
      bytes: Number,
    },
    { level: 'debug', msg: 'upstream answered', upstream: 'first', status: 503 },
    { level: 'debug', msg: 'attempt failed', condition: 503, cause: /overloaded/, next: 'second/m' },
    { level: 'debug', msg: 'calling an upstream', upstream: 'second' },
    { level: 'debug', msg: 'upstream answered', upstream: 'second', status: 200 },
    { level: 'info', msg: 'request' },
  ])
  second.answer(json(CHAT_ANSWER))
  first.answer(json(CHAT_ANSWER))
  const message = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] }
  await gateway.request('/v1/messages', { body: message, headers: { 'x-request-id': 'two' } })
  const asked = (await linesOf(gateway, 'two')).find(line => line.msg === 'calling an upstream')
  t.match(asked, { translated: 'messages to responses' })
})

t.test('trace has the headers of both sides, and none of their secrets', async t => {
  const { gateway, first } = await stage('trace')
  const cookie = canary('upstream')
  first.answer(json(CHAT_ANSWER, { headers: { 'x-request-id': 'theirs', 'set-cookie': `session=${cookie}` } }))
  await gateway.chat({}, { headers: { 'x-request-id': 'one', 'x-api-key': gateway.key, 'user-agent': 'a test' } })
  const traces = (await linesOf(gateway, 'one')).filter(line => line.level === 'trace')
  t.match(traces, [
    { msg: 'request headers', headers: { 'user-agent': 'a test', authorization: '[hidden]' } },
    { msg: 'headers sent upstream', headers: { authorization: '[hidden]', 'content-type': 'application/json' } },
    { msg: "headers of the upstream's answer", headers: { 'x-request-id': 'theirs', 'set-cookie': '[hidden]' } },
  ])
  t.notMatch(JSON.stringify(gateway.log.items), 'hello', 'no body')
})

t.test('info has one line a request; a reload changes the level', async t => {
  const { gateway, first } = await stage('info')
  first.answer(json(CHAT_ANSWER))
  await gateway.chat({}, { headers: { 'x-request-id': 'one' } })
  t.equal((await linesOf(gateway, 'one')).length, 1)
})

proveNoLeak(t)
