import t from 'tap'
import { startTestGateway } from '../helpers/gateway.js'

const LIMITED = `version: 1
unpriced: refuse
prices: { sim-text: { request: 0.25 } }
groups:
  lab: { limits: { budget: 100 USD } }
  research: { group: lab, limits: { tokens: 1M/day } }
keys:
  caller:
    secret: { env: CALLER_KEY }
    models: ["*"]
    group: research
    limits: { requests: [5/hour, 100/month], budget: 2 USD/month, in_flight: 8, streams: 4, max_output: 4096, body: 2MiB }
    routes: ["POST /v1/chat/*"]
  other: { secret: { env: OTHER_KEY }, models: ["*"] }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim }
`
const OTHER_KEY = 'the-key-of-another-0123456789'

interface Usage {
  readonly object: string
  readonly key: string
  readonly group: string | null
  readonly limits: readonly Readonly<Record<string, unknown>>[]
}

t.test('GET /v1/usage says what of its own bounds a key has used, and counts as nothing itself', async t => {
  const gateway = await startTestGateway(t, LIMITED, { env: { OTHER_KEY } })
  const usage = async (): Promise<Usage> => {
    const { status, body } = await gateway.request('/v1/usage', { method: 'GET' })
    t.equal(status, 200)
    return JSON.parse(body.toString()) as Usage
  }
  const fresh = await usage()
  t.match(fresh, { object: 'usage', key: 'caller', group: 'research' })
  t.same(
    fresh.limits.map(({ scope, name, unit, window, limit, used, reserved, left }) =>
      [scope, name, unit, window, limit, used, reserved, left].join(' '),
    ),
    [
      'key caller requests hour 5 0 0 5',
      'key caller requests month 100 0 0 100',
      'key caller budget month 2 0 0 2',
      'key caller in_flight  8 0 0 8',
      'key caller streams  4 0 0 4',
      'key caller max_output request 4096 0 0 4096',
      'key caller body request 2097152 0 0 2097152',
      'group research tokens day 1000000 0 0 1000000',
      'group lab budget total 100 0 0 100',
    ],
  )
  const chat = { model: 'sim-text', messages: [{ role: 'user', content: 'hello' }], max_tokens: 20 }
  for (let n = 0; n < 2; n++) t.equal((await gateway.chat(chat)).status, 200)
  const { limits } = await usage()
  // A request's place may be given back after its client has the last byte.
  t.match(limits[0], { unit: 'requests', left: 3 })
  t.match(limits[2], { unit: 'budget', used: 0.5, reserved: 0, left: 1.5, currency: 'usd' })
  const [month] = limits.filter(({ window }) => window === 'month')
  const now = new Date()
  t.equal(month?.resets_at, Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) / 1000)
  t.equal(limits.at(-1)?.resets_at, null)
  t.ok(Number(limits.at(-2)?.used) > 0, 'tokens of the group')
  t.match(limits.at(-1), { name: 'lab', used: 0.5 })
})

t.test('GET /v1/usage is of the own key alone, and has an empty list where nothing is limited', async t => {
  const gateway = await startTestGateway(t, LIMITED, { env: { OTHER_KEY } })
  await gateway.chat({ model: 'sim-text', messages: [{ role: 'user', content: 'hello' }] })
  const get = (headers: readonly string[]) =>
    fetch(`${gateway.origin}/v1/usage`, { headers: [headers as [string, string]] })
  for (const headers of [
    ['authorization', `Bearer ${OTHER_KEY}`],
    ['x-api-key', OTHER_KEY],
    ['x-goog-api-key', OTHER_KEY],
  ]) {
    const answer = await get(headers)
    t.same(await answer.json(), { object: 'usage', key: 'other', group: null, limits: [] })
  }
  for (const [name, shape] of [
    ['authorization', { error: { type: 'invalid_request_error' } }],
    ['x-goog-api-key', { error: { status: 'UNAUTHENTICATED' } }],
  ] as const) {
    const refused = await get([name, 'Bearer wrong'])
    t.equal(refused.status, 401)
    t.match(await refused.json(), shape, `in the family of ${name}`)
  }

  const plain = await startTestGateway(
    t,
    'version: 1\nkeys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }\nupstreams: { sim: { kind: simulator } }\nmodels: { sim-text: sim }\n',
  )
  const { body } = await plain.request('/v1/usage', { method: 'GET' })
  t.same(JSON.parse(body.toString()), { object: 'usage', key: 'caller', group: null, limits: [] })
})
