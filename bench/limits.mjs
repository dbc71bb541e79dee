// Measures what limits cost: CPU of a relayed request with keys, rates, tokens, budgets and the ledger beside the same
// without, in short rounds in turn; and calls of a shared store for each request of one key.
// usage: node bench/limits.mjs [--quick]
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpu, folder, KEY, load, startFlaggedGateway, startUpstream, stopAll } from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 2 : 12
const REQUESTS = quick ? 500 : 4000
const SIZES = [256, 4096, 65_536]
const here = name => fileURLToPath(new URL(name, import.meta.url))

const upstream = await startUpstream()
const without = await startFlaggedGateway(upstream.port, 'gateway.yaml')
const limited = await startFlaggedGateway(upstream.port, 'limits.yaml')

const count = join(folder, 'commits')
const shared = join(folder, 'limits-shared.yaml')
const store = `store: { type: ${here('counting-store.mjs')}, options: { count: "${count}" } }`
writeFileSync(shared, readFileSync(here('limits.yaml'), 'utf8').replace('store: { type: memory }', store))
const counted = await startFlaggedGateway(upstream.port, shared)

for (const size of SIZES) {
  const requests = Math.ceil(REQUESTS / (1 + size / 16_384))
  const ratios = []
  await both(size, requests)
  for (let round = 0; round < ROUNDS; round++) ratios.push(await both(size, requests, round % 2 === 1))
  console.log(`CPU with limits / without, ${size} bytes: ${median(ratios).toFixed(3)} (median of ${ROUNDS} rounds)`)
}

const { seconds } = await run(counted, 4096, REQUESTS)
const calls = existsSync(count) ? Number(readFileSync(count, 'utf8')) : 0
const rate = (REQUESTS / seconds).toFixed(0)
console.log(
  `calls of a shared store for each request, one key, ${rate} requests a second: ${(calls / REQUESTS).toFixed(4)}`,
)
await stopAll()

async function both(size, requests, isTurned = false) {
  const used = new Map()
  for (const gateway of isTurned ? [limited, without] : [without, limited]) {
    const before = cpu(gateway)
    await run(gateway, size, requests)
    used.set(gateway, cpu(gateway) - before)
  }
  return used.get(limited) / used.get(without)
}

function run({ port }, size, requests) {
  const body = chatRequest(size, { max_tokens: 256 }).toString('base64')
  return load({ port, key: KEY, unit: 'request', requests, connections: 32, body })
}
