// Measures what credentials cost: CPU of a relayed request with a token that is kept, and with a signature of each request (AWS
// Signature Version 4), beside the same with a static key, in short rounds in turn.
// usage: node bench/credentials.mjs [--quick]
import { fileURLToPath } from 'node:url'
import { cpu, KEY, load, startFlaggedGateway, startUpstream, stopAll } from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 5 : 15
const REQUESTS = quick ? 300 : 3000
const WARM_REQUESTS = quick ? 100 : 4000
const SIZES = [1024, 16 * 1024]

const upstream = await startUpstream()
const gateway = await startFlaggedGateway(upstream.port, fileURLToPath(new URL('credentials.yaml', import.meta.url)))
for (const model of ['static', 'token', 'sigv4']) await run(model, WARM_REQUESTS, SIZES[0])
for (const size of SIZES) for (const model of ['token', 'sigv4']) await compare(model, size)
await stopAll()

async function compare(model, size) {
  const ratios = []
  for (let round = 0; round < ROUNDS; round++) {
    const used = new Map()
    const order = round % 2 === 1 ? [model, 'static'] : ['static', model]
    for (const one of order) used.set(one, await run(one, REQUESTS, size))
    ratios.push(used.get(model) / used.get('static'))
  }
  console.log(
    `CPU with ${model} / static key, ${size} bytes: ${median(ratios).toFixed(3)} (median of ${ROUNDS} rounds)`,
  )
}

async function run(model, requests, size) {
  const body = chatRequest(size, { model }).toString('base64')
  const before = cpu(gateway)
  await load({ port: gateway.port, key: KEY, unit: 'request', requests, connections: 32, body })
  return cpu(gateway) - before
}
