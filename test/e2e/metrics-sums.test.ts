import { join } from 'node:path'
import t from 'tap'
import { WebSocket } from 'ws'
import { TOKEN_UNITS } from '../../src/core/bounds.js'
import type { LedgerRecord } from '../../src/core/ledger.js'
import type { Plan } from '../../src/core/plan.js'
import { loadPlan } from '../../src/runtime/load.js'
import { ADMIN_SECRET } from '../helpers/admin.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { type MetricsPage, readMetrics } from '../helpers/metrics-text.js'
import { receiptsIn, verifyFolder } from '../helpers/receipts.js'
import { KEY, until, WorkingGateway } from '../helpers/workers.js'

/**
 * Sums of mixed requests, with aborts, fallbacks, tasks, sessions, reloads and a worker that is killed: metrics, ledger, log and
 * receipts say the same.
 */

/** `METRICS_REQUESTS=10000` sends as many as the proof asks for. */
const WHOLE = 10_000
const REQUESTS = Number(process.env.METRICS_REQUESTS ?? 480)
const AT_ONCE = 12
const ROUNDS = 4
/** Where nothing may hold it but the request itself. */
const CANARY = 'canary-zq81'

t.setTimeout(Math.max(300_000, REQUESTS * 200))
if (REQUESTS < WHOLE) console.error(`# SAMPLED: ${REQUESTS} of ${WHOLE} requests (METRICS_REQUESTS=${WHOLE} sends all)`)

/** `version` changes nothing but the text, so that a reload has something to apply. */
const yamlOf = (version: number): string => `keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], group: team }
groups: { team: { limits: { budget: ${1_000_000 + version} USD/day } } }
store: { type: file, path: ./store }
receipts: { to: ./receipts }
prices: { "*": { input: 3, output: 5, request: 0.01 } }
workers: 2
upstreams: { sim: { kind: simulator }, other: { kind: simulator, health: off } }
models:
  plain: { targets: [{ upstream: sim, as: sim-text }] }
  falls: { targets: [{ upstream: other, as: "sim-text?status=503" }, { upstream: sim, as: sim-text }], retry: { attempts: 2, on: [503], max_wait: 1ms } }
  instead: { targets: [{ upstream: other, as: "sim-text?status=529" }], fallbacks: { overloaded: [plain] } }
  fails: { targets: [{ upstream: other, as: "sim-text?status=500" }], retry: { attempts: 1 } }
  slow: { targets: [{ upstream: sim, as: "sim-text?pace=20ms&tokens=400" }] }
  drained: { targets: [{ upstream: sim, as: "sim-text?pace=5ms&tokens=60" }], on_client_abort: drain }
  clip: { targets: [{ upstream: sim, as: "sim-video?polls=0" }] }
  voice: { targets: [{ upstream: sim, as: sim-realtime }] }
`

const MESSAGES = [{ role: 'user', content: `Tell me of the sea, ${CANARY}.` }]
const HEADERS = { 'x-session': CANARY, 'user-agent': CANARY }

/** Each sends one request and waits for its end. */
const KINDS: readonly ((gateway: WorkingGateway) => Promise<unknown>)[] = [
  gateway => chat(gateway, 'plain'),
  gateway => chat(gateway, 'plain', { stream: true, stream_options: { include_usage: true } }),
  gateway => chat(gateway, 'falls'),
  gateway => chat(gateway, 'instead'),
  gateway => chat(gateway, 'fails'),
  gateway => post(gateway, '/v1/messages', { model: 'plain', max_tokens: 99, messages: MESSAGES }),
  gateway => chat(gateway, 'plain', { user: CANARY, metadata: { of: CANARY } }),
  gateway => goAway(gateway, 'slow'),
  gateway => goAway(gateway, 'drained'),
  gateway => chat(gateway, `unknown-${CANARY}`),
  gateway => post(gateway, '/v1/videos', { model: 'clip', prompt: CANARY }),
  speak,
  gateway => chat(gateway, 'plain', { stream: true }),
]

