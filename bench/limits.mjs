// Measures what limits cost: CPU of a relayed request with keys, rates, tokens, budgets and the ledger beside the same
// without, in short rounds, both under load at once, so that the machine is the same for both; the same with a file store,
// where each answer waits until its record is on the disk; and calls of a shared store for each request of one key.
// usage: node bench/limits.mjs [--quick]
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpu, folder, KEY, load, startFlaggedGateway, startUpstream, stopAll, warmUp } from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest, EVENTS } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 1 : 12
const REQUESTS = quick ? 128 : 4000
const STREAMS = quick ? 32 : 384
const SIZES = [256, 4096, 65_536]
let files = 0
const here = name => fileURLToPath(new URL(name, import.meta.url))

const upstream = await startUpstream()
const without = await startFlaggedGateway(upstream.port, 'gateway.yaml')
const limited = await startFlaggedGateway(upstream.port, 'limits.yaml')

const durable = await startLimited(`{ type: file, path: "${join(folder, 'durable')}" }`)
const count = join(folder, 'commits')
const counted = await startLimited(`{ type: ${here('counting-store.mjs')}, options: { count: "${count}" } }`)

if (!quick) await warmUp([without, limited, durable], chatRequest(SIZES[0], { max_tokens: 256 }))
for (const size of SIZES) {
  const requests = Math.ceil(REQUESTS / (1 + size / 16_384))
  await compare('limits', limited, size, requests)
  if (size === SIZES[0]) await compare('limits on a file store', durable, size, requests)
}
await compare('limits', limited, SIZES[0], STREAMS, true)

const { seconds } = await run(counted, 4096, REQUESTS)
const calls = existsSync(count) ? Number(readFileSync(count, 'utf8')) : 0
const rate = (REQUESTS / seconds).toFixed(0)
console.log(
  `calls of a shared store for each request, one key, ${rate} requests a second: ${(calls / REQUESTS).toFixed(4)}`,
)
await stopAll()

/** `store`: the setting, as written. */
async function startLimited(store) {
  const file = join(folder, `limits-${++files}.yaml`)
  writeFileSync(file, readFileSync(here('limits.yaml'), 'utf8').replace('{ type: memory }', store))
  return await startFlaggedGateway(upstream.port, file)
}

async function compare(what, gateway, size, requests, stream = false) {
  const ratios = []
  await both(gateway, size, requests, stream)
  for (let round = 0; round < ROUNDS; round++) ratios.push(await both(gateway, size, requests, stream))
  const kind = stream ? `a stream of ${EVENTS} events` : `${size} bytes`
  console.log(`CPU with ${what} / without, ${kind}: ${median(ratios).toFixed(3)} (median of ${ROUNDS} rounds)`)
}

/** CPU of one beside the other. */
async function both(gateway, size, requests, stream) {
  const before = [cpu(gateway), cpu(without)]
  await Promise.all([run(gateway, size, requests, stream), run(without, size, requests, stream)])
  return (cpu(gateway) - before[0]) / (cpu(without) - before[1])
}

function run({ port }, size, requests, stream = false) {
  const body = chatRequest(size, { max_tokens: 256, ...(stream && { stream }) }).toString('base64')
  return load({ port, key: KEY, unit: stream ? 'event' : 'request', requests, connections: 32, body })
}
