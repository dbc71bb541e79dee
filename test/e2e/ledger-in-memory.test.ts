import t from 'tap'
import type { Accounts } from '../../src/core/accounts.js'
import type { LedgerRecord } from '../../src/core/ledger.js'
import { CHARGED } from '../../src/kernel/charged.js'
import type { Feature } from '../../src/kernel/stages.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { withFeature } from '../helpers/metered.js'
import { until } from '../helpers/workers.js'

// A store in memory gets its records at the end of the turn in which an attempt ended, after the answer.

const YAML = `version: 1
store: { type: memory }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { budget: 50 USD/total } } }
prices:
  sim-image: { image: 0.04 }
  "sim-*": { input: 1, output: 2, request: 0.001 }
upstreams: { sim: { kind: simulator }, other: { kind: simulator-messages, traits: { max_output: 16000 } } }
models:
  sim-other: { upstream: other, as: sim-messages }
  sim-fallen: [{ upstream: sim, as: "sim-text?status=503" }, { upstream: sim, as: sim-text }]
  sim-hedged: { targets: [{ upstream: sim, as: "sim-text?hang" }, { upstream: sim, as: sim-text }], hedge: { after: 20ms } }
  sim-drained: { upstream: sim, as: "sim-text?pace=5ms", on_client_abort: drain }
  sim-copied: { upstream: sim, as: sim-text, mirror: { to: sim-text, share: 100% } }
  "sim-*": sim
`
const ROUNDS = 5
/** Of each round: nine requests, the hedge, and the copy. */
const RECORDS = 11
const CHAT = '/v1/chat/completions'

/** What attempts were charged, by the ids of their records. */
function watching() {
  const charged = new Map<string, number>()
  const open = new Set<object>()
  let accounts: Accounts | undefined
  const feature: Feature = {
    name: 'watching',
    open(kernel) {
      accounts = kernel.store.accounts
      return {}
    },
    compile: ({ route }) =>
      route?.caller === undefined
        ? undefined
        : {
            name: 'watching',
            beforeAttempt: attempt => void open.add(attempt),
            afterAttempt(attempt) {
              open.delete(attempt)
              const cost = attempt.get(CHARGED)?.cost
              if (cost !== undefined) charged.set(`${attempt.call.id}/${attempt.number}`, cost)
            },
          },
  }
  return { feature, charged, open, store: () => accounts as Accounts }
}

async function one(gateway: TestGateway, n: number): Promise<void> {
  const messages = [{ role: 'user', content: `Tell me of the number ${n}.` }]
  const body = { model: 'sim-text', messages, max_tokens: 30 + n }
  const ask = (more: object) => gateway.request(CHAT, { body: { ...body, ...more } })
  const leave = async (model: string): Promise<void> => {
    const client = await gateway.open(CHAT, { body: { ...body, model, stream: true } })
    await client.body(await client.head(), bytes => bytes.includes('data: '))
    client.socket.destroy()
  }
  const answers = await Promise.all([
    ask({}),
    ask({ stream: true }),
    ask({ model: 'sim-other', stream: true }),
    ask({ model: 'sim-fallen' }),
    ask({ model: 'sim-hedged' }),
    ask({ model: 'sim-copied' }),
    gateway.request('/v1/images/generations', { body: { model: 'sim-image', prompt: 'the sea', n: 2 } }),
  ])
  for (const { status } of answers) t.equal(status, 200)
  await Promise.all([leave('sim-text?hang-after=3'), leave('sim-drained')])
}

t.test('in memory each attempt has one record, and their sum is what the budget has spent', async t => {
  const { feature, charged, open, store } = watching()
  const gateway = await startTestGateway(t, YAML, { features: withFeature(feature) })
  for (let n = 0; n < ROUNDS; n++) await one(gateway, n)
  const records = async (): Promise<readonly LedgerRecord[]> => {
    const days = await store().days()
    const all = await Promise.all(days.map(day => store().entries(day, { after: 0, limit: 10_000 })))
    return all.flat().map(({ value }) => JSON.parse(Buffer.from(value).toString()) as LedgerRecord)
  }
  await until(async () => open.size === 0 && (await records()).length >= ROUNDS * RECORDS)
  const found = await records()
  t.same(found.map(({ id }) => id).toSorted(), [...charged.keys()].toSorted())
  for (const { id, cost } of found) t.equal(cost, charged.get(id), id)
  const copies = found.filter(({ mirror_of }) => mirror_of !== undefined)
  t.equal(copies.length, ROUNDS)
  t.equal(found.filter(({ outcome }) => outcome === 'cancelled').length, ROUNDS * 3)
  const own = found.filter(({ mirror_of }) => mirror_of === undefined).reduce((sum, { cost }) => sum + cost, 0)
  t.match(await store().read(['key:caller budget total'], Date.now()), [{ spent: own }])
})
