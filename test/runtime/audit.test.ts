import { readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Config } from '../../src/core/config.js'
import { packageRoot } from '../../src/core/package-root.js'
import type { Exchange, Plan, Route } from '../../src/core/plan.js'
import { FEATURES } from '../../src/features/index.js'
import { auditPlan, judge } from '../../src/runtime/audit/audit.js'
import { stageNames } from '../../src/runtime/audit/chains.js'
import { COLUMNS } from '../../src/runtime/audit/columns.js'
import { asksUpstream, type Subject, subjectsOf } from '../../src/runtime/audit/subject.js'
import { loadPlan } from '../../src/runtime/load.js'
import { listening } from '../helpers/listening.js'
import { temporary } from '../helpers/store-kinds.js'

const CHAT = 'POST /v1/chat/completions'

async function loaded(text?: string, env: NodeJS.ProcessEnv = {}): Promise<{ plan: Plan; config: Config }> {
  const file = join(packageRoot(), 'gateway.yaml')
  const given = text === undefined ? {} : { text: Buffer.from(text) }
  const { plan, config, problems } = await loadPlan({ file, env, secrets: 'assume', ...given })
  if (plan === undefined || config === undefined) throw new Error(JSON.stringify(problems))
  return { plan, config }
}

t.test('the shipped file has a row for each route and for unknown paths, and no hole', async t => {
  const { plan, config } = await loaded()
  const { rows, findings } = await auditPlan(plan, config)
  t.same(findings, [])
  t.same(
    rows.map(({ route }) => route),
    [...plan.routes.map(({ id }) => id), undefined],
  )
  t.ok(rows.every(({ cells }) => cells.length === COLUMNS.length))
})

t.test('what the file declares is not begun: nothing is sent anywhere, and no receipt is removed', async t => {
  const heard: string[] = []
  const port = await listening(
    t,
    createServer((request, response) => {
      heard.push(`${request.method} ${request.url} ${request.headers.authorization}`)
      response.end('{}')
    }),
  )
  const address = `http://127.0.0.1:${port}`
  const receipts = temporary(t)
  // Content that a gateway would remove as it starts: its last day is over.
  const old = 'until-2020-01-01.gateway-1a2b.jsonl'
  writeFileSync(join(receipts, old), '')
  const credential = `{ type: oauth2, token_url: "${address}/token", client_id: gateway, secret: { env: SECRET } }`
  const { plan, config } = await loaded(
    `version: 1
store: { type: memory }
receipts: { to: ${JSON.stringify(receipts)} }
telemetry:
  otlp: { endpoint: "${address}", headers: { authorization: { env: SECRET } } }
  logs: on
keys: { local: { secret: { hash: "sha256:${'a'.repeat(64)}" } } }
upstreams:
  own: { kind: openai, base: "${address}", credential: ${credential} }
models: { own: own }
`,
    { SECRET: 'the-secret-of-the-gateway' },
  )
  const { rows } = await auditPlan(plan, config)
  t.same(heard, [])
  t.same(readdirSync(receipts), [old])
  t.equal(rows.find(({ route }) => route === CHAT)?.cells.at(-1), 'metrics+traces+receipts')
})

t.test('a stage that is taken away is missed on each route that had it', async t => {
  const { plan, config } = await loaded()
  for (const [name, rule] of [
    ['keys', 'audit-key'],
    ['log', 'audit-log'],
    ['in_flight', 'audit-places'],
  ] as const) {
    const { findings } = await auditPlan(
      plan,
      config,
      FEATURES.filter(feature => feature.name !== name),
    )
    t.equal(findings.length, plan.routes.length + 1, name)
    t.ok(findings.every(one => one.rule === rule && one.severity === 'error'))
  }
})

const LIMITED = `version: 1
store: { type: memory }
receipts: { to: receipts }
telemetry: { otlp: { endpoint: "http://127.0.0.1:4318" } }
unpriced: free
groups:
  research: { limits: { budget: 500 USD/month, tokens: 1M/min, body: 1MiB } }
keys:
  alice:
    secret: { hash: "sha256:${'a'.repeat(64)}" }
    group: research
    models: ["sim-text"]
    networks: [127.0.0.0/8]
    limits: { requests: 10/s, in_flight: 8, streams: 4, max_output: 4096 }
upstreams:
  sim: { kind: simulator, limits: { requests: 100/s } }
models: { sim-text: sim }
routes:
  POST /v1/own: { protocol: chat, model: body.model }
`

