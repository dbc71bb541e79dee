import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run } from '../cli/bin.js'
import { type HoldingUpstream, startHoldingUpstream, until, WorkingGateway, workersYaml } from '../helpers/workers.js'

/** Workers that are killed: real processes. */

t.setTimeout(120_000)

async function verify({ folder }: WorkingGateway): Promise<string> {
  const env = { CALLER_KEY: 'caller-key-of-the-workers-0123456789', GATEWAY_ADMIN_KEY: 'x'.repeat(32) }
  return (await run(['ledger', 'verify'], { cwd: folder, env })).stdout
}

interface Limits {
  readonly data: readonly { readonly limits: readonly { unit: string; used: number; reserved: number }[] }[]
}

async function limitsOf(gateway: WorkingGateway): Promise<Limits['data'][number]['limits']> {
  return (await gateway.admin<Limits>('GET', '/admin/limits?scope=key&name=caller')).data[0]?.limits ?? []
}

/** Sends requests until the upstream holds so many: those that it holds. The others have been refused. */
async function fill(gateway: WorkingGateway, upstream: HoldingUpstream, places: number): Promise<Held[]> {
  upstream.isHolding = true
  const held: Held[] = []
  while (upstream.received < places) {
    const before = upstream.received
    const tried = Array.from({ length: Math.min(8, places - before) }, () => new Held(gateway.chat()))
    await until(() => upstream.received - before + tried.filter(one => one.status !== undefined).length >= tried.length)
    held.push(...tried.filter(one => one.status === undefined))
    const refused = tried.flatMap(one => one.status ?? [])
    if (refused.some(status => status !== 429)) throw new Error(`refused with ${refused}`)
  }
  return held
}

/** A request, and its status once it has ended. */
class Held {
  status: number | string | undefined
  readonly answer: Promise<number | string>

  constructor(answer: Promise<number | string>) {
    this.answer = answer
    void answer.then(status => {
      this.status = status
    })
  }
}

/** Otherwise what a process held comes back by time. */
const HALF_A_LEASE_MS = 30_000
const PLACES = 32

t.test('generated keys stay where the data folder needs a restart to change, in new workers, too', async t => {
  const upstream = await startHoldingUpstream(t)
  const own = 'own: { secret: { env: OWN_KEY, generate: true }, models: ["*"] }'
  const yaml = workersYaml(upstream).replace('upstreams:', `  ${own}\nupstreams:`)
  const gateway = await WorkingGateway.start(t, yaml)
  const key = readFileSync(join(gateway.folder, 'data/keys/own'), 'utf8').trim()
  const statuses = async (): Promise<readonly number[]> => {
    const headers = { authorization: `Bearer ${key}`, connection: 'close' }
    const asked = Array.from({ length: 12 }, () => fetch(`${gateway.origin}/v1/models`, { headers }))
    return [...new Set((await Promise.all(asked)).map(({ status }) => status))]
  }
  t.same(await statuses(), [200])
  gateway.write(`${yaml}store: { path: ./elsewhere }\n`)
  await gateway.bin.until(/needs a restart to take effect/)
  await until(async () => (await gateway.workers()).every(({ generation }) => generation === 2))
  t.same(await statuses(), [200])
  const [first] = await gateway.workers()
  process.kill(first?.pid ?? Number.NaN, 'SIGKILL')
  await until(async () => {
    const pids = (await gateway.workers()).map(({ pid }) => pid)
    return pids.length === 2 && !pids.includes(first?.pid ?? 0)
  })
  t.same(await statuses(), [200])
  t.notOk(existsSync(join(gateway.folder, 'elsewhere')), 'nothing was made there')
})

t.test('F-P4 a worker is killed: another takes its place, and just what it held is free', async t => {
  const upstream = await startHoldingUpstream(t)
  const begun = performance.now()
  const limits = `budget: 100 USD/total, in_flight: ${PLACES}`
  const gateway = await WorkingGateway.start(t, workersYaml(upstream, '', limits))
  const startMs = performance.now() - begun
  const first = await fill(gateway, upstream, PLACES)
  const [victim, other] = await gateway.workers()
  if (victim === undefined || other === undefined) throw new Error('two workers serve')
  t.equal(victim.requests + other.requests, PLACES)
  t.ok(victim.requests > 0 && other.requests > 0, `${victim.requests} and ${other.requests} requests`)
  process.kill(victim.pid, 'SIGKILL')
  const killed = performance.now()
  await gateway.bin.until(/a worker has ended/)
  const asked = performance.now()
  await gateway.workers()
  const admin = performance.now() - asked
  await until(async () => (await gateway.workers()).length === 2)
  const replaced = performance.now() - killed
  t.comment(
    `started in ${startMs.toFixed(0)} ms, replaced in ${replaced.toFixed(0)}, admin asked in ${admin.toFixed(0)}`,
  )
  t.ok(replaced < 2 * startMs, 'within the time of a start')
  const [next] = await gateway.workers()
  t.match(next, { number: victim.number, generation: 1 })
  t.not(next?.pid, victim.pid)

  const second = await fill(gateway, upstream, PLACES + victim.requests)
  t.ok(performance.now() - killed < HALF_A_LEASE_MS, 'its leases do not come back by time')
  t.same(await Promise.all(Array.from({ length: 8 }, () => gateway.chat())), Array(8).fill(429), 'and not one more')

  upstream.release()
  const statuses = await Promise.all(first.map(({ answer }) => answer))
  t.equal(statuses.filter(status => status === 200).length, other.requests, 'the other worker answers all of its own')
  t.equal(statuses.filter(status => typeof status === 'string').length, victim.requests, 'connections that were lost')
  t.same(await Promise.all(second.map(({ answer }) => answer)), Array(victim.requests).fill(200))
  const answered = other.requests + victim.requests
  await until(async () => {
    const budget = (await limitsOf(gateway)).find(({ unit }) => unit === 'budget')
    return budget?.used === answered / 100 && budget.reserved === 0
  })
  gateway.bin.child.kill('SIGTERM')
  t.equal((await gateway.bin.ended).code, 0)
  t.match(await verify(gateway), new RegExp(`^${answered} entries .*all agree`), 'each is settled once')
})

t.test('F-P4 workers are killed while they settle: what is charged is what the ledger has, none twice', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  let isLoading = true
  let answered = 0
  const lost: (number | string)[] = []
  const load = Array.from({ length: 8 }, async () => {
    while (isLoading) {
      const status = await gateway.chat()
      if (status === 200) answered++
      else lost.push(status)
    }
  })
  for (let kills = 1; kills <= 3; kills++) {
    const before = answered
    await until(() => answered >= before + 50)
    const [victim] = await gateway.workers()
    if (victim === undefined) throw new Error('workers serve')
    process.kill(victim.pid, 'SIGKILL')
    await until(() => gateway.logged('a worker has ended').length === kills)
    await until(async () => (await gateway.workers()).length === 2)
  }
  isLoading = false
  await Promise.all(load)
  t.same(
    lost.filter(status => typeof status !== 'string'),
    [],
    'no request is refused; connections to the killed ones are lost',
  )
  t.ok(lost.length <= 3 * 8, `${lost.length} lost`)
  gateway.bin.child.kill('SIGTERM')
  t.equal((await gateway.bin.ended).code, 0)
  const found = await verify(gateway)
  t.match(found, /all agree/)
  const entries = Number(/^\d+/.exec(found)?.[0])
  t.comment(`${entries} entries, ${answered} answered, ${upstream.received} made`)
  t.ok(entries <= upstream.received && entries > answered / 2)
})
