// Measures what strategies cost: CPU of a relayed request for each strategy, condition, fallback, canary, mirror and check of one's
// own (that reads the body, or not) beside `order` with the same two targets, in short rounds in turn; and `order` in such a file
// beside a file without any of them.
// usage: node bench/strategies.mjs [--quick]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpu, folder, KEY, load, startFlaggedGateway, startUpstream, stopAll } from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 1 : 9
const REQUESTS = quick ? 300 : 3000
const WARM_REQUESTS = quick ? 100 : 2000
const BYTES = 1024
const file = fileURLToPath(new URL('strategies.yaml', import.meta.url))

const text = readFileSync(file, 'utf8')
const models = [...text.matchAll(/^ {2}([a-z_-]+): .*(?:strategy|when|fallbacks|canary|mirror):/gm)].map(
  ([, name]) => name,
)
models.push('checked', 'checked_body')
const plainFile = join(folder, 'plain.yaml')
writeFileSync(plainFile, text.replace(/^models:[\s\S]*/m, 'models: { order: [one, two] }\n'))

const upstream = await startUpstream()
const gateway = await startFlaggedGateway(upstream.port, file)
const plain = await startFlaggedGateway(upstream.port, plainFile)

const order = { gateway, model: 'order' }
// A process that has just begun is slower each time it meets something new.
for (const model of ['order', ...models]) await run({ gateway, model }, WARM_REQUESTS)
await run({ gateway: plain, model: 'order' }, WARM_REQUESTS)
await compare('order in a file with strategies / in one without', order, { gateway: plain, model: 'order' })
for (const model of models) await compare(`${model} / order`, { gateway, model }, order)
await stopAll()

async function compare(what, one, other) {
  const ratios = []
  for (let round = 0; round < ROUNDS; round++) {
    const used = new Map()
    for (const each of round % 2 === 1 ? [one, other] : [other, one]) used.set(each, await run(each, REQUESTS))
    ratios.push(used.get(one) / used.get(other))
  }
  console.log(`CPU with ${what}, ${BYTES} bytes: ${median(ratios).toFixed(3)} (median of ${ROUNDS} rounds)`)
}

async function run({ gateway: { port, pid }, model }, requests) {
  const body = chatRequest(BYTES, { model }).toString('base64')
  const before = cpu({ pid })
  await load({ port, key: KEY, unit: 'request', requests, connections: 32, body })
  return cpu({ pid }) - before
}
