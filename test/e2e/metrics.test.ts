import { execFile } from 'node:child_process'
import t from 'tap'
import { TOKEN_UNITS } from '../../src/core/bounds.js'
import type { LedgerRecord } from '../../src/core/ledger.js'
import { METRICS } from '../../src/features/metrics/list.js'
import type { Kernel } from '../../src/kernel/kernel.js'
import { CALLER } from '../helpers/gateway.js'
import { askChat, type Measured, measuredGateway } from '../helpers/measured.js'
import { readMetrics } from '../helpers/metrics-text.js'
import { PROMTOOL, startPrometheus, withoutPrometheus, withoutPromtool } from '../helpers/prometheus.js'
import { request } from '../helpers/raw-client.js'

const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0'
const STREAM = { stream: true, stream_options: { include_usage: true } }

const BASE = `version: 1
${CALLER}
store: { type: memory }
upstreams: { sim: { kind: simulator }, other: { kind: simulator } }
`

t.test('/metrics takes the admin key, needs none where it is open, and is not there where it is off', async t => {
  const closed = await measuredGateway(t, `${BASE}models: { "sim-*": sim }\n`)
  t.equal((await request(t, closed.origin, '/metrics')).status, 401)
  t.equal((await closed.scrape({ key: closed.gateway.key })).status, 401)
  t.equal((await closed.scrape()).status, 200)

  const open = await measuredGateway(t, `${BASE}models: { "sim-*": sim }\n`, 'open')
  t.equal((await request(t, open.origin, '/metrics')).status, 200)
  const head = await fetch(`${open.origin}/metrics`, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.ok(Number(head.headers.get('content-length')) > 0)
  t.equal((await request(t, open.origin, '/admin/config')).status, 401, 'the rest is not open')
  t.equal((await request(t, open.origin, '/metrics', { method: 'POST' })).status, 401)
  t.equal((await request(t, open.gateway.origin, '/metrics', { key: open.gateway.key })).status, 404)

  const off = await measuredGateway(t, `${BASE}models: { "sim-*": sim }\n`, 'off')
  t.equal((await off.scrape()).status, 404)
  const line = `admin: { port: ${new URL(off.origin).port}, secret: { env: GATEWAY_ADMIN_KEY } }`
  await off.gateway.write('gateway.yaml', `${BASE}models: { "sim-*": sim }\n${line}\n`)
  t.ok((await off.gateway.gateway.reload()).plan)
  t.equal((await off.scrape()).status, 200)
  const page = await off.page()
  t.ok(page.sum('gateway_store_operation_duration_seconds_count', {}) > 0, 'the store is timed from now on')
})

t.test('scrapes are not logged, refused ones are', async t => {
  const at = await measuredGateway(t, `${BASE}models: { "sim-*": sim }\n`)
  await at.scrape()
  await at.scrape({ key: 'wrong-key-0123456789' })
  await at.gateway.log.find(line => line.admin === 'GET /metrics' && line.status === 401)
  t.equal(at.gateway.log.items.filter(line => line.admin === 'GET /metrics').length, 1)
})

t.test('durations, tokens, first content, attempts and cost are there by the names of the conventions', async t => {
  const at = await measuredGateway(t, `${BASE}models: { "sim-*": sim }\nprices: { "sim-*": { input: 1, output: 2 } }\n`)
  t.equal((await askChat(at, 'sim-text')).status, 200)
  t.equal((await askChat(at, 'sim-text', STREAM)).status, 200)
  t.equal((await askChat(at, 'sim-text?status=418')).status, 418)
  await at.gateway.log.count(3, line => line.msg === 'request')
  const page = await at.page()
  const route = { http_route: '/v1/chat/completions' }
  t.equal(page.sum('http_server_request_duration_seconds_count', { ...route, http_response_status_code: '200' }), 2)
  t.equal(page.sum('http_server_request_duration_seconds_count', { ...route, http_response_status_code: '418' }), 1)
  const target = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'simulator', gen_ai_request_model: 'sim-*' }
  t.equal(page.sum('gen_ai_client_operation_duration_seconds_count', { ...target, upstream: 'sim' }), 3)
  t.equal(page.sum('gen_ai_client_operation_duration_seconds_count', { error_type: 'upstream_rejected' }), 1)
  t.equal(page.sum('gen_ai_client_token_usage_count', { ...target, gen_ai_token_type: 'input' }), 2)
  t.ok(page.sum('gen_ai_client_token_usage_sum', { gen_ai_token_type: 'output' }) > 10)
  t.equal(page.sum('gen_ai_server_time_to_first_token_seconds_count', { stream: 'true' }), 1)
  t.equal(page.sum('gen_ai_server_time_per_output_token_seconds_count', target), 1)
  t.equal(page.sum('http_client_request_duration_seconds_count', { http_response_status_code: '200' }), 2)
  t.equal(page.sum('gateway_upstream_attempts_total', { model: 'sim-*', outcome: 'ok' }), 2)
  t.equal(page.sum('gateway_upstream_attempts_total', { model: 'sim-*', outcome: 'status' }), 1)
  t.equal(page.sum('gateway_upstream_connect_duration_seconds_count', { upstream: 'sim' }), 3)
  t.equal(page.sum('gateway_own_duration_seconds_count', route), 2)
  t.ok(page.sum('gateway_cost_usd_total', { model: 'sim-*', upstream: 'sim' }) > 0)
  t.ok(page.sum('process_memory_usage_bytes') > 1e6)
  for (const { name, kind } of METRICS) t.equal(page.types.get(name), kind, name)
})

