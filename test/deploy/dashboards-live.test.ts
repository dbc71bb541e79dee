import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startSimulator } from '../../simulator/src/index.js'
import { packageRoot } from '../../src/core/package-root.js'
import { json } from '../helpers/answers.js'
import { type Measured, measuredGateway } from '../helpers/measured.js'
import { type Prometheus, startPrometheus, withoutPrometheus } from '../helpers/prometheus.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** Every query of every dashboard, asked of a real Prometheus that scrapes a gateway under load, with faults. */

t.setTimeout(600_000)

/** How long until all queries have data, milliseconds. */
const PATIENCE_MS = 300_000
const DEPLOY = join(packageRoot(), 'deploy')
const TIGHT_KEY = 'the-key-of-a-tight-limit-0123456789'

const MESSAGE = {
  ...{ id: 'msg_up', type: 'message', role: 'assistant', model: 'up', stop_reason: 'end_turn', stop_sequence: null },
  content: [{ type: 'text', text: 'The sea is wide.' }],
  usage: { input_tokens: 9, output_tokens: 5 },
}

const yamlWith = (messages: string, simulator: string, collector: string, check: string): string => `version: 1
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], group: team }
  tight: { secret: { env: TIGHT_KEY }, models: ["*"], limits: { requests: 1/day } }
groups: { team: { limits: { budget: 100000 USD/day } } }
store: { type: memory }
reload: { canary: 50%, for: 1h }
receipts: { to: receipts }
telemetry: { otlp: { endpoint: "${collector}" }, logs: on, traces: { sample: { rest: 1 } } }
prices: { "*": { input: 3, output: 5, request: 0.01 } }
webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost, 127.0.0.1], ports: [9] }
response_schemas: { POST /v1/chat/completions: { schema: { type: object }, check: 100% } }
checks: { lets-pass: { type: "${check}" } }
upstreams:
  sim: { kind: simulator }
  bad: { kind: simulator, health: { failures: 1 } }
  loaded: { kind: simulator, health: off }
  narrow: { base: "${simulator}", speaks: { chat: POST /v1/chat/completions }, pool: { connections: 1 } }
  other: { base: "${messages}", speaks: { messages: POST /v1/messages } }
models:
  plain: { targets: [{ upstream: sim, as: sim-text }], mirror: { to: copy } }
  tried: { targets: [{ upstream: sim, as: sim-text }], canary: { to: copy, share: 50% } }
  copy: { targets: [{ upstream: sim, as: sim-text }] }
  falls: { targets: [{ upstream: bad, as: "sim-text?status=503" }, { upstream: sim, as: sim-text }] }
  instead: { targets: [{ upstream: loaded, as: "sim-text?status=529" }], fallbacks: { overloaded: [plain] } }
  slow: { targets: [{ upstream: narrow, as: "sim-text?pace=5ms&tokens=40" }] }
  lossy: { targets: [{ upstream: other }] }
  film: { targets: [{ upstream: sim, as: "sim-video?takes=9m" }] }
  clip: { targets: [{ upstream: sim, as: "sim-video?polls=0" }] }
  cut: { targets: [{ upstream: sim, as: "sim-video?polls=0&ends=failed" }] }
`

interface Asked {
  readonly where: string
  readonly query: string
}

/** Queries as Grafana sends them, with all jobs and instances chosen. */
function queries(): readonly Asked[] {
  return readdirSync(join(DEPLOY, 'grafana')).flatMap(file => {
    const { panels } = JSON.parse(readFileSync(join(DEPLOY, 'grafana', file), 'utf8')) as {
      panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[]
    }
    return panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => {
        const query = expr.replaceAll('$__rate_interval', '1m').replace(/\$(job|instance|model|upstream)\b/g, '.*')
        return { where: `${file}, ${title}`, query }
      }),
    )
  })
}

