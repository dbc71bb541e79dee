import t, { type Test } from 'tap'
import type { AdminHost } from '../../src/admin/host.js'
import type { AdminRequest } from '../../src/admin/route.js'
import { listKeys } from '../../src/admin/routes/keys.js'
import { plan as planRoute } from '../../src/admin/routes/plan.js'
import type { StoredKey } from '../../src/features/keys/record.js'
import { faultsOf } from '../../src/runtime/store-keys.js'
import { ADMIN_SECRET, type AdminAnswer, adminLine, adminOf } from '../helpers/admin.js'
import { mostAtOnce, slowClock } from '../helpers/event-loop.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { tryPlan } from '../helpers/plans.js'

// What the admin API does where there are very many keys.

const BASE = 'version: 1\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\n'
const ASKED = { query: { limit: '1000' } } as unknown as AdminRequest

function storedKeys(many: number): readonly StoredKey[] {
  return Array.from({ length: many }, (_, n) => ({ name: `key.${n}`, created: n, changed: n, secrets: [], terms: {} }))
}

t.test('terms that many keys have in common are read once for a plan', async t => {
  const { plan } = await tryPlan(t, `${BASE}groups: { one: {} }\n`)
  const { plan: other } = await tryPlan(t, `${BASE}groups: { two: {} }\n`)
  if (plan === undefined || other === undefined) throw new Error('they are valid')
  const terms = { models: ['*'], limits: { requests: '60/min' }, group: 'one' }
  const found = storedKeys(1000).map(({ name }) => faultsOf(name, structuredClone(terms), plan))
  t.equal(new Set(found).size, 1)
  t.same(found[0], [])
  t.same(faultsOf('key.0', terms, other), ['group: no group is called "one"; there are: two'])
  t.match(faultsOf('key.0', { ...terms, models: 1 }, plan), [/^models: /], 'also where the name has a dot')
  for (const name of ['not a name', 'n'.repeat(65)])
    t.match(faultsOf(name, terms, plan), [/^expected a name/], 'what is not a name is a fault of its own')
})

t.test('other requests are served while the keys of the store are listed', async t => {
  const { plan, config } = await tryPlan(t, BASE)
  const keys = storedKeys(500)
  let read = 0
  const faultsOf = (): readonly string[] => {
    read++
    return []
  }
  const kernel = { need: () => ({ stored: { list: async () => keys } }) }
  const host = { plan, config, kernel, faultsOf } as unknown as AdminHost
  slowClock(t)
  const [most, answer] = await Promise.all([mostAtOnce(() => read, keys.length), listKeys.handle(ASKED, host)])
  t.match(answer, { data: keys.map(({ name }) => ({ name, source: 'store' })) })
  t.ok(most < 20, `at most ${most} in one turn of the event loop`)
})

t.test('of a large plan, only what is shown is made', async t => {
  const digest = (n: number): string => `sha256:${n.toString(16).padStart(64, '0')}`
  const entries = Array.from({ length: 600 }, (_, n) => `  key-${n}: { secret: { hash: "${digest(n)}" } }\n`)
  const { plan, config } = await tryPlan(t, `${BASE}keys:\n${entries.join('')}`)
  if (plan === undefined || config === undefined) throw new Error('it is valid')
  const read = new Set<string | symbol>()
  const keys = new Proxy(config.keys, {
    get: (all, name, receiver) => {
      read.add(name)
      return Reflect.get(all, name, receiver)
    },
  })
  const host = { plan, config: { ...config, keys }, kernel: { generation: { number: 7 } } } as unknown as AdminHost
  const answer = (await planRoute.handle(ASKED, host)) as Record<'keys' | 'models' | 'upstreams', { name: string }[]>
  t.equal(answer.keys.length, 500)
  t.equal(read.size, 500)
  t.notMatch(answer.keys[0], { secrets: [] }, 'where its secret comes from is not shown')
  t.match(answer, { generation: 7, models: [{ name: 'sim-*' }], upstreams: [{ name: 'sim', kind: 'simulator' }] })
})

interface Stage {
  readonly gateway: TestGateway
  readonly ask: (path: string) => Promise<AdminAnswer>
}

const OTHER_KEY = 'the-key-of-another-0123456789'

async function stage(t: Test): Promise<Stage> {
  const { line, origin } = await adminLine()
  const keys = `keys:
  caller: { secret: { env: CALLER_KEY }, limits: { requests: 50/hour } }
  other: { secret: { env: OTHER_KEY }, limits: { requests: 4/hour } }
`
  const env = { GATEWAY_ADMIN_KEY: ADMIN_SECRET, OTHER_KEY }
  const gateway = await startTestGateway(t, `${BASE}${keys}store: { type: memory }\n${line}\n`, { env })
  const ask = adminOf(t, origin)
  return { gateway, ask: path => ask('GET', path) }
}

const names = (answer: AdminAnswer): readonly string[] => answer.json().data.map(({ name }) => name)

t.test('limits are listed by what of them is used', async t => {
  const { gateway, ask } = await stage(t)
  const body = { model: 'sim-text', messages: [{ role: 'user', content: 'Hello.' }] }
  t.equal((await gateway.chat(body, { key: OTHER_KEY })).status, 200)
  t.equal((await gateway.chat(body)).status, 200)
  t.same(names(await ask('/admin/limits')), ['caller', 'other'])
  t.same(names(await ask('/admin/limits?order=used')), ['other', 'caller'])
  t.same(names(await ask('/admin/limits?order=used&limit=1')), ['other'])
  t.match(await ask('/admin/limits?order=name'), { status: 400 })
})

t.test('the newest tasks of all keys are listed first, and one is found by its id', async t => {
  const { gateway, ask } = await stage(t)
  const made: { id: string; owner: string }[] = []
  for (const [owner, key] of [
    ['caller', gateway.key],
    ['other', OTHER_KEY],
    ['caller', gateway.key],
  ] as const) {
    const body = { model: 'sim-video', prompt: 'A boat.' }
    const answer = await gateway.request('/v1/videos', { method: 'POST', body, key })
    made.push({ id: (answer.json() as { id: string }).id, owner })
  }
  const list = async (query: string): Promise<readonly { id: string; owner: string; created: number }[]> =>
    (await ask(`/admin/tasks?${query}`)).json().data as never
  const newest = await list('order=newest')
  t.same(new Set(newest.map(({ id }) => id)), new Set(made.map(({ id }) => id)))
  t.same(
    newest.map(({ created }) => created),
    newest.map(({ created }) => created).toSorted((one, other) => other - one),
  )
  t.same((await list('order=newest&limit=2')).length, 2)
  t.match(await list('order=newest&owner=other'), [made[1]])
  for (const one of made) t.match(await list(`id=${one.id}`), [one])
  t.same(await list(`id=${made[0]?.id}&owner=other`), [], 'not of another key')
  t.match(await ask('/admin/tasks?order=oldest'), { status: 400 })
})
