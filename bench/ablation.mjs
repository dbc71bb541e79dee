// Measures what each step of the gateway costs: CPU of a relayed request beside the bare floor, with steps switched off one
// after the other, down to the transport alone.
// usage: node bench/ablation.mjs [--quick]; writes bench/out/ablation.json
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  cores,
  cpu,
  folder,
  KEY,
  load,
  startBareTransport,
  startFloor,
  startGatewayFrom,
  startUpstream,
  stopAll,
} from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 1 : 16
const CONNECTIONS = 32
const SIZES = [
  { name: '0.3 KiB', bytes: 300, requests: quick ? 64 : 3000 },
  { name: '16 KiB', bytes: 16 * 1024, requests: quick ? 64 : 1500 },
]
const whole = readFileSync(fileURLToPath(new URL('gateway.yaml', import.meta.url)), 'utf8')
const path = 'POST /v1/chat/completions'
const silent = whole.replace('level: info', 'level: warn')
const unwatched = `${silent}overload: off\n`
const unchecked = `${unwatched}routes: { ${path}: { protocol: chat, model: body.model, stream: body.stream } }\n`
const unread =
  `${unwatched}protocols: { plain: {} }\nroutes: { ${path}: { protocol: plain, upstream: bench } }\n`.replace(
    `chat: ${path}`,
    `chat: ${path}, plain: ${path}`,
  )
/** Each switches off one step more than the one before it, but for the last two. */
const STEPS = [
  ['all steps', whole],
  ['without log lines', silent],
  ['without a look at load', unwatched],
  ['without the schema of bodies', unchecked],
  ['without model, stream and usage', unread],
  ['all steps, transport: node', `${whole}transport: node\n`],
]

const upstream = await startUpstream()
const floor = await startFloor(upstream.port)
const measured = []
// Apart from the logs: each write of one would have the gateway look at its folder of files again.
const files = join(folder, 'files')
mkdirSync(files)
for (const [name, yaml] of STEPS) {
  const file = join(files, `${name.replaceAll(/[^a-z]+/g, '-')}.yaml`)
  writeFileSync(file, yaml)
  measured.push({ name, target: await startGatewayFrom(file, upstream.port) })
}
measured.splice(-1, 0, { name: 'the transport alone', target: await startBareTransport(upstream.port) })

const results = {}
for (const size of SIZES) {
  console.log(`measuring ${size.name} …`)
  results[size.name] = await measure(size)
}
await stopAll()
mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, quick, rounds: ROUNDS, connections: CONNECTIONS, results }
writeFileSync(new URL('out/ablation.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)
for (const [size, rows] of Object.entries(results)) {
  console.log(`\n${size}: CPU of a request, and beside the floor (medians of ${ROUNDS} rounds)`)
  for (const { name, cpu, times } of rows)
    console.log(`  ${name.padEnd(34)} ${cpu.toFixed(1).padStart(7)} µs  ${times.toFixed(2)}`)
}

/** Short rounds in turn; the order turns with each round. */
async function measure(size) {
  const all = [{ name: 'floor', target: floor }, ...measured]
  const rounds = new Map(all.map(({ name }) => [name, []]))
  for (const { target } of all) await once(target, size)
  for (let round = 0; round < ROUNDS; round++)
    for (const { name, target } of round % 2 === 0 ? all : all.toReversed())
      rounds.get(name).push(await once(target, size))
  const beside = rounds.get('floor')
  return all.map(({ name }) => {
    const used = rounds.get(name)
    return { name, cpu: median(used), times: median(used.map((one, round) => one / beside[round])) }
  })
}

/** CPU of one request, microseconds. */
async function once(target, { bytes, requests }) {
  const before = cpu(target)
  const body = chatRequest(bytes).toString('base64')
  await load({ port: target.port, key: KEY, unit: 'request', requests, connections: CONNECTIONS, body })
  return (cpu(target) - before) / requests
}