t.test('no label holds what clients wrote, and labels have bounds', async t => {
  const at = await measuredGateway(t, `${BASE}models: { "sim-*": sim }\n`, '{ per_key: true }')
  for (const n of [1, 2, 3]) await askChat(at, `sim-intruder${n}`)
  await askChat(at, 'intruder-unknown')
  await at.gateway.request('/v1/intruder-path')
  await at.gateway.request('/v1/chat/completions', { body: { intruder: 1, model: 'sim-text', messages: 'intruder' } })
  await at.gateway.log.count(6, line => line.msg === 'request')
  const { text } = await at.scrape()
  t.notMatch(text, /intruder/)
  const page = readMetrics(text, false)
  t.equal(page.sum('gateway_requests_total', { model: 'sim-*' }), 3)
  t.equal(page.sum('gateway_requests_total', { http_route: 'none' }), 1)
  t.equal(page.sum('gateway_key_requests_total', { key: 'caller' }), 6)
})

t.test('OpenMetrics where the Accept header asks for it', async t => {
  const at = await measuredGateway(t, `${BASE}models: { "sim-*": sim }\n`)
  await askChat(at, 'sim-text')
  const answer = await at.scrape({ accept: `${OPEN_METRICS},text/plain;version=0.0.4;q=0.5,*/*;q=0.1` })
  t.match(answer.header('content-type'), /^application\/openmetrics-text; version=1\.0\.0/)
  const page = readMetrics(answer.text, true)
  t.equal(page.sum('gateway_requests_total', { outcome: 'ok' }), 1)
  const plain = await at.scrape({ accept: 'text/plain' })
  t.match(plain.header('content-type'), /^text\/plain; version=0\.0\.4/)
  readMetrics(plain.text, false)
})

t.test('budgets, breakers, reloads, the store and the process are shown as they are now', async t => {
  const yaml = `version: 1
keys: { caller: { secret: { env: CALLER_KEY }, group: team, limits: { requests: 100/day } } }
groups: { team: { limits: { budget: 2 USD/day } } }
store: { type: memory }
prices: { "*": { input: 1000, output: 1000 } }
upstreams: { sim: { kind: simulator }, bad: { kind: simulator, health: { failures: 1 } } }
models: { sim-text: sim, breaks: { targets: [{ upstream: bad, as: "sim-text?status=503" }], retry: { attempts: 1 } } }
`
  const at = await measuredGateway(t, yaml)
  t.equal((await askChat(at, 'sim-text', { max_tokens: 16 })).status, 200)
  t.equal((await askChat(at, 'breaks', { max_tokens: 16 })).status, 503)
  await at.gateway.gateway.reload()
  await at.gateway.log.count(2, line => line.msg === 'request')
  const page = await at.page()
  const budget = { scope: 'group', name: 'team', window: 'day' }
  const cost = page.sum('gateway_cost_usd_total')
  t.ok(cost > 0)
  t.equal(page.sum('gateway_group_cost_usd_total', { group: 'team' }), cost)
  t.equal(page.sum('gateway_budget_used_usd', budget), cost)
  t.ok(Math.abs(page.sum('gateway_budget_left_usd', budget) - (2 - cost)) < 1e-6)
  t.ok(Math.abs(page.sum('gateway_limit_used_ratio', { ...budget, limit: 'budget' }) - cost / 2) < 1e-6)
  t.same(page.of('gateway_limit_used_ratio', { scope: 'key' }), [], 'keys only with per_key')
  t.equal(page.sum('gateway_upstream_breaker_parts_open', { upstream: 'bad', part: 'model' }), 1)
  t.equal(page.sum('gateway_upstream_breaker_changes_total', { upstream: 'bad', state: 'open' }), 1)
  t.equal(page.of('gateway_upstream_breaker_state', { upstream: 'sim' })[0]?.value, 0)
  t.equal(page.sum('gateway_config_reloads_total', { result: 'unchanged' }), 1)
  t.equal(page.sum('gateway_config_valid'), 1)
  t.equal(page.sum('gateway_store_up', { type: 'memory' }), 1)
  t.ok(page.sum('gateway_store_operation_duration_seconds_count', { operation: 'commit', result: 'ok' }) > 0)
  t.same(page.of('gateway_upstream_pool_in_use', { upstream: 'sim' })[0]?.value, 0)
  t.ok(page.of('gateway_client_connections').length === 1)
  t.ok(page.sum('process_cpu_time_seconds_total') > 0)
})

