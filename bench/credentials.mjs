// Measures what credentials cost: CPU of a relayed request with a token that is kept, and with a signature of each request (AWS
// Signature Version 4), beside the same with a static key, in short rounds in turn. A second upstream with a static key shows how far
// rounds differ by themselves.
// usage: node bench/credentials.mjs [--quick]
import { fileURLToPath } from 'node:url'
import { cpu, KEY, load, startFlaggedGateway, startUpstream, stopAll } from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 5 : 20
const REQUESTS = quick ? 300 : 2000
const WARM_REQUESTS = quick ? 100 : 4000
const SIZES = [1024, 16 * 1024]

const upstream = await startUpstream()
const gateway = await startFlaggedGateway(upstream.port, fileURLToPath(new URL('credentials.yaml', import.meta.url)))
const models = ['again', 'token', 'sigv4']
for (const model of ['static', ...models]) await run(model, WARM_REQUESTS, SIZES[0])
for (const size of SIZES) for (const model of models) await compare(model, size)
await stopAll()

async function compare(model, size) {
  const ratios = []
  for (let round = 0; round < ROUNDS; round++) {
    const used = { static: 0, [model]: 0 }
    for (const one of ['static', model, model, 'static']) used[one] += await run(one, REQUESTS, size)
    ratios.push(used[model] / used.static)
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
