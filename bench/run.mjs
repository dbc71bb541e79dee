// Measures the gateway beside a direct connection, nginx and the bare floor: one upstream, one run, short rounds in turn.
// Ratios are medians of the ratios of each round: what else the machine does weighs on neighbours alike.
// usage: node bench/run.mjs [--quick] [--tls: both sides of each proxy] [--only=TEXT of a workload's name] [--beside=FOLDER of another checkout, built]
//   [--rounds=N] [--out=NAME]: writes bench/out/NAME.json, usually result.json, or tls.json; with --only or --beside partial.json
import { mkdirSync, writeFileSync } from 'node:fs'
import {
  cores,
  cpu,
  encrypt,
  KEY,
  load,
  rss,
  startFloor,
  startGateway,
  startNginx,
  startOther,
  startUpstream,
  stopAll,
} from './processes.mjs'
import { outName, percentile, summarise, table } from './report.mjs'
import { EVENTS, workloads } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const word = name => process.argv.find(argument => argument.startsWith(`--${name}=`))?.slice(name.length + 3)
const only = word('only') ?? ''
const other = word('beside')
const ROUNDS = quick ? 1 : Number(word('rounds') ?? 20)
const tls = process.argv.includes('--tls')
const partial = only !== '' || other !== undefined
const out = outName({ out: word('out'), tls, partial })
if (tls) await encrypt()

const upstream = await startUpstream()
const nginx = await startNginx(upstream.port)
if (nginx === undefined) console.log('SKIPPED: nginx is not installed, so nothing is measured beside it')
const started = [upstream, await startFloor(upstream.port), await startGateway(upstream.port), nginx]
if (other !== undefined) started.push(await startOther(upstream.port, other))
const targets = started.filter(target => target !== undefined)

const results = {}
for (const workload of workloads(quick).filter(({ name }) => name.includes(only))) {
  console.log(`measuring ${workload.name} …`)
  results[workload.name] = { unit: workload.unit, calm: workload.calm, targets: await measure(workload) }
}
await stopAll()

const report = { node: process.version, cores, quick, partial, tls, rounds: ROUNDS, results }
mkdirSync(new URL('out/', import.meta.url), { recursive: true })
writeFileSync(new URL(`out/${out}.json`, import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)
console.log(
  `\nNode ${process.version}, ${cores} cores, medians of ${ROUNDS} rounds${quick ? ' (quick: figures mean little)' : ''}`,
)
console.log(table(results).join('\n'))

async function measure(workload) {
  const rounds = new Map(targets.map(target => [target.name, []]))
  for (const target of targets) await run(target, workload, workload.warmUp, workload.connections)
  for (let round = 0; round < ROUNDS; round += 1)
    for (const target of round % 2 === 0 ? targets : targets.toReversed())
      rounds.get(target.name).push(await measureOnce(target, workload))
  return summarise(rounds)
}

async function measureOnce(target, workload) {
  const before = cpu(target)
  const { seconds, latency } = await run(target, workload, workload.requests, workload.connections)
  const units = workload.unit === 'event' ? workload.requests * EVENTS : workload.requests
  const used = { rate: units / seconds, cpu: (cpu(target) - before) / units, rss: rss(target) }
  const { connections, rate } = workload.calm ?? {}
  const calm =
    workload.latency > 0 ? (await run(target, workload, workload.latency, connections, rate)).latency : latency
  return { ...used, p50: percentile(calm, 0.5), p99: percentile(calm, 0.99) }
}

function run({ port }, { unit, body }, requests, connections, rate) {
  return load({ port, key: KEY, unit, requests, connections, rate, body: body.toString('base64') })
}
