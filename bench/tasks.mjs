// Measures tasks on each driver of the store: submits and polls through HTTP beside GET /v1/models of the same process,
// memory of open tasks, and the time of a start with very many in the store. Redis and PostgreSQL are servers of its own,
// where they are installed (build, and compile the tests, first).
// usage: node bench/tasks.mjs [--quick] [--only=DRIVER] [--part=calls|memory|start]     writes bench/out/tasks.json
import { mkdirSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openStore } from '../dist/runtime/stores.js'
import { cores, cpu, KEY, load, startTaskGateway, startTaskUpstream, stop, stopAll } from './processes.mjs'
import { median } from './report.mjs'
import { show } from './task-report.mjs'
import { ownNumbers, seed, taskId, templatesOf } from './task-seeds.mjs'
import { stores } from './task-stores.mjs'

const option = name => process.argv.find(argument => argument.startsWith(`--${name}=`))?.split('=')[1]
const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 1 : 5
/** Of calls: short ones, so that what else the machine does weighs on neighbours alike. */
const TURNS = quick ? 1 : 25
const CONNECTIONS = 16
const POLLS = quick ? 100 : 1500
const SUBMITS = quick ? 50 : 400
/** As many as have an answer ready: others are made anew from their records. */
const FEW = 500
const OPEN = quick ? 500 : 100_000
const FINISHED = quick ? 1000 : 1_000_000
/** Where tasks are copied inside a server, this is one of so many. */
const PARTS = quick ? 10 : 100
/** How long the upstream is asked about all of them before memory is looked at, milliseconds. */
const ASKING = quick ? 1000 : 30_000
const HOUR = 3_600_000

const ends = []
const results = {}
const upstream = await startTaskUpstream()
try {
  const templates = await writeTemplates()
  for (const driver of await stores({ teardown: end => ends.unshift(end), comment: () => undefined })) {
    if (option('only') !== undefined && driver.name !== option('only')) continue
    const parts = { calls: measureCalls, memory: measureMemory, start: measureStart }
    results[driver.name] = {}
    for (const [part, measure] of Object.entries(parts)) {
      if (option('part') !== undefined && part !== option('part')) continue
      const before = loadavg()[0]
      const told = await measure(driver, templates)
      if (told === undefined) continue
      results[driver.name][part] = { ...told, load: { before, after: loadavg()[0] } }
      show(driver.name, part, results[driver.name][part], { open: OPEN, finished: FINISHED })
    }
  }
} finally {
  await stopAll()
  for (const end of ends) await end()
}
mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, quick, rounds: ROUNDS, open: OPEN, finished: FINISHED, results }
writeFileSync(new URL('out/tasks.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)

/** One task that continues and one that has ended, as a gateway writes them. */
async function writeTemplates() {
  const [{ make }] = await stores({ teardown: end => ends.unshift(end), comment: () => undefined }, 'file')
  const { config, yaml } = await make()
  const gateway = await startTaskGateway(upstream.port, yaml)
  const [open, finished] = [await submit(gateway, 'bench'), await submit(gateway, 'done')]
  while ((await about(gateway, finished)).status !== 'completed') await setTimeout(10)
  await stop(gateway)
  const store = await openStore(config)
  const templates = await templatesOf(store, { open, finished })
  await store.close()
  return templates
}

// ── submits and polls

async function measureCalls({ make }) {
  const { yaml } = await make({ durable: true })
  const gateway = await startTaskGateway(upstream.port, yaml)
  const ids = []
  while (ids.length < FEW) ids.push(await submit(gateway, 'bench'))
  const get = (paths, requests = POLLS) => ({ paths, requests })
  const body = Buffer.from(JSON.stringify({ model: 'bench', prompt: 'A cat that sits on a roof', seconds: '4' }))
  const calls = {
    models: get(['/v1/models']),
    'poll of one task': get([`/v1/videos/${ids[0]}`]),
    [`polls of ${FEW} tasks`]: get(ids.map(id => `/v1/videos/${id}`)),
    submit: { paths: ['/v1/videos'], requests: SUBMITS, body: body.toString('base64') },
  }
  const rounds = Object.fromEntries(Object.keys(calls).map(name => [name, []]))
  for (const call of Object.values(calls)) await run(gateway, { ...call, requests: 2 * call.requests })
  const asked = await count()
  const { submit: writes, ...reads } = calls
  for (const turns of [reads, { submit: writes }])
    for (let round = 0; round < TURNS; round += 1)
      for (const [name, call] of Object.entries(turns)) rounds[name].push(await run(gateway, call))
  if ((await count()) !== asked) throw new Error('a poll of a client went to the upstream')
  await stop(gateway)
  return Object.fromEntries(
    Object.entries(rounds).map(([name, all]) => {
      const rate = median(all.map(one => one.rate))
      // Of each round by itself: what else the machine does changes from one to the next.
      const ratio = median(all.map((one, round) => one.cpu / rounds.models[round].cpu))
      return [name, { rate, cpu: median(all.map(one => one.cpu)), ratio }]
    }),
  )
}

async function run(gateway, call) {
  const before = cpu(gateway)
  const { seconds, requests } = await load({ ...call, port: gateway.port, key: KEY, connections: CONNECTIONS })
  return { rate: requests / seconds, cpu: (cpu(gateway) - before) / requests }
}

// ── memory

async function measureMemory(driver, templates) {
  const places = {
    none: await seeded(driver, templates, { open: 0 }),
    open: await seeded(driver, templates, { open: OPEN }),
    asked: await seeded(driver, templates, { open: OPEN, overdue: true, model: 'eager' }),
  }
  const told = {}
  for (const [name, yaml] of Object.entries(places)) {
    const gateway = await startTaskGateway(upstream.port, yaml, { probed: true })
    const asked = await count()
    if (name === 'asked') await setTimeout(ASKING)
    const polls = (await count()) - asked
    const { heapUsed, external, rss } = await gateway.ask('heap')
    told[name] = { held: (heapUsed + external) / 2 ** 20, rss: rss / 2 ** 20, asked: polls }
    await stop(gateway)
  }
  return told
}

// ── starts

async function measureStart(driver, templates) {
  if (driver.name === 'memory') return undefined
  const places = {
    empty: await seeded(driver, templates, { open: 0 }),
    full: await seeded(driver, templates, { open: OPEN, finished: FINISHED, overdue: true, model: 'eager' }),
  }
  const [own] = ownNumbers(OPEN)
  const rounds = { empty: [], full: [] }
  const used = { empty: [], full: [] }
  const slowest = []
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, yaml] of Object.entries(places)) {
      const gateway = await startTaskGateway(upstream.port, yaml)
      rounds[name].push(gateway.seconds)
      used[name].push(cpu(gateway) / 1e6)
      if (name === 'full') slowest.push(await busy(gateway, taskId(own)))
      await stop(gateway)
    }
  }
  const told = name => ({ seconds: median(rounds[name]), cpu: median(used[name]) })
  return { empty: told('empty'), full: told('full'), slowest: median(slowest) }
}

