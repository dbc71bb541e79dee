import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { WebSocket } from 'ws'
import { packageRoot } from '../../src/core/package-root.js'
import { start } from '../cli/bin.js'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { CHAT_ANSWER, hang, json } from '../helpers/answers.js'
import { CALLER, upstreamYaml } from '../helpers/gateway.js'
import { hookListener } from '../helpers/hook-listener.js'
import { askChat, measuredGateway } from '../helpers/measured.js'
import { type MetricsPage, readMetrics } from '../helpers/metrics-text.js'
import { request } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { compatible, filmYaml, startTaskUpstream, type TaskScript } from '../helpers/task-upstream.js'

/** What metrics show beside times, tokens and cost. */

t.setTimeout(300_000)

const BASE = `version: 1
${CALLER}
store: { type: memory }
upstreams: { sim: { kind: simulator } }
`

const MESSAGE = {
  ...{ id: 'msg_up', type: 'message', role: 'assistant', model: 'up', stop_reason: 'end_turn', stop_sequence: null },
  content: [{ type: 'text', text: 'The sea is wide.' }],
  usage: { input_tokens: 9, output_tokens: 5 },
}

t.test('losses of translation are counted by the names of the members, without what clients invent', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(MESSAGE))
  const upstreams = `upstreams: { up: { base: "${up.origin}", speaks: { messages: POST /v1/messages } } }\n`
  const at = await measuredGateway(t, `version: 1\n${CALLER}\nstore: { type: memory }\n${upstreams}models: { m: up }\n`)
  const lost = { max_tokens: 50, seed: 7, presence_penalty: 1, an_intruder: 1, another_intruder: 2 }
  const messages = [{ role: 'user', name: 'ann', content: 'Tell me of the sea.' }]
  const answer = await askChat(at, 'm', { ...lost, messages })
  t.equal(answer.status, 200, answer.text)
  const dropped = answer.header('x-gateway-dropped')?.split(', ') ?? []
  t.match(dropped.join(' '), /seed/)
  await at.gateway.log.count(1, line => line.msg === 'request')
  const { text } = await at.scrape()
  t.notMatch(text, /intruder/)
  const page = await at.page()
  const counted = (member: string): number =>
    page.sum('gateway_translation_losses_total', { http_route: '/v1/chat/completions', model: 'm', member })
  t.equal(counted('seed'), 1)
  t.equal(counted('presence_penalty'), 1)
  t.equal(counted('other'), dropped.filter(name => name.includes('intruder')).length)
  t.ok(counted('other') > 0)
  t.equal(page.sum('gateway_translation_losses_total'), dropped.length)
})

t.test('mirrors and canaries show what became of their requests', async t => {
  const models = `models:
  m: { upstream: a, mirror: { to: next, in_flight: 1 } }
  tried: { upstream: a, canary: { to: next, share: 50% } }
  next: { upstream: b }
`
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(json(CHAT_ANSWER))
  b.answer(hang)
  const upstreams = `upstreams: { a: ${upstreamYaml(a.origin)}, b: ${upstreamYaml(b.origin)} }\n`
  const at = await measuredGateway(
    t,
    `version: 1\n${CALLER}\nstore: { type: memory }\nhealth: off\n${upstreams}${models}`,
  )
  t.equal((await askChat(at, 'm')).status, 200)
  await b.requests.count(1)
  t.equal((await askChat(at, 'm')).status, 200)
  const copies = { model: 'm', mirror: 'next' }
  const page = await at.pageWhere(page => page.sum('gateway_mirror_copies_total', copies) === 2)
  t.equal(page.sum('gateway_mirror_copies_total', { ...copies, outcome: 'sent' }), 1)
  t.equal(page.sum('gateway_mirror_copies_total', { ...copies, outcome: 'dropped' }), 1)
  t.equal(page.sum('gateway_mirror_copies_in_flight', copies), 1)

  b.answer(json({ error: { message: 'out of order' } }, { status: 500 }))
  const canary = { model: 'tried', canary: 'next' }
  t.equal(page.of('gateway_canary_resting', canary)[0]?.value, 0)
  let asked = 0
  const isResting = async (): Promise<boolean> => (await at.page()).sum('gateway_canary_resting', canary) === 1
  while (!(await isResting())) {
    const some = Array.from({ length: 10 }, () => ({ role: 'user', content: `conversation ${++asked}` }))
    await Promise.all(some.map(message => askChat(at, 'tried', { messages: [message] })))
  }
  const after = await at.page()
  const attempts = (part: string, outcome: string): number =>
    after.sum('gateway_canary_attempts_total', { ...canary, part, outcome })
  t.ok(attempts('canary', 'failed') > 0)
  t.equal(attempts('canary', 'good'), 0)
  t.equal(attempts('others', 'failed'), 0)
  // Those that canaries failed at are asked of the others, and are not counted once more.
  t.equal(attempts('canary', 'failed') + attempts('others', 'good'), asked)
})

