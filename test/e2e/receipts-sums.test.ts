import { join } from 'node:path'
import t from 'tap'
import type { LedgerRecord } from '../../src/core/ledger.js'
import { LedgerStore } from '../../src/runtime/ledger-store.js'
import { FileStore } from '../../src/stores/file.js'
import { CALLER, type LogLine, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type AnyReceipt, receiptsIn, verifyFolder } from '../helpers/receipts.js'

t.setTimeout(120_000)

const YAML = `version: 1
${CALLER}
store: { type: file }
receipts: on
prices:
  "sim-video*": { video_second: 0.1 }
  "sim-*": { input: 1, output: 2, request: 0.001 }
upstreams: { sim: { kind: simulator }, other: { kind: simulator-messages, traits: { max_output: 16000 } } }
models:
  other: { upstream: other, as: sim-messages }
  fallen: [{ upstream: sim, as: "sim-text?status=503" }, { upstream: sim, as: sim-text }]
  "sim-*": sim
`

/** Requests of each kind. */
const ROUNDS = 12

async function one(gateway: TestGateway, n: number): Promise<void> {
  const messages = [{ role: 'user', content: `Tell me of the number ${n}.` }]
  const body = { model: 'sim-text', messages, max_tokens: 30 + n }
  const ask = (more: object): Promise<unknown> =>
    gateway.request('/v1/chat/completions', { body: { ...body, ...more } })
  const stream = { stream: true, stream_options: { include_usage: true } }
  await Promise.all([
    ask({}),
    ask(stream),
    ask({ model: 'fallen' }),
    ask({ model: 'other' }),
    ask({ model: 'other', ...stream }),
  ])
  await Promise.all([ask({ model: 'unknown' }), ask({ max_tokens: 'x' }), ask({ model: 'sim-text?status=500' })])
  const client = await gateway.open('/v1/chat/completions', {
    body: { ...body, model: 'sim-text?hang-after=3', ...stream },
  })
  const head = await client.head()
  await client.body(head, bytes => bytes.includes('data: '))
  client.socket.destroy()
  const video = { model: 'sim-video?polls=0', prompt: 'the sea', seconds: '4' }
  const begun = await gateway.request('/v1/videos', { body: video })
  const { id } = begun.json() as { id: string }
  for (;;) {
    const { status } = (await gateway.request(`/v1/videos/${id}`, { method: 'GET' })).json() as { status: string }
    if (status === 'completed') break
  }
}

const sum = <T>(all: readonly T[], of: (one: T) => number | undefined): number =>
  all.reduce((total, each) => total + (of(each) ?? 0), 0)

t.test(
  'receipts, ledger and log agree after streams, fall-backs, translations, tasks, aborts and refusals',
  async t => {
    const gateway = await startTestGateway(t, YAML)
    for (let n = 0; n < ROUNDS; n++) await one(gateway, n)
    await gateway.gateway.close()
    const folder = join(gateway.folder, 'data', 'receipts')
    t.match(await verifyFolder(folder), { faulty: 0, lost: 0 })
    const receipts = receiptsIn(folder)
    const requests = receipts.filter(({ kind }) => kind === 'request')
    const lines = gateway.log.items.filter(({ msg }: LogLine) => msg === 'request')

    const store = new FileStore(join(gateway.folder, 'data', 'store'))
    t.teardown(() => store.close())
    const entries: LedgerRecord[] = []
    for await (const { records } of new LedgerStore(store).pages()) entries.push(...records)

    t.equal(requests.length, lines.length, 'a receipt for each line of the log')
    t.same(requests.map(({ id }) => id).toSorted(), lines.map(({ id }) => id).toSorted())
    t.equal(receipts.length - requests.length, ROUNDS, 'and one for each task')
    const statuses = (all: readonly object[]): unknown[] =>
      all.map(one => (one as { readonly status?: unknown }).status).toSorted()
    t.same(statuses(requests), statuses(lines))

    const costs = sum(receipts, ({ cost }: AnyReceipt) => cost)
    t.ok(costs > 0)
    t.equal(
      costs,
      sum(entries, ({ cost }) => cost),
      'cost',
    )
    for (const unit of ['input', 'output'] as const) {
      const ofReceipts = sum(
        requests.flatMap(({ attempts }) => attempts),
        ({ units }) => units?.[unit],
      )
      t.equal(
        ofReceipts,
        sum(entries, ({ units }) => units[unit]),
        `${unit} tokens of the ledger`,
      )
      const used = sum(requests, ({ usage }) => (usage as Record<string, number> | undefined)?.[unit])
      t.equal(
        used,
        sum(lines, line => line[`${unit}_tokens`] as number | undefined),
        `${unit} tokens of the log`,
      )
    }
    const charged = receipts.filter(({ cost = 0 }) => cost > 0).length
    t.equal(charged, entries.filter(({ cost }) => cost > 0).length)
  },
)