/** How long a poll takes, the slowest of a hundred, milliseconds, while all that was due is begun. */
async function busy(gateway, id) {
  const { latency } = await load({
    ...{ port: gateway.port, key: KEY, connections: 1, requests: 100, unit: 'request' },
    paths: [`/v1/videos/${id}`],
  })
  return latency.at(-1)
}

// ── what they share

/** A store with so many tasks in it, as it is written in YAML. */
async function seeded(driver, templates, { open, finished = 0, overdue = false, model = 'bench' }) {
  const target = { upstream: model, model }
  const copies = { ...templates, open: { ...templates.open, model, target } }
  if (driver.name === 'memory') {
    const options = { templates: JSON.stringify(copies), open, overdue }
    const module = fileURLToPath(new URL('seeded-memory.mjs', import.meta.url))
    return `{ type: ${JSON.stringify(module)}, options: ${JSON.stringify(options)} }`
  }
  const { config, yaml } = await driver.make()
  const store = await openStore(config)
  const due = overdue ? (n, now) => now - 60_000 + (n % 60_000) : (n, now) => now + HOUR + n
  const parts = driver.copy === undefined ? 1 : PARTS
  await seed(store, copies, { open: open / parts, finished: finished / parts, due, atOnce: driver.atOnce })
  if (parts > 1) await driver.copy(config, parts - 1)
  await store.close()
  return yaml
}

async function submit(gateway, model) {
  const answer = await request(gateway, '', { model, prompt: 'A cat that sits on a roof', seconds: '4' })
  return answer.id
}

function about(gateway, id) {
  return request(gateway, `/${id}`)
}

async function request({ port }, path, body) {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/videos${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (answer.status !== 200) throw new Error(await answer.text())
  return await answer.json()
}

/** How often the upstream has been asked about tasks. */
async function count() {
  const answer = await fetch(`http://127.0.0.1:${upstream.port}/asked`)
  return (await answer.json()).asked
}