t.test('tasks are there by state and age, and how long they took once they have ended', async t => {
  let isDone = false
  const running = compatible({ status: 'in_progress' })
  const done = compatible({ status: 'completed' })
  const script: TaskScript = (request, upstream) => (isDone ? done : running)(request, upstream)
  const upstream = await startTaskUpstream(t, script)
  const at = await measuredGateway(t, filmYaml(upstream.origin), '', { OTHER_KEY: 'the-other-key-0123456789' })
  const made = await at.gateway.request('/v1/videos', { body: { model: 'film', prompt: 'the sea' } })
  t.equal(made.status, 200)
  const kind = { task_kind: 'video' }
  const open = await at.pageWhere(page => page.sum('gateway_tasks', kind) > 0)
  t.equal(
    open.sum('gateway_tasks', { ...kind, state: 'queued' }) + open.sum('gateway_tasks', { ...kind, state: 'running' }),
    1,
  )
  t.ok(open.sum('gateway_task_oldest_age_seconds', kind) > 0)
  isDone = true
  const ended = { ...kind, state: 'succeeded' }
  const page = await at.pageWhere(page => page.sum('gateway_tasks', ended) === 1)
  t.same(page.of('gateway_task_oldest_age_seconds', ended), [], 'ended ones do not age')
  t.equal(page.sum('gateway_task_duration_seconds_count', ended), 1)
  t.equal(page.sum('gateway_task_changes_total', ended), 1)
})