t.test('what a task costs is there once it has ended', async t => {
  const models = 'models: { "sim-v*": { targets: [{ upstream: sim, as: "sim-video?polls=0" }] } }'
  const at = await measuredGateway(t, `${BASE}${models}\nprices: { "sim-v*": { request: 0.5 } }\n`, '{ per_key: true }')
  const made = await at.gateway.request('/v1/videos', { body: { model: 'sim-video', prompt: 'the sea' } })
  t.equal(made.status, 200)
  await at.gateway.log.find(line => line.msg === 'task changed' && line.to === 'succeeded')
  let page = await at.page()
  while (page.sum('gateway_cost_usd_total') === 0) page = await at.page()
  t.equal(page.sum('gateway_cost_usd_total', { model: 'sim-v*', upstream: 'sim' }), 0.5)
  t.equal(page.sum('gateway_key_cost_usd_total', { key: 'caller' }), 0.5)
  t.equal(page.sum('gateway_task_changes_total', { state: 'succeeded' }), 1)
})

t.test('a reload changes who may ask, and what is measured', async t => {
  const yaml = `${BASE}models: { "sim-*": sim }\n`
  const at = await measuredGateway(t, yaml, 'open')
  const port = Number(new URL(at.origin).port)
  const line = (metrics: string): string =>
    `admin: { port: ${port}, secret: { env: GATEWAY_ADMIN_KEY }, metrics: ${metrics} }\n`
  await at.gateway.write('gateway.yaml', `${yaml}${line('{ per_key: true }')}`)
  t.ok((await at.gateway.gateway.reload()).plan)
  t.same(at.gateway.gateway.health.restart, [])
  t.equal((await request(t, at.origin, '/metrics')).status, 401)
  await askChat(at, 'sim-text')
  await at.gateway.log.count(1, line => line.msg === 'request')
  t.equal((await at.page()).sum('gateway_key_requests_total', { key: 'caller' }), 1)
  await at.gateway.write('gateway.yaml', `${yaml}${line('off')}`)
  await at.gateway.gateway.reload()
  t.equal((await at.scrape()).status, 404)
})

