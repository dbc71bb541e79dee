// Measures a reload of large configurations beside traffic: how long the event loop stops, the longest small request,
// and memory after collections beside what it was before; and without traffic the CPU time of the process from the change of
// a file to the new plan in service. Every round changes one model, so all the rest can be kept.
// usage: node bench/reload.mjs [--quick] [--only=TEXT]     writes bench/out/reload.json
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { cores, folder, KEY, startProbedGateway, startUpstream, stopAll } from './processes.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 1 : 5
const SCALE = quick ? 0.02 : 1
/** Entries of one file, which may have a MiB. */
const PER_FILE = 4000
const SIZES = {
  '10,000 models': [10_000, 0],
  '50,000 models': [50_000, 0],
  '100,000 keys': [1000, 100_000],
  '100,000 keys with limits': [
    1000,
    100_000,
    ', group: g, limits: { requests: 10/s, tokens: 100k/min, budget: 5 USD/day }',
  ],
}
const only = process.argv.find(one => one.startsWith('--only='))?.slice('--only='.length) ?? ''
const agent = new Agent({ keepAlive: true })

const upstream = await startUpstream()
const rows = {}
for (const [name, [models, keys, limits]] of Object.entries(SIZES)) {
  if (name.includes(only)) rows[name] = await measure(models * SCALE, keys * SCALE, limits)
}
agent.destroy()
await stopAll()

mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, quick, rows }
writeFileSync(new URL('out/reload.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)
console.log(`worst of ${ROUNDS} reloads${quick ? `, at ${SCALE} of the sizes` : ''}`)
for (const [name, { pause, calm, longest, cpu: used, seconds, heap, rss }] of Object.entries(rows)) {
  console.log(
    `${name.padEnd(14)} stall ${pause.toFixed(0)} ms (${calm.toFixed(0)} without a reload), longest request ${longest.toFixed(0)} ms, ` +
      `CPU ${used.toFixed(2)} s in ${seconds.toFixed(1)} s, heap × ${heap.toFixed(2)}, resident × ${rss.toFixed(2)}`,
  )
}

async function measure(models, keys, limits = '') {
  const place = join(folder, `reload-${models}-${keys}-${limits.length}`)
  mkdirSync(place)
  const main = write(place, models, keys, limits)
  const gateway = await startProbedGateway(upstream.port, main, port => served(port, 'm-0'))
  const { port, ask, pid } = gateway
  await during(setTimeout(1000), port)
  const before = await ask('heap')
  await ask('reset')
  await during(setTimeout(1000), port)
  const calm = (await ask('pause')).pause
  const worst = { pause: 0, longest: 0, cpu: 0, seconds: 0 }
  for (let round = 0; round < ROUNDS; round += 1) {
    await ask('reset')
    change(main, `${round}-beside-traffic`)
    const longest = await during(served(port, `new-${round}-beside-traffic`), port)
    const { pause } = await ask('pause')
    const [since, used] = [performance.now(), cpuOf(pid)]
    change(main, round)
    await served(port, `new-${round}`)
    const seen = { pause, longest, cpu: cpuOf(pid) - used, seconds: (performance.now() - since) / 1000 }
    for (const name of Object.keys(worst)) worst[name] = Math.max(worst[name], seen[name])
  }
  const after = await ask('heap')
  gateway.child.kill('SIGTERM')
  return { ...worst, calm, heap: after.heapUsed / before.heapUsed, rss: after.rss / before.rss }
}

/** `limits`: what each key says beside its models. */
function write(place, models, keys, limits) {
  const digest = name => createHash('sha256').update(name).digest('hex')
  const files = [
    ...pieces(place, 'models', models, i => `m-${i}: { upstream: up, as: real-${i} }`),
    ...pieces(
      place,
      'keys',
      keys,
      i => `k-${i}: { secret: { hash: "sha256:${digest(`key ${i}`)}" }, models: [m-${i % models}]${limits} }`,
    ),
  ]
  const main = join(place, 'gateway.yaml')
  const base = `${process.env.BENCH_UPSTREAM ?? `http://127.0.0.1:${upstream.port}`}`
  writeFileSync(
    main,
    `version: 1\n${limits === '' ? '' : 'groups: { g: { limits: { requests: 5000/s } } }\nunpriced: free\n'}include: [${files.join(', ')}]\nkeys: { bench: { secret: { env: BENCH_KEY } } }\nlog: { level: error }\n` +
      `store: { type: memory, path: ${join(place, 'data')} }\n` +
      `upstreams: { up: { base: "${base}", speaks: { chat: POST /v1/chat/completions } } }\nmodels: { new: up }\n`,
  )
  return main
}

function pieces(place, section, count, entry) {
  const files = []
  for (let from = 0; from < count; from += PER_FILE) {
    const lines = Array.from({ length: Math.min(PER_FILE, count - from) }, (_, i) => `  ${entry(from + i)}\n`)
    files.push(`${section}-${from}.yaml`)
    writeFileSync(join(place, files.at(-1)), `${section}:\n${lines.join('')}`)
  }
  return files
}

function change(main, round) {
  writeFileSync(`${main}.next`, readFileSync(main, 'utf8').replace(/new[-\w]*: up/, `new-${round}: up`))
  renameSync(`${main}.next`, main)
}

/** Longest of small requests that are sent one after another until something is done, milliseconds. */
async function during(something, port) {
  let [done, longest] = [false, 0]
  const ended = something.finally(() => {
    done = true
  })
  while (!done) {
    const since = performance.now()
    const status = await call(port, 'm-0')
    if (status !== 200) throw new Error(`a request was answered ${status}`)
    longest = Math.max(longest, performance.now() - since)
  }
  await ended
  return longest
}

async function served(port, model) {
  while ((await call(port, model).catch(() => undefined)) !== 200) await setTimeout(20)
}

function call(port, model) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const options = { host: '127.0.0.1', port, path: '/v1/chat/completions', method: 'POST', agent, headers }
  return new Promise((resolve, reject) => {
    const sent = request(options, answer => answer.resume().on('end', () => resolve(answer.statusCode)))
    sent.on('error', reject).end(JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }))
  })
}

/** Seconds of CPU that a process has used, with its threads that have ended. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
