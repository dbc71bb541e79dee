import { join } from 'node:path'
import t from 'tap'
import { addFigures, isFigures, noFigures, rowOf } from '../../../src/features/console/figures.js'
import { History, LEVELS } from '../../../src/features/console/history.js'
import { KeptHistory } from '../../../src/features/console/kept-history.js'
import { MemoryStore } from '../../../src/stores/memory.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../../helpers/admin.js'
import { startTestGateway } from '../../helpers/gateway.js'

const MINUTE_MS = 60_000
const messages = [{ role: 'user', content: 'Hello' }]

interface Series {
  readonly t: readonly number[]
  readonly requests: readonly (number | null)[]
  readonly series?: readonly { readonly name: string; readonly requests: readonly number[] }[]
  readonly totals: { readonly requests: number; readonly keys: readonly { readonly name: string }[] }
}

t.test('figures outlive the process, in every range, and are bars of use and what is left', async t => {
  const folder = t.testdir()
  const yaml = async (): Promise<{ readonly text: string; readonly origin: string }> => {
    const { line, origin } = await adminLine()
    const text = `version: 1
listen: { host: 127.0.0.1, port: 0 }
store: { type: file, path: ${join(folder, 'data')} }
groups: { research: { limits: { requests: 100/day } } }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], group: research, limits: { requests: 10/day, tokens: 1000000/total } }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim }
${line}
`
    return { text, origin }
  }
  const env = { GATEWAY_ADMIN_KEY: ADMIN_SECRET, CALLER_KEY: 'the-key-of-the-caller-0123456789' }
  const serve = async (count: number): Promise<ReturnType<typeof adminOf>> => {
    const { text } = await yaml()
    const gateway = await startTestGateway(t, text, { env })
    for (let n = 0; n < count; n++)
      t.equal((await gateway.chat({ model: 'sim-text', messages }, { key: env.CALLER_KEY })).status, 200)
    await gateway.gateway.close()
    const next = await yaml()
    await startTestGateway(t, next.text, { env })
    return adminOf(t, next.origin)
  }
  const ask = await serve(3)
  for (const range of ['15m', '1h', '6h', '24h', '7d', '30d']) {
    const series = (await ask('GET', `/admin/series?range=${range}`)).json() as unknown as Series
    t.equal(series.totals.requests, 3, range)
    t.equal(
      series.requests.reduce<number>((sum, one) => sum + (one ?? 0), 0),
      3,
      `${range}: the columns add up to the total`,
    )
    t.same(
      series.totals.keys.map(({ name }) => name),
      ['caller'],
    )
  }
  const usage = async (query: string) =>
    (await ask('GET', `/admin/usage?${query}`)).json() as unknown as {
      readonly requests: readonly number[]
      readonly failed: readonly number[]
      readonly p50: readonly (number | null)[]
      readonly bounds: readonly { readonly unit: string; readonly used: readonly (number | null)[] }[]
    }
  const own = await usage('scope=key&name=caller&range=1h')
  t.same(
    own.bounds.map(({ unit, used }) => [unit, unit === 'requests' ? used.at(-1) : Number(used.at(-1)) > 0]),
    [
      ['requests', 3],
      ['tokens', true],
    ],
  )
  t.equal(own.bounds[0]?.used[0] === null || own.bounds[0]?.used[0] === 0, true, 'before them nothing was used')
  t.equal((await usage('scope=group&name=research&range=30d')).bounds[0]?.used.at(-1), 3)
  for (const query of ['scope=upstream&name=sim', 'scope=model&name=sim-text']) {
    for (const range of ['15m', '1h', '6h', '24h', '7d', '30d']) {
      const { requests, failed, p50 } = await usage(`${query}&range=${range}`)
      t.ok(requests.length <= 361 && requests.length === p50.length, `${query} ${range}: at most so many points`)
      const sums = [requests, failed].map(values => values.reduce((sum, one) => sum + one, 0))
      t.same(sums, [3, 0], `${query} ${range}`)
      t.equal(p50.filter(one => one !== null && one > 0).length, requests.filter(one => one > 0).length)
    }
  }
  for (const [by, name] of [
    ['upstream', 'sim'],
    ['model', 'sim-text'],
    ['key', 'caller'],
    ['group', 'research'],
  ]) {
    const { series } = (await ask('GET', `/admin/series?range=24h&by=${by}`)).json() as unknown as Series
    t.same(
      series?.map(one => [one.name, one.requests.reduce((sum, value) => sum + value, 0)]),
      [[name, 3]],
      `by ${by}`,
    )
  }
  t.equal((await ask('GET', '/admin/series?by=weather')).status, 400)
  t.equal((await ask('GET', '/admin/usage?scope=key&range=1h')).status, 400)
  t.equal((await ask('GET', '/admin/usage?name=caller&range=2h')).status, 400)
})