async function post(gateway: WorkingGateway, path: string, body: object, signal?: AbortSignal): Promise<Response> {
  // On a connection of its own, so that both workers serve.
  const headers = {
    ...HEADERS,
    authorization: `Bearer ${KEY}`,
    'content-type': 'application/json',
    connection: 'close',
  }
  const init = { method: 'POST', headers, body: JSON.stringify(body), ...(signal !== undefined && { signal }) }
  const answer = await fetch(`${gateway.origin}${path}`, init)
  if (signal === undefined) await answer.text()
  return answer
}

function chat(gateway: WorkingGateway, model: string, more: object = {}): Promise<Response> {
  return post(gateway, '/v1/chat/completions', { model, messages: MESSAGES, ...more })
}

/** Leaves amid a stream. */
async function goAway(gateway: WorkingGateway, model: string): Promise<void> {
  const abort = new AbortController()
  const body = { model, stream: true, messages: MESSAGES }
  const answer = await post(gateway, '/v1/chat/completions', body, abort.signal)
  await answer.body?.getReader().read()
  abort.abort()
}

/** A session with one answer. */
async function speak(gateway: WorkingGateway): Promise<void> {
  const url = `${gateway.origin.replace('http', 'ws')}/v1/realtime?model=voice`
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${KEY}` } })
  const content = [{ type: 'input_text', text: CANARY }]
  const item = { type: 'message', role: 'user', content }
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject).on('close', () => resolve())
    socket.on('open', () => {
      socket.send(JSON.stringify({ type: 'conversation.item.create', item }))
      socket.send(JSON.stringify({ type: 'response.create' }))
    })
    socket.on('message', data => {
      if (String(data).includes('"type":"response.done"')) socket.close()
    })
  })
}

async function scrape(gateway: WorkingGateway): Promise<{ readonly text: string; readonly page: MetricsPage }> {
  const headers = { authorization: `Bearer ${ADMIN_SECRET}`, connection: 'close' }
  const text = await (await fetch(`${gateway.adminOrigin}/metrics`, { headers })).text()
  return { text, page: readMetrics(text, false) }
}

function tokensOf(records: readonly Pick<LedgerRecord, 'units'>[]): number {
  const units = records.flatMap(one => Object.entries(one.units))
  return units.reduce((sum, [unit, count]) => sum + (TOKEN_UNITS.has(unit as never) ? (count ?? 0) : 0), 0)
}

const costOf = (records: readonly LedgerRecord[]): number => records.reduce((sum, one) => sum + one.cost, 0)
const inMicro = (page: MetricsPage, name: string): number => Math.round(page.sum(name) * 1e6)

/** Waits until what was sent is in the metrics and in the ledger, and all tasks have ended. */
async function settled(gateway: WorkingGateway, plan: Plan, sent: number): Promise<readonly LedgerRecord[]> {
  const tasks = (): number =>
    gateway.logged('request').filter(({ status, model }) => model === 'clip' && status === 200).length
  await until(() => gateway.logged('request').length >= sent)
  const folder = join(gateway.folder, 'receipts')
  await until(() => receiptsIn(folder).filter(({ kind }) => kind === 'request').length >= sent)
  await until(() => gateway.logged('task changed').filter(({ to }) => to === 'succeeded').length >= tasks())
  for (;;) {
    const { page } = await scrape(gateway)
    const records = await ledgerRecords({ gateway: { plan } })
    const isSame = tokensOf(records) === page.sum('gateway_charged_tokens_total')
    const isPaid = costOf(records) === inMicro(page, 'gateway_cost_usd_total')
    if (isSame && isPaid && page.sum('gateway_requests_total') >= sent) return records
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

async function send(gateway: WorkingGateway, count: number): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await KINDS[next++ % KINDS.length]?.(gateway)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

t.test(
  'requests, tokens and cost are the same in metrics, ledger, log and receipts, across reloads and a killed worker',
  async t => {
    const gateway = await WorkingGateway.start(t, yamlOf(0))
    const file = join(gateway.folder, 'gateway.yaml')
    const env = { CALLER_KEY: KEY, GATEWAY_ADMIN_KEY: ADMIN_SECRET }
    const loaded = await loadPlan({ file, env })
    const plan = loaded.plan as Plan
    let sent = 0
    for (let round = 1; round <= ROUNDS; round++) {
      const count = Math.floor(REQUESTS / ROUNDS)
      const reloads = gateway.logged('reloaded').length
      const sending = send(gateway, count)
      gateway.write(yamlOf(round))
      await sending
      sent += count
      await until(() => gateway.logged('reloaded').length > reloads)
      if (round !== 2) continue
      // It takes nothing along that a scrape has not shown.
      await settled(gateway, plan, sent)
      const [victim] = await gateway.workers()
      process.kill(victim?.pid ?? 0, 'SIGKILL')
      const states = (): ReturnType<typeof gateway.workers> => gateway.workers().catch(() => [])
      await until(async () => (await states()).filter(({ pid }) => pid !== victim?.pid).length === 2)
    }
    const records = await settled(gateway, plan, sent)
    const { text, page } = await scrape(gateway)
    const lines = gateway.logged('request')
    const logged = (name: string): number => lines.reduce((sum, line) => sum + Number(line[name] ?? 0), 0)

    t.equal(lines.length, sent)
    t.equal(page.sum('gateway_requests_total'), sent)
    t.equal(page.sum('http_server_request_duration_seconds_count'), sent)
    t.equal(page.sum('gateway_group_requests_total', { group: 'team' }), sent)
    for (const outcome of ['ok', 'client_error', 'upstream_error', 'client_abort', 'gateway_error']) {
      const count = lines.filter(line => line.outcome === outcome).length
      t.equal(page.sum('gateway_requests_total', { outcome }), count, outcome)
      if (outcome !== 'gateway_error') t.ok(count > 0, `some are ${outcome}`)
    }
    t.ok(page.sum('gateway_fallbacks_total', { model: 'instead', fallback: 'plain' }) > 0)
    for (const type of ['input', 'output']) {
      const sum = page.sum('gen_ai_client_token_usage_sum', { gen_ai_token_type: type })
      t.equal(sum, logged(`${type}_tokens`), `${type} tokens`)
      t.ok(sum > 0)
    }
    const reported = records.filter(({ estimated }) => estimated !== true)
    t.equal(
      tokensOf(reported),
      logged('input_tokens') + logged('output_tokens'),
      'the ledger, where upstreams reported',
    )
    t.equal(page.sum('gateway_charged_tokens_total'), tokensOf(records))
    t.equal(page.sum('gateway_group_tokens_total', { group: 'team' }), tokensOf(records))
    t.ok(costOf(records) > 0)
    t.equal(inMicro(page, 'gateway_cost_usd_total'), costOf(records))
    t.equal(inMicro(page, 'gateway_group_cost_usd_total'), costOf(records))
    const charges = [...lines, ...gateway.logged('task charged')]
    const paid = charges.reduce((sum, line) => sum + Number(line.cost_usd ?? 0), 0)
    t.equal(Math.round(paid * 1e6), costOf(records), 'cost in the log')
    const tasks = gateway.logged('task changed').filter(({ to }) => to === 'succeeded').length
    t.equal(page.sum('gateway_task_duration_seconds_count', { state: 'succeeded' }), tasks)
    t.ok(tasks > 0)
    t.equal(page.sum('gateway_config_reloads_total', { result: 'applied' }), ROUNDS)

    const folder = join(gateway.folder, 'receipts')
    const receipts = receiptsIn(folder)
    t.equal(receipts.filter(({ kind }) => kind === 'request').length, sent)
    t.equal(
      receipts.reduce((sum, { cost = 0 }) => sum + cost, 0),
      costOf(records),
      'cost of receipts',
    )
    const charged = receipts.flatMap(({ attempts = [] }) => attempts.map(({ units = {} }) => ({ units })))
    t.equal(tokensOf(charged), tokensOf(records), 'tokens of receipts')
    t.match(await verifyFolder(folder), { faulty: 0, lost: 0 })

    // A model that clients name is shown, even if the file does not have it.
    const written = JSON.stringify(receipts).replaceAll(`unknown-${CANARY}`, '')
    for (const secret of [CANARY, KEY, ADMIN_SECRET])
      for (const one of [text, written])
        t.notOk(one.includes(secret), 'no metric and no receipt holds what clients wrote, or a secret')
    t.comment(`${sent} requests, ${records.length} entries of the ledger, ${tasks} tasks`)
  },
)
