// Measures what workers bring: requests a second of two workers beside one, in short rounds in turn, and what they cost.
// The load and the upstream are processes of their own, on the same cores: with two cores these bound the ratio. So the CPU of
// each is printed as well: requests for each CPU second of the gateway, the most that the cores allow beside the load, and the
// ratio that two cores for the workers alone would give: 2 × CPU of a request with one worker / CPU with two.
// It needs an idle machine: what else runs takes cores from the two workers first.
// `--share 0.3` holds each worker to that part of a core, where the system lets it: so the load and the upstream have cores left,
// as on a machine of more cores, and the ratio of requests a second is that of the workers.
// usage: node bench/workers.mjs [--quick] [--share CORES]
import { readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { holdToShare, removeShares } from './cpu-share.mjs'
import { cores, cpu, folder, KEY, load, startFlaggedGateway, startUpstream, stopAll } from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const share = process.argv.includes('--share') ? Number(process.argv[process.argv.indexOf('--share') + 1]) : undefined
const ROUNDS = quick ? 1 : 7
/** Kept connections for each worker, so that each has as many to serve whether it is alone or not. */
const CONNECTIONS = 64
/** Processes that run, or wait for a core, before anything is measured: more is not idle. */
const IDLE_LOAD = 0.3
const message = { model: 'bench', max_tokens: 100, messages: [{ role: 'user', content: 'x'.repeat(16_384) }] }
const LANES = [
  { name: 'relayed, 4 KiB', requests: 12_000, body: chatRequest(4096) },
  { name: 'relayed, 64 KiB', requests: 4000, body: chatRequest(65_536) },
  { name: 'translated, 16 KiB', requests: 4000, path: '/v1/messages', body: Buffer.from(JSON.stringify(message)) },
]

const [running = 0] = loadavg()
if (running > IDLE_LOAD)
  console.log(
    `not idle: ${running.toFixed(1)} processes ran before this, so the ratios of requests a second are too low`,
  )
const upstream = await startUpstream()
const one = await start(1)
const two = await start(2)
if (share !== undefined) {
  const workers = [one, two].flatMap(gateway => processesOf(gateway))
  if (!workers.every(worker => holdToShare(worker, share)))
    throw new Error('this system lets no process be held to a share')
  console.log(`each worker is held to ${share} of a core`)
}
console.log(
  `${cores} cores for the workers, the load and the upstream; ${CONNECTIONS} kept connections for each worker; medians of ${ROUNDS}`,
)
for (const lane of LANES) await measure(lane)
await stopAll()
removeShares()

async function start(workers) {
  const file = join(folder, `workers-${workers}.yaml`)
  const text = readFileSync(fileURLToPath(new URL('gateway.yaml', import.meta.url)), 'utf8')
  const store = `store: { type: file, path: ${join(folder, `data-${workers}`)} }`
  writeFileSync(file, `${text.replace('store: { type: memory }', store)}workers: ${workers}\n`)
  const gateway = await startFlaggedGateway(upstream.port, file)
  while (processesOf(gateway).length < (workers === 1 ? 1 : workers + 1))
    await new Promise(resolve => setTimeout(resolve, 20))
  return { ...gateway, connections: CONNECTIONS * workers }
}

/** The process, and the workers that it has begun. */
function processesOf({ pid }) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number)
  return [{ pid }, ...children.filter(child => child > 0).map(child => ({ pid: child }))]
}

async function measure(lane) {
  const rounds = []
  for (const gateway of [one, two]) await run(gateway, lane)
  for (let round = 0; round < ROUNDS; round += 1) {
    const [first, second] = round % 2 === 0 ? [one, two] : [two, one]
    const results = new Map([[first, await run(first, lane)]])
    results.set(second, await run(second, lane))
    rounds.push({ one: results.get(one), two: results.get(two) })
  }
  const of = figure => median(rounds.map(figure))
  const rate = of(({ one, two }) => two.rate / one.rate)
  const own = of(({ one, two }) => (2 * one.gateway) / two.gateway)
  const each = which => Math.round(1e6 / of(round => round[which].gateway))
  // One worker has one core at most; what the load and the upstream take of a request comes on top.
  const fastest = ({ gateway, others }, workers) => Math.min(workers / gateway, cores / (gateway + others))
  const allowed = of(({ one, two }) => fastest(two, 2) / fastest(one, 1))
  const busy = which => of(round => round[which].cores).toFixed(2)
  const share = which => of(round => round[which].others / (round[which].others + round[which].gateway))
  console.log(
    `${lane.name}: ${rate.toFixed(2)} × the requests a second of one worker, with ${busy('one')} and ${busy('two')} cores used; ` +
      `load and upstream take ${(100 * share('two')).toFixed(0)} % of them; ` +
      `beside these the cores allow at most ${allowed.toFixed(2)} ×; requests for each CPU second of the gateway ${each('one')} and ${each('two')}: ` +
      `by its CPU alone ${own.toFixed(2)} ×; the busier worker has ${(100 * of(({ two }) => two.busiest)).toFixed(0)} %`,
  )
}

/** Microseconds a request: of the gateway's processes, and of the load and the upstream. */
async function run(gateway, { requests: all, path, body }) {
  const requests = quick ? all / 20 : all
  const processes = processesOf(gateway)
  const before = processes.map(cpu)
  const upstreamBefore = cpu(upstream)
  const job = { port: gateway.port, key: KEY, unit: 'request', requests, connections: gateway.connections, path }
  const done = await load({ ...job, body: body.toString('base64') })
  const used = processes.map((one, at) => cpu(one) - before[at])
  const sum = used.reduce((total, one) => total + one, 0)
  const others = done.cpu + cpu(upstream) - upstreamBefore
  return {
    rate: requests / done.seconds,
    gateway: sum / requests,
    others: others / requests,
    cores: (sum + others) / (done.seconds * 1e6),
    busiest: Math.max(...used) / sum,
  }
}
