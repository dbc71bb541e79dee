// Measures what telemetry costs: CPU of a relayed request, and of a stream, with metrics, traces and receipts beside the same without,
// in short rounds in turn. Spans go to a collector of this process that answers at once.
// usage: node bench/traces.mjs [--quick]
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../scripts/free-port.mjs'
import { cpu, folder, KEY, load, startFlaggedGateway, startUpstream, stopAll, warmUp } from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 2 : 12
const REQUESTS = quick ? 500 : 4000
const STREAMS = quick ? 32 : 192
const here = name => fileURLToPath(new URL(name, import.meta.url))

const collector = createServer((request, response) => {
  request.resume().on('end', () => response.end())
})
await new Promise(resolve => collector.listen(0, '127.0.0.1', resolve))
const upstream = await startUpstream()
const text = readFileSync(here('gateway.yaml'), 'utf8')
const gatewayWith = async (name, { metrics = 'off', traces, receipts = 'off' }) => {
  const file = join(folder, `${name}.yaml`)
  const admin = `admin: { port: ${await freePort()}, secret: { env: BENCH_KEY }, metrics: ${metrics} }\n`
  const endpoint = `http://127.0.0.1:${collector.address().port}`
  // With `metrics: on` they would be counted for the collector, too.
  const otlp = `otlp: { endpoint: "${endpoint}" }, metrics: off`
  const telemetry = traces === undefined ? '' : `telemetry: { ${otlp}, traces: ${traces} }\n`
  writeFileSync(file, `${text}${admin}${telemetry}receipts: ${receipts}\n`)
  return startFlaggedGateway(upstream.port, file)
}
const without = await gatewayWith('without', {})
const receipts = `{ to: "${join(folder, 'receipts')}" }`
const all = '{ sample: { rest: 1 } }'
const variants = {
  metrics: await gatewayWith('metrics', { metrics: 'open' }),
  'traces, 1 % sent': await gatewayWith('sampled', { traces: '{}' }),
  'metrics and traces, 1 % sent': await gatewayWith('both', { metrics: 'open', traces: '{}' }),
  'metrics and traces, all sent': await gatewayWith('all', { metrics: 'open', traces: all }),
  receipts: await gatewayWith('receipts', { receipts }),
  'metrics, traces and receipts': await gatewayWith('everything', { metrics: 'open', traces: '{}', receipts }),
}

const jobs = {
  'a JSON request of 256 bytes': { unit: 'request', requests: REQUESTS, connections: 32, body: chatRequest(256) },
  'a stream': { unit: 'event', requests: STREAMS, connections: 64, body: chatRequest(256, { stream: true }) },
}
if (!quick) await warmUp([without, ...Object.values(variants)], chatRequest(256))
for (const [name, job] of Object.entries(jobs)) {
  const ratios = Object.fromEntries(Object.keys(variants).map(variant => [variant, []]))
  for (let round = -1; round < ROUNDS; round++) {
    const base = await used(without, job)
    for (const [variant, gateway] of Object.entries(variants)) {
      const ratio = (await used(gateway, job)) / base
      if (round >= 0) ratios[variant].push(ratio)
    }
  }
  for (const [variant, all] of Object.entries(ratios))
    console.log(`CPU with / without, ${name}, ${variant}: ${median(all).toFixed(3)} (median of ${ROUNDS} rounds)`)
}
await stopAll()
collector.close()
collector.closeAllConnections()

async function used(gateway, job) {
  const before = cpu(gateway)
  await load({ port: gateway.port, key: KEY, ...job, body: job.body.toString('base64') })
  return cpu(gateway) - before
}