interface Case {
  readonly column: string
  readonly hole: RegExp
  readonly change: (subject: Subject) => Partial<Subject>
  readonly route?: string
}

const without =
  (stage: string, phase: string) =>
  ({ stages }: Subject): Partial<Subject> => ({
    stages: one => (one === phase ? stages(one).filter(name => name !== stage) : stages(one)),
  })
const ofRoute =
  (change: Partial<Route>) =>
  ({ route }: Subject): Partial<Subject> => ({ route: { ...route, ...change } as Route })
const ofExchanges =
  (change: (exchange: Exchange) => Partial<Exchange>) =>
  ({ exchanges }: Subject): Partial<Subject> => ({ exchanges: exchanges.map(one => ({ ...one, ...change(one) })) })
const ofFile =
  (change: Partial<Subject['file']>) =>
  ({ file }: Subject): Partial<Subject> => ({ file: { ...file, ...change } })

/** Each hole once; the limits of a file in which every stage is there. */
const HOLES: readonly Case[] = [
  { column: 'key', hole: /no stage checks the key/, change: without('keys', 'identify') },
  { column: 'key', hole: /looks for a key nowhere/, change: ofRoute({ caller: [] }) },
  {
    column: 'models',
    hole: /it names no model: alice$/,
    change: subject => ({
      ...ofRoute({ model: undefined })(subject),
      ...ofFile({ restricted: () => ['alice'] })(subject),
    }),
  },
  {
    column: 'models',
    hole: /what it refers to may name any model: a, b, c, d, e, …$/,
    route: 'POST /v1/batches',
    change: subject => ({
      ...ofRoute({ requiresAllModels: false })(subject),
      ...ofFile({ restricted: () => [...'abcdef'] })(subject),
    }),
  },
  { column: 'caller', hole: /which routes and networks/, change: without('limits', 'admit') },
  { column: 'checks', hole: /no stage asks the checks words/, change: () => ({ checks: ['words'] }) },
  {
    column: 'body',
    hole: /bodies have no bound/,
    change: ofRoute({ limits: { body: Number.POSITIVE_INFINITY } as Route['limits'] }),
  },
  {
    column: 'time-outs',
    hole: /no time-out idle, total/,
    change: ofExchanges(({ timeouts }) => ({ timeouts: { ...timeouts, idle: 0, total: Number.POSITIVE_INFINITY } })),
  },
  { column: 'places', hole: /those in flight/, change: without('in_flight', 'admit') },
  { column: 'requests', hole: /the limit requests of a key$/, change: without('limits', 'admit') },
  { column: 'requests', hole: /the limit requests of an upstream$/, change: without('limits', 'beforeAttempt') },
  { column: 'tokens', hole: /the limit tokens of a group$/, change: without('limits', 'beforeAttempt') },
  { column: 'in_flight', hole: /the limit in_flight of a key$/, change: without('limits', 'admit') },
  { column: 'streams', hole: /the limit streams of a key$/, change: () => ({ stages: () => [] }) },
  { column: 'max_output', hole: /the limit max_output of a key$/, change: () => ({ stages: () => [] }) },
  { column: "key's body", hole: /the limit body of a group$/, change: without('limits', 'admit') },
  { column: 'budget', hole: /the limit budget of a group$/, change: without('limits', 'beforeAttempt') },
  {
    column: 'budget',
    hole: /no price is known of sim\/sim-text$/,
    change: ofExchanges(({ tariff }) => ({
      tariff: { ...tariff, price: undefined, unpriced: undefined } as unknown as Exchange['tariff'] & object,
    })),
  },
  {
    column: 'retry',
    hole: /attempts have no bound/,
    change: ofExchanges(({ retry }) => ({ retry: { ...retry, attempts: Number.POSITIVE_INFINITY } })),
  },
  {
    column: 'abort',
    hole: /drained without a total time-out/,
    change: ofExchanges(({ tariff, timeouts }) => ({
      tariff: { ...tariff, onClientAbort: 'drain' } as Exchange['tariff'] & object,
      timeouts: { ...timeouts, total: 0 },
    })),
  },
  { column: 'log', hole: /not logged/, change: without('log', 'record') },
  { column: 'metric', hole: /not in the ledger/, change: without('limits', 'afterAttempt') },
  { column: 'telemetry', hole: /not in metrics$/, change: without('metrics', 'record') },
  { column: 'telemetry', hole: /not in traces$/, change: without('traces', 'record') },
  { column: 'telemetry', hole: /not in receipts$/, change: without('receipts', 'record') },
]