t.test('attempts to notify clients are counted by what became of them', async t => {
  const { url, port } = await hookListener(t, count => (count === 1 ? 500 : 204))
  const upstream = await startTaskUpstream(t, compatible({ status: 'completed' }))
  const { line, origin: admin } = await adminLine(', metrics: open')
  const hooks = `webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost, 127.0.0.1], ports: [${port}] }\n`
  const folder = mkdtempSync(join(tmpdir(), 'gateway-hooks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, filmYaml(upstream.origin, undefined, `${hooks}listen: { port: 0 }\n${line}\n`))
  const [CALLER_KEY, OTHER_KEY] = ['the-key-of-the-caller-0123456789', 'the-other-key-0123456789abcdef']
  const NODE_EXTRA_CA_CERTS = join(packageRoot(), 'test/fixtures/tls/first.pem')
  const secrets = { CALLER_KEY, OTHER_KEY, UPSTREAM_KEY: 'u', GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  const HOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const bin = start(t, ['serve', file], { env: { ...secrets, HOOK_SECRET, NODE_EXTRA_CA_CERTS } })
  const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
  const body = { model: 'film', prompt: 'A cat', webhook_url: url }
  t.equal((await request(t, origin, '/v1/videos', { key: CALLER_KEY, body })).status, 200)
  await bin.until(/"msg":"notification taken"/)
  const page = readMetrics((await request(t, admin, '/metrics')).text, false)
  t.equal(page.sum('gateway_webhook_attempts_total', { outcome: 'again' }), 1)
  t.equal(page.sum('gateway_webhook_attempts_total', { outcome: 'taken' }), 1)
})

t.test('generation, digest and problems of the configuration are those of the health route', async t => {
  const yaml = `${BASE}models: { "sim-*": sim }\n`
  const at = await measuredGateway(t, yaml)
  const { config } = (await at.gateway.request('/readyz')).json() as { config: { digest: string } }
  const page = await at.page()
  t.equal(page.sum('gateway_config_info', { digest: config.digest }), 1)
  t.equal(page.sum('gateway_config_generation'), 1)
  t.equal(page.sum('gateway_config_valid'), 1)
  t.equal(page.sum('gateway_config_problems', { severity: 'error' }), 0)
  await at.gateway.write('gateway.yaml', `${yaml}nonsense: true\n`)
  await at.gateway.gateway.reload()
  const wrong = await at.page()
  t.equal(wrong.sum('gateway_config_valid'), 0)
  t.ok(wrong.sum('gateway_config_problems', { severity: 'error' }) > 0)
  t.equal(wrong.sum('gateway_config_reloads_total', { result: 'failed' }), 1)
  t.equal(wrong.sum('gateway_config_info', { digest: config.digest }), 1, 'the last good one serves')
})

t.test('places of a pool, bytes of bodies, and open sessions', async t => {
  const up = await startRawUpstream(t)
  up.answer(hang)
  const limited = upstreamYaml(up.origin, 'pool: { connections: 1 }')
  const upstreams = `upstreams: { sim: { kind: simulator }, up: ${limited} }\n`
  const models = 'models: { m: up, "sim-*": sim }\n'
  const at = await measuredGateway(t, `version: 1\n${CALLER}\nstore: { type: memory }\n${upstreams}${models}`)
  const bodies = [askChat(at, 'm'), askChat(at, 'm')].map(one => one.catch(() => undefined))
  const page = await at.pageWhere(page => page.sum('gateway_upstream_pool_waiting', { upstream: 'up' }) === 1)
  t.equal(page.sum('gateway_upstream_pool_in_use', { upstream: 'up' }), 1)
  t.equal(page.sum('gateway_requests_in_flight'), 2)
  up.answer(json(CHAT_ANSWER))

  const answer = await askChat(at, 'sim-text')
  await at.gateway.log.find(line => line.msg === 'request' && line.model === 'sim-text')
  const route = { http_route: '/v1/chat/completions' }
  const after = await at.page()
  t.equal(after.sum('gateway_response_body_bytes_total', route), Buffer.byteLength(answer.text))
  t.ok(after.sum('gateway_request_body_bytes_total', route) > 50)

  const socket = new WebSocket(`${at.gateway.origin.replace('http', 'ws')}/v1/realtime?model=sim-realtime`, {
    headers: { authorization: `Bearer ${at.gateway.key}` },
  })
  await new Promise(resolve => socket.once('open', resolve))
  t.equal((await at.page()).sum('gateway_websockets'), 1)
  socket.terminate()
  await at.pageWhere(page => page.sum('gateway_websockets') === 0)
  at.gateway.gateway.closeNow()
  await Promise.all(bodies)
})

t.test('a session of a realtime model has tokens, and no time to its first one', async t => {
  const at = await measuredGateway(t, `${BASE}models: { "sim-*": sim }\n`)
  const url = `${at.gateway.origin.replace('http', 'ws')}/v1/realtime?model=sim-realtime`
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${at.gateway.key}` } })
  const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Tell me of the sea.' }] }
  socket.on('open', () => {
    socket.send(JSON.stringify({ type: 'conversation.item.create', item }))
    socket.send(JSON.stringify({ type: 'response.create' }))
  })
  socket.on('message', data => {
    if (String(data).includes('"type":"response.done"')) socket.close()
  })
  await at.gateway.log.find(line => line.msg === 'request')
  const page = await at.page()
  t.ok(page.sum('gen_ai_client_token_usage_sum', { gen_ai_token_type: 'output' }) > 1)
  t.equal(page.sum('gen_ai_server_time_to_first_token_seconds_count'), 0)
  t.equal(page.sum('gen_ai_server_time_per_output_token_seconds_count'), 0)
})

t.test('an upstream that fails is shown, however many others there are', async t => {
  const up = await startRawUpstream(t)
  up.answer(json({ error: { message: 'no' } }, { status: 503 }))
  const names = Array.from({ length: 510 }, (_, at) => `u${at}`)
  const last = names.at(-1) ?? ''
  const upstreams = names.map(
    name =>
      `  ${name}: { kind: openai-compatible, base: "${up.origin}", secret: { env: UPSTREAM_KEY }, health: { failures: 1 } }`,
  )
  const models = `models: { m: { targets: [${last}], retry: { attempts: 1 } } }\n`
  const at = await measuredGateway(
    t,
    `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams:\n${upstreams.join('\n')}\n${models}`,
  )
  const states = (page: MetricsPage): number => page.of('gateway_upstream_breaker_state').length
  t.equal(states(await at.page()), 500)
  await at.gateway.chat()
  const page = await at.page()
  t.equal(page.sum('gateway_upstream_breaker_parts_open', { upstream: last, part: 'model' }), 1)
  t.equal(page.of('gateway_upstream_breaker_state', { upstream: last }).length, 1)
  t.equal(states(page), 500, 'as many as before')
})
