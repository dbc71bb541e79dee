// Measures what metrics cost: CPU of a relayed request, and of a stream, with `admin: { metrics }` beside the same without, in
// short rounds in turn; then memory and scrapes with many keys and models.
// usage: node bench/metrics.mjs [--quick]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../scripts/free-port.mjs'
import { measureMemory } from './metrics-memory.mjs'
import { cpu, folder, KEY, load, startFlaggedGateway, startUpstream, stopAll, warmUp } from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 2 : 12
const REQUESTS = quick ? 500 : 4000
const STREAMS = quick ? 32 : 192
const here = name => fileURLToPath(new URL(name, import.meta.url))

const upstream = await startUpstream()
const text = readFileSync(here('gateway.yaml'), 'utf8')
const gatewayWith = async (name, metrics) => {
  const file = join(folder, `${name}.yaml`)
  writeFileSync(file, `${text}admin: { port: ${await freePort()}, secret: { env: BENCH_KEY }, metrics: ${metrics} }\n`)
  return startFlaggedGateway(upstream.port, file)
}
const without = await gatewayWith('without', 'off')
const measured = await gatewayWith('measured', 'open')

const jobs = {
  'a JSON request of 256 bytes': { unit: 'request', requests: REQUESTS, connections: 32, body: chatRequest(256) },
  'a stream': {
    unit: 'event',
    requests: STREAMS,
    connections: 64,
    body: chatRequest(256, { stream: true }),
  },
}
if (!quick) await warmUp([without, measured], chatRequest(256))
for (const [name, job] of Object.entries(jobs)) {
  const ratios = []
  await both(job)
  for (let round = 0; round < ROUNDS; round++) ratios.push(await both(job, round % 2 === 1))
  console.log(`CPU with metrics / without, ${name}: ${median(ratios).toFixed(3)} (median of ${ROUNDS} rounds)`)
}
await measureMemory(upstream, quick ? 1000 : 10_000, 100)
await stopAll()

async function both(job, isTurned = false) {
  const used = new Map()
  for (const gateway of isTurned ? [measured, without] : [without, measured]) {
    const before = cpu(gateway)
    await load({ port: gateway.port, key: KEY, ...job, body: job.body.toString('base64') })
    used.set(gateway, cpu(gateway) - before)
  }
  return used.get(measured) / used.get(without)
}