t.test('with every limit declared, a stage holds every shipped route and one of the user to them', async t => {
  const { plan, config } = await loaded(LIMITED)
  const { findings } = await auditPlan(plan, config)
  t.same(
    findings.filter(({ severity }) => severity === 'error'),
    [],
  )
  const { findings: open } = await auditPlan(
    plan,
    config,
    FEATURES.filter(({ name }) => name !== 'limits'),
  )
  const missed = new Set(open.filter(({ rule }) => rule === 'audit-requests').map(({ path }) => path))
  t.equal(missed.size, plan.routes.filter(asksUpstream).length, 'without the stage no route is held to them')
})

t.test('each hole is found where it is, and only there', async t => {
  const { plan, config } = await loaded(LIMITED)
  const subjects = [...subjectsOf(plan, config, await stageNames(plan))]
  const closed = (t: Test, id: string): Subject => {
    const subject = subjects.find(({ route }) => route?.id === id)
    if (subject === undefined) throw new Error(`no route ${id}`)
    t.same(
      judge(subject).findings.filter(({ severity }) => severity === 'error'),
      [],
      `${id} has no hole`,
    )
    return subject
  }
  for (const { column, hole, change, route = CHAT } of HOLES) {
    const subject = closed(t, route)
    const at = COLUMNS.findIndex(({ name }) => name === column)
    const verdict = COLUMNS[at]?.judge({ ...subject, ...change(subject) })
    t.match(verdict?.hole, hole, `${column}: ${hole}`)
  }
  const covered = new Set(HOLES.map(({ column }) => column))
  t.same(
    COLUMNS.map(({ name }) => name).filter(name => !covered.has(name)),
    // These only inform.
    ['schema', 'secrets'],
    'every check can fail',
  )
})

t.test('holders of tokens count as callers without every model, and with limits', async t => {
  const said = 'models: { claim: models }, limits: { claim: plan, map: { gold: { in_flight: 2 } } }'
  const { plan, config } = await loaded(`version: 1
store: { type: memory }
keys: { me: { secret: { hash: "sha256:${'a'.repeat(64)}" } } }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim }
identity: { providers: { company: { issuer: https://login.example.com, audience: gateway, caller: { ${said} } } } }
`)
  const { rows } = await auditPlan(plan, config)
  const chat = rows.find(({ route }) => route === CHAT)
  const cell = (name: string): string | undefined => chat?.cells[COLUMNS.findIndex(column => column.name === name)]
  t.equal(cell('key'), 'identity+keys')
  t.equal(cell('in_flight'), 'key')
  const subject = [...subjectsOf(plan, config, await stageNames(plan))].find(({ route }) => route?.id === CHAT)
  t.same(subject?.file.restricted(CHAT), ['identity company'])
})

t.test('a compaction, which asks an upstream for a summary, has the limits that refuse it', async t => {
  const { plan, config } = await loaded(LIMITED)
  const { rows } = await auditPlan(plan, config)
  const cells = rows.find(({ route }) => route === 'POST /v1/responses/compact')?.cells ?? []
  const shown = Object.fromEntries(COLUMNS.map(({ name }, at) => [name, cells[at]]))
  t.match(shown, { models: 'name', tokens: 'group', "key's body": 'group', budget: 'group', metric: 'ledger' })
})
