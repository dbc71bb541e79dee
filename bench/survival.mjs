// Measures what it costs that upstreams may fail: CPU of a relayed request, and of a stream, with retries, health, a strategy
// over two targets, overload, a stream contract and time-outs of its own, beside the same without. Rounds are short, and each round has
// all of them in turn, so that what else the machine does meets them alike; the ratio is the median over the rounds.
// usage: node bench/survival.mjs [--quick] [--only=TEXT]     writes bench/out/survival.json
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cores, cpu, folder, KEY, load, startFlaggedGateway, startUpstream, stopAll } from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 1 : 40
const WARM_UP_ROUNDS = quick ? 0 : 2
const only = process.argv.find(one => one.startsWith('--only='))?.slice('--only='.length) ?? ''
const scale = quick ? 0.1 : 1
const here = name => fileURLToPath(new URL(name, import.meta.url))
const text = readFileSync(here('gateway.yaml'), 'utf8')

/** Two upstreams of one address, and a model with both. */
const two = text
  .replace(/ {2}bench:\n( {4}base:[\s\S]*?)models:\n {2}bench: bench/, (_, body) => {
    return `  bench:\n${body}  second:\n${body}models:\n  bench: @MODEL@`
  })
  .replace('store: { type: memory }', 'store: { type: memory }\n@MORE@')

const OFF = { model: '[bench, second]', more: 'health: off\noverload: off\nretry: { attempts: 1 }' }
const ON = {
  model: '{ targets: [bench, second], strategy: @STRATEGY@, stream: { first_token: 30s, gap: 30s, min_rate: 1/s } }',
  more: 'health: { slow: 30s }\noverload: { loop_delay: 250ms }\nretry: { attempts: 3, budget: 20% }\ntimeouts: { connect: 2s, first_byte: 60s, idle: 60s, total: 10m }',
}

const upstream = await startUpstream()
const gatewayWith = (name, { model, more }, strategy = '') => {
  const file = join(folder, `${name}.yaml`)
  writeFileSync(file, two.replace('@MODEL@', model.replace('@STRATEGY@', strategy)).replace('@MORE@', more))
  return startFlaggedGateway(upstream.port, file)
}
const without = await gatewayWith('without', OFF)
// The same once more: how far their ratio is from 1 is what this machine cannot tell.
const alike = await gatewayWith('alike', OFF)
const all = await gatewayWith('all', ON, 'fastest')
const gateways = [without, alike, all]
const jobs = {
  'JSON, 256 bytes': { unit: 'request', requests: 2000 * scale, connections: 32, body: chatRequest(256) },
  'JSON, 16 KiB': { unit: 'request', requests: 1000 * scale, connections: 32, body: chatRequest(16_384) },
  'a stream': {
    unit: 'event',
    requests: Math.max(64, 128 * scale),
    connections: 64,
    body: chatRequest(256, { stream: true }),
  },
}
const rows = {}
for (const [name, job] of Object.entries(jobs).filter(([name]) => name.includes(only))) {
  const rounds = []
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const used = await inTurn(job, round % 2 !== 0)
    // A process is fast only after a while.
    if (round >= 0) rounds.push(used)
  }
  // Each in its own round beside the mean of the two that are alike, so that the order of three does not matter.
  const base = used => (used.get(without) + used.get(alike)) / 2
  const ratios = one => rounds.map(used => used.get(one) / base(used)).sort((a, b) => a - b)
  const quarters = one => [0.25, 0.75].map(at => ratios(one)[Math.floor(at * ROUNDS)].toFixed(3)).join(' to ')
  rows[name] = { all: median(ratios(all)), alike: median(rounds.map(used => used.get(alike) / used.get(without))) }
  const micro = one => (median(rounds.map(used => used.get(one))) / job.requests).toFixed(0)
  console.log(
    `${name}: CPU with all on / without ${rows[name].all.toFixed(3)} (goal 1.05; half of the rounds ${quarters(all)}); ` +
      `without / without ${rows[name].alike.toFixed(3)}; ${micro(all)} and ${micro(without)} µs a request; medians of ${ROUNDS} rounds`,
  )
}
await stopAll()
mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, quick, rounds: ROUNDS, rows }
writeFileSync(new URL('out/survival.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)

async function inTurn(job, isTurned) {
  const used = new Map()
  for (const gateway of isTurned ? gateways.toReversed() : gateways) {
    const before = cpu(gateway)
    await load({ port: gateway.port, key: KEY, ...job, body: job.body.toString('base64') })
    used.set(gateway, cpu(gateway) - before)
  }
  return used
}
