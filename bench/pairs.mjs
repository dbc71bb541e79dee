// Measures translation beside relaying: for each pair of text protocols the CPU of a JSON request and of an event, as
// ratios to the relayed exchange of the client's protocol. One upstream, one gateway, one run, rounds in turn.
// usage: node bench/pairs.mjs [--quick] [--only=json|sse]     writes bench/out/pairs.json
import { mkdirSync, writeFileSync } from 'node:fs'
import { cores, cpu, KEY, load, startPairGateway, startPairUpstream, stopAll } from './processes.mjs'
import { PROTOCOLS } from './protocols.mjs'
import { EVENTS } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const only = process.argv.find(argument => argument.startsWith('--only='))?.slice('--only='.length)
const ROUNDS = quick ? 1 : 3
const names = Object.keys(PROTOCOLS)

const upstream = await startPairUpstream()
const gateway = await startPairGateway(upstream.port)
const results = {}
if (only !== 'sse') results.json = await measure(false)
if (only !== 'json') results.sse = await measure(true)
await stopAll()

mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, quick, rounds: ROUNDS, results }
writeFileSync(new URL('out/pairs.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)
for (const [unit, table] of Object.entries(results)) show(unit, table)

async function measure(stream) {
  const pairs = names.flatMap(client => names.map(target => ({ client, target, used: [] })))
  const requests = stream ? (quick ? 16 : 192) : quick ? 64 : 6000
  for (const pair of pairs) await run(pair, stream, quick ? 8 : stream ? 96 : 2000)
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const pair of pairs) {
      const before = cpu(gateway)
      await run(pair, stream, requests)
      pair.used.push((cpu(gateway) - before) / (stream ? requests * EVENTS : requests))
    }
  }
  return Object.fromEntries(pairs.map(({ client, target, used }) => [`${client} ${target}`, median(used)]))
}

function run({ client, target }, stream, requests) {
  const protocol = PROTOCOLS[client]
  const path = (stream && protocol.streamPath) || protocol.path
  const body = JSON.stringify(protocol.body(stream)).replace('MODEL', target)
  return load({
    port: gateway.port,
    path: path.replace('MODEL', target),
    key: KEY,
    unit: 'request',
    requests,
    connections: 16,
    body: Buffer.from(body).toString('base64'),
  })
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}

function show(unit, table) {
  const what = unit === 'json' ? 'request' : 'event'
  console.log(`\n${unit}: CPU µs per ${what} (× the relayed one of the client's protocol), medians of ${ROUNDS} rounds`)
  console.log(`${'client \\ upstream'.padEnd(18)}${names.map(name => name.padStart(16)).join('')}`)
  for (const client of names) {
    const relayed = table[`${client} ${client}`]
    const cells = names.map(target => {
      const used = table[`${client} ${target}`]
      return `${used.toFixed(1)} (${(used / relayed).toFixed(2)})`.padStart(16)
    })
    console.log(client.padEnd(18) + cells.join(''))
  }
}
