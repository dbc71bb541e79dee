// Large requests at once: how long small requests take meanwhile, and the most memory that the process ever has. A fresh
// gateway for each lane.
// usage: node bench/uploads.mjs [--quick] [LANE …]     CLIENTS=20 MIB=20; writes bench/out/uploads.json
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { Worker } from 'node:worker_threads'
import { cores, KEY, startProbedGateway, startUploadUpstream, stop, stopAll } from './processes.mjs'

const quick = process.argv.includes('--quick')
const CLIENTS = Number(process.env.CLIENTS ?? (quick ? 3 : 20))
const MIB = Number(process.env.MIB ?? (quick ? 2 : 20))
const wanted = process.argv.slice(2).filter(arg => !arg.startsWith('--'))
const lanes = wanted.length > 0 ? wanted : ['form', 'document', 'relay']

const upstream = await startUploadUpstream()
const rows = {}
for (const lane of lanes) {
  const row = await measure(lane)
  rows[lane] = row
  const { statuses, seconds, before, most, after, p50, p99, longest } = row
  console.log(
    `${lane.padEnd(10)} ${CLIENTS} × ${MIB} MiB in ${seconds.toFixed(1)} s, ${JSON.stringify(statuses)}; process ` +
      `${before.toFixed(0)} → ${most.toFixed(0)} MiB at most, ${after.toFixed(0)} after; small requests ` +
      `p50 ${p50.toFixed(0)}, p99 ${p99.toFixed(0)}, longest ${longest.toFixed(0)} ms`,
  )
}
await stopAll()
mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, clients: CLIENTS, mib: MIB, rows }
writeFileSync(new URL('out/uploads.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)

async function measure(lane) {
  const gateway = await startProbedGateway(upstream.port, 'uploads.yaml')
  for (let round = 0; round < 30; round += 1) await small(gateway)
  const before = memory(gateway, 'VmRSS')
  const workerData = { port: gateway.port, key: KEY, lane, mib: MIB, clients: CLIENTS }
  const clients = new Worker(new URL('upload-clients.mjs', import.meta.url), { workerData })
  let isOver = false
  const ended = once(clients, 'message').finally(() => {
    isOver = true
  })
  const times = []
  while (!isOver) times.push(await small(gateway))
  const [{ answers, seconds }] = await ended
  times.sort((a, b) => a - b)
  const most = memory(gateway, 'VmHWM')
  await gateway.ask('heap')
  const after = memory(gateway, 'VmRSS')
  await stop(gateway)
  const statuses = {}
  for (const status of answers) statuses[status] = (statuses[status] ?? 0) + 1
  const [p50, p99] = [0.5, 0.99].map(share => times[Math.floor(times.length * share)])
  return { statuses, seconds, before, most, after, p50, p99, longest: times.at(-1) }
}

/** Milliseconds that a small request takes which is translated. */
function small({ port }) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const options = { host: '127.0.0.1', port, path: '/v1/chat/completions', method: 'POST', headers }
  const since = performance.now()
  return new Promise((resolve, reject) => {
    const sent = request(options, answer => answer.resume().on('end', () => resolve(performance.now() - since)))
    sent.on('error', reject)
    sent.end(JSON.stringify({ model: 'm-messages', messages: [{ role: 'user', content: 'hi' }] }))
  })
}

/** Resident memory of a process in MiB: now (`VmRSS`) or ever (`VmHWM`). */
function memory({ pid }, field) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
}