t.test('requests, tokens and cost are the same in metrics, ledger and log', async t => {
  const models = `models:
  plain: { targets: [{ upstream: sim, as: sim-text }] }
  falls: { targets: [{ upstream: other, as: "sim-text?status=503" }, { upstream: sim, as: sim-text }], retry: { attempts: 2, on: [503] } }
  instead: { targets: [{ upstream: other, as: "sim-text?status=529" }], fallbacks: { overloaded: [plain] } }
  fails: { targets: [{ upstream: other, as: "sim-text?status=500" }], retry: { attempts: 1 } }
  slow: { targets: [{ upstream: sim, as: "sim-text?pace=20ms&tokens=400" }] }
  blocks: { targets: [{ upstream: sim, as: sim-messages }] }
prices: { "*": { input: 3, output: 5 } }
`
  const at = await measuredGateway(t, `${BASE}${models}`, '{ per_key: true }')
  const kinds = ['plain', 'falls', 'instead', 'fails', 'blocks', 'nobody']
  let sent = 0
  for (let round = 0; round < 6; round++) {
    const requests = Array.from({ length: 48 }, (_, n) => {
      sent++
      const model = kinds[n % kinds.length] ?? ''
      return n % 8 === 7 ? abort(at) : askChat(at, model, n % 2 === 0 ? STREAM : {})
    })
    await Promise.all(requests)
  }
  const lines = await at.gateway.log.count(sent, line => line.msg === 'request')
  const page = await at.page()
  let entries = await ledgerOf(at.kernel)
  // What is settled is written a moment later.
  while (tokensOf(entries) < page.sum('gateway_charged_tokens_total')) {
    await new Promise<void>(resolve => setImmediate(resolve))
    entries = await ledgerOf(at.kernel)
  }

  const sumOf = (name: string): number => lines.reduce((sum, line) => sum + Number(line[name] ?? 0), 0)
  t.equal(page.sum('gateway_requests_total'), sent)
  t.equal(page.sum('http_server_request_duration_seconds_count'), sent)
  t.equal(page.sum('gateway_key_requests_total', { key: 'caller' }), sent)
  for (const outcome of ['ok', 'client_error', 'upstream_error', 'client_abort', 'gateway_error'])
    t.equal(
      page.sum('gateway_requests_total', { outcome }),
      lines.filter(line => line.outcome === outcome).length,
      outcome,
    )
  t.ok(page.sum('gateway_requests_total', { outcome: 'client_abort' }) > 0, 'some were aborted')
  t.ok(page.sum('gateway_fallbacks_total', { model: 'instead', fallback: 'plain' }) > 0, 'some fell back')
  const types = ['input', 'output'] as const
  for (const type of types)
    t.equal(page.sum('gen_ai_client_token_usage_sum', { gen_ai_token_type: type }), sumOf(`${type}_tokens`), type)
  const reported = entries.filter(({ estimated }) => estimated !== true)
  t.equal(tokensOf(reported), sumOf('input_tokens') + sumOf('output_tokens'), 'the ledger, where upstreams reported')
  t.ok(reported.length < entries.length, 'some were estimated')
  t.equal(page.sum('gateway_charged_tokens_total'), tokensOf(entries))
  const cost = entries.reduce((sum, one) => sum + one.cost, 0)
  for (const name of ['gateway_cost_usd_total', 'gateway_key_cost_usd_total'])
    t.equal(Math.round(page.sum(name) * 1e6), cost, name)
  t.ok(cost > 0)
})

/** Goes away amid a stream. */
async function abort({ gateway }: Measured): Promise<void> {
  const body = { model: 'slow', stream: true, messages: [{ role: 'user', content: 'Speak slowly.' }] }
  const client = await gateway.open('/v1/chat/completions', { body })
  await client.body(await client.head(), body => body.includes('"content":"'))
  client.socket.destroy()
}

async function ledgerOf({ store: { accounts } }: Kernel): Promise<readonly LedgerRecord[]> {
  const all: LedgerRecord[] = []
  for (const day of await accounts.days()) {
    const entries = await accounts.entries(day, { after: 0, limit: 10_000 })
    all.push(...entries.map(({ value }) => JSON.parse(Buffer.from(value).toString()) as LedgerRecord))
  }
  return all
}

function tokensOf(entries: readonly LedgerRecord[]): number {
  const units = entries.flatMap(one => Object.entries(one.units))
  return units.reduce((sum, [unit, count]) => sum + (TOKEN_UNITS.has(unit as never) ? (count ?? 0) : 0), 0)
}

t.test('promtool finds nothing wrong', { skip: withoutPromtool }, async t => {
  const at = await measuredGateway(t, `${BASE}models: { "sim-*": sim }\n`)
  await askChat(at, 'sim-text')
  const { text } = await at.scrape()
  const said = await new Promise<string>(resolve => {
    const child = execFile(PROMTOOL ?? '', ['check', 'metrics'], (error, stdout, stderr) =>
      resolve(`${error === null ? '' : 'failed'}${stdout}${stderr}`),
    )
    child.stdin?.end(text)
  })
  t.equal(said, '')
})

t.test('a real Prometheus scrapes it', { skip: withoutPrometheus }, async t => {
  const at = await measuredGateway(t, `${BASE}models: { "sim-*": sim }\n`)
  await askChat(at, 'sim-text', STREAM)
  const { query } = await startPrometheus(t, at.origin)
  const asked = 'sum(gen_ai_client_token_usage_sum{gen_ai_request_model="sim-*"}) > 0'
  let found = await query(asked)
  // It begins to scrape some seconds after its start.
  while (found.length === 0) found = await query(asked)
  t.equal(Number(found[0]?.value[1]), (await at.page()).sum('gen_ai_client_token_usage_sum'))
})
