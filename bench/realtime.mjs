// Measures the realtime tunnel and http-proxy-3 beside a bare tunnel of node:net: frames a second, latency of a round trip,
// CPU of a frame. One upstream and one run for all, rounds in turn; the ratios are what counts, since timings depend on the
// machine. `with flags`: the gateway under a Node with the flags that docs/operating.md advises for heavy relaying.
// usage: node bench/realtime.mjs [--quick]     writes bench/out/realtime.json
import { mkdirSync, writeFileSync } from 'node:fs'
import {
  cores,
  cpu,
  KEY,
  load,
  startFlaggedGateway,
  startRealtimeGateway,
  startRealtimeUpstream,
  startTunnel,
  stopAll,
} from './processes.mjs'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 1 : 9

/** Sizes of whole frames in bytes: a tenth of a second of audio is 4,800 bytes, 6,400 in base64. */
const WORKLOADS = {
  'audio, a frame at a time': { up: 6500, down: 6500, window: 1, connections: 16, rounds: 1000 },
  'events, a frame at a time': { up: 220, down: 320, window: 1, connections: 16, rounds: 1500 },
  'audio, 16 frames at a time': { up: 6500, down: 6500, window: 16, connections: 8, rounds: 200 },
}

const upstream = await startRealtimeUpstream()
const sides = {
  tunnel: await startTunnel(upstream.port),
  library: await startTunnel(upstream.port, 'library-tunnel.mjs'),
  gateway: await startRealtimeGateway(upstream.port),
  'with flags': await startFlaggedGateway(upstream.port, 'realtime.yaml'),
}
const names = Object.keys(sides)
const results = {}
for (const [name, workload] of Object.entries(WORKLOADS)) results[name] = await measure(workload)
await stopAll()

mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, quick, rounds: ROUNDS, results }
writeFileSync(new URL('out/realtime.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)
show()

async function measure(workload) {
  const rounds = quick ? 20 : workload.rounds
  const runs = Object.fromEntries(names.map(name => [name, []]))
  for (const side of names) await run(sides[side], workload, Math.ceil(rounds / 3))
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const side of names) runs[side].push(await run(sides[side], workload, rounds))
  }
  const told = ['rate', 'latency', 'cpu'].map(what => {
    const values = side => runs[side].map(one => one[what])
    // Of each round by itself: what else the machine does changes from one to the next.
    const ratio = side => median(values(side).map((value, round) => value / values('tunnel')[round]))
    return [what, Object.fromEntries(names.map(side => [side, { value: median(values(side)), ratio: ratio(side) }]))]
  })
  return Object.fromEntries(told)
}

async function run(side, workload, rounds) {
  const before = cpu(side)
  const { seconds, frames, latency } = await load(
    { ...workload, rounds, port: side.port, key: KEY },
    'realtime-load.mjs',
  )
  return {
    rate: frames / seconds,
    latency: latency[Math.floor(latency.length / 2)],
    cpu: (cpu(side) - before) / frames,
  }
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}

function show() {
  console.log(`medians of ${ROUNDS} rounds, and their ratios to the bare tunnel`)
  const cells = { rate: 'frames/s', latency: 'µs a round trip', cpu: 'µs CPU a frame' }
  for (const [workload, result] of Object.entries(results)) {
    console.log(workload)
    for (const name of names) {
      const shown = Object.entries(cells).map(([what, unit]) => {
        const { value, ratio } = result[what][name]
        return `${value.toFixed(what === 'cpu' ? 2 : 0)} ${unit} (${ratio.toFixed(2)})`.padEnd(28)
      })
      console.log(`  ${name.padEnd(12)}${shown.join('').trimEnd()}`)
    }
  }
}