t.test('every query of the dashboards returns data, and every rule works', { skip: withoutPrometheus }, async t => {
  const up = await startRawUpstream(t)
  up.answer(json(MESSAGE))
  const collector = await startRawUpstream(t)
  collector.answer(json({}, { status: 400 }))
  const simulator = await startSimulator({})
  t.teardown(() => simulator.close())
  const env = { TIGHT_KEY, HOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }
  const check = join(
    t.testdir({ 'check.mjs': "export const openCheck = () => ({ check: () => 'pass' })" }),
    'check.mjs',
  )
  const yaml = yamlWith(up.origin, simulator.origin, collector.origin, check)
  const at = await measuredGateway(t, yaml, '{ per_key: true }', env)
  const rules = ['recording', 'alerts'].map(name => join(DEPLOY, `prometheus/${name}.rules.yaml`))
  const prometheus = await startPrometheus(t, at.origin, rules)
  const recorded = [...readFileSync(rules[0] ?? '', 'utf8').matchAll(/record: (\S+)/g)].map(([, name = '']) => ({
    where: 'recording rules',
    query: name,
  }))
  const all = [...queries(), ...recorded]
  t.ok(all.length > 80, `${all.length} queries`)
  const missing = await missingUnderLoad(t, at, prometheus, all)
  t.same(missing, [])
  const { groups } = (await prometheus.get('rules')) as {
    groups: readonly {
      readonly rules: readonly { readonly name: string; readonly health: string; readonly type: string }[]
    }[]
  }
  const known = groups.flatMap(group => group.rules)
  t.ok(known.filter(({ type }) => type === 'alerting').length > 10)
  for (const { name, health } of known) t.equal(health, 'ok', name)
  for (const label of ['job', 'instance', 'model', 'upstream'])
    t.not(((await prometheus.get(`label/${label}/values`)) as readonly string[]).length, 0, label)
})

/** The queries that have no data when the time is over. */
async function missingUnderLoad(
  t: Test,
  at: Measured,
  prometheus: Prometheus,
  all: readonly Asked[],
): Promise<readonly Asked[]> {
  const end = performance.now() + PATIENCE_MS
  let missing = all
  for (let round = 1; missing.length > 0 && performance.now() < end; round++) {
    await load(at, round)
    const still: Asked[] = []
    for (const one of missing) if (!(await hasData(prometheus, one.query))) still.push(one)
    missing = still
  }
  t.comment(`${all.length} queries`)
  return missing
}

async function hasData(prometheus: Prometheus, query: string): Promise<boolean> {
  return (await prometheus.query(query)).some(({ value }) => Number.isFinite(Number(value[1])))
}

const STREAM = { stream: true, stream_options: { include_usage: true } }

/** Some of everything that is measured: successes, faults, refusals, tasks, and clients that go away. */
async function load(at: Measured, round: number): Promise<void> {
  const { gateway } = at
  // A changed configuration gets half of the requests from now on.
  if (round === 1) await gateway.write('gateway.yaml', at.yaml.replace('\nmodels:', '\nmodels:\n  another: sim'))
  const chat = (model: string, more: object = {}, key = gateway.key): Promise<unknown> => {
    const messages = [{ role: 'user', content: `Tell me of the sea, ${round}.` }]
    return gateway.request('/v1/chat/completions', { key, body: { model, messages, ...more } })
  }
  const video = (model: string): Promise<unknown> => {
    const body = { model, prompt: 'the sea', webhook_url: 'https://localhost:9/hook' }
    return gateway.request('/v1/videos', { body })
  }
  await Promise.all([
    ...['plain', 'plain', 'tried', 'tried', 'falls', 'instead'].map(model => chat(model)),
    ...['plain', 'slow', 'slow', 'slow'].map(model => chat(model, STREAM)),
    chat('lossy', { max_tokens: 50, seed: 7 }),
    chat('nothing'),
    chat('plain', {}, TIGHT_KEY),
    chat('plain', {}, TIGHT_KEY),
    ...['film', 'clip', 'cut'].map(video),
    goAway(at),
  ])
  if (round % 10 === 1) await gateway.gateway.reload()
}

async function goAway({ gateway }: Measured): Promise<void> {
  const body = { model: 'slow', stream: true, messages: [{ role: 'user', content: 'Speak slowly.' }] }
  const client = await gateway.open('/v1/chat/completions', { body })
  await client.body(await client.head(), text => text.includes('"content":"'))
  client.socket.destroy()
}