t.test('no name is special', t => {
  for (const name of ['constructor', 'toString', 'valueOf', '__proto__']) {
    const figures = noFigures()
    rowOf(figures.models, name).requests += 2
    figures.errors[name] = 1
    const sum = noFigures()
    const read: unknown = JSON.parse(JSON.stringify(figures))
    if (isFigures(read)) addFigures(sum, read)
    addFigures(sum, figures)
    t.same(Object.entries(sum.models), [[name, { requests: 4, failed: 0, tokens: 0, micro: 0, times: {} }]])
    t.same(Object.entries(sum.errors), [[name, 2]])
  }
  t.equal('requests' in Object.prototype, false)
  t.end()
})

t.test('each bucket is one record of each process, and the longest is replaced while it is open', async t => {
  const store = new MemoryStore()
  const now = Date.now()
  const two = [new History(), new History()].map(history => ({
    history,
    kept: new KeptHistory(store, history, error => t.fail(String(error))),
  }))
  for (const { history, kept } of two) {
    history.at(now - 11 * MINUTE_MS).requests += 2
    history.at(now).requests += 1
    await kept.save()
    history.at(now).requests += 1
    await kept.close()
  }
  for (const { name, stepMs } of LEVELS) {
    const records = await store.list('console-figures', name, { order: 'ascending', limit: 100 })
    const places = new Set(records.map(({ key }) => key))
    t.equal(places.size, records.length)
    const buckets = new Set([now - 11 * MINUTE_MS, now].map(at => at - (at % stepMs))).size
    t.equal(records.length, 2 * buckets, name)
    const sum = noFigures()
    for (const { value } of records) {
      const read: unknown = JSON.parse(Buffer.from(value).toString('utf8'))
      if (isFigures(read)) addFigures(sum, read)
    }
    t.equal(sum.requests, 8, `${name}: nothing is lost or counted twice`)
  }
  const [one] = two
  const found = await one?.kept.read('15m', now)
  t.equal(found?.size, 1, 'what it knows itself is not read')
})

t.test('what cannot be stored is stored later, and what is read must be figures', async t => {
  const store = new MemoryStore()
  const history = new History()
  const faults: unknown[] = []
  const broken = { ...store, create: () => Promise.reject(new Error('away')) } as unknown as MemoryStore
  const kept = new KeptHistory(broken, history, error => faults.push(error))
  history.at(Date.now() - MINUTE_MS).requests += 1
  await kept.save()
  t.equal(faults.length, 1, 'the first failure ends the attempt')
  t.not(history.unsaved(Date.now(), () => true).length, 0)
  t.equal(isFigures({ requests: 1 }), false)
  t.equal(isFigures(noFigures()), true)
  const figures = noFigures()
  for (let n = 0; n < 100; n++) rowOf(figures.groups, `group-${n}`).requests++
  t.ok(Object.keys(figures.groups).length <= 41, 'names are bounded')
})
