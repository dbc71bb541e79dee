// What the gateway holds for each of 10,000 streams that are silent after their first event: resident memory of the process,
// and what of it is on the heap and in buffers, after collections. Where there are too few descriptors, as many as fit.
// usage: node bench/idle.mjs [--quick]     STREAMS=10000; writes bench/out/idle.json
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { cores, KEY, startPairUpstream, startProbedGateway, stopAll } from './processes.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const WANTED = Number(process.env.STREAMS ?? (quick ? 200 : 10_000))
/** Streams that are opened at a time: they fit into the queue of a listener. */
const AT_A_TIME = 100
/** Each stream takes two descriptors of the gateway, which keeps some 1,000 back (`runtime/descriptors.ts`). */
const SPARE_DESCRIPTORS = 1500

const limit = Number(spawnSync('sh', ['-c', 'ulimit -n']).stdout) || Number.POSITIVE_INFINITY
const count = Math.min(WANTED, Math.floor((limit - SPARE_DESCRIPTORS) / 2))
if (count < WANTED) console.log(`${count} of ${WANTED} streams: a process may have ${limit} descriptors (ulimit -n)`)

const upstream = await startPairUpstream(1)
const gateway = await startProbedGateway(upstream.port, 'idle.yaml')
const body = chatRequest(300, { stream: true })
const head = [
  'POST /v1/chat/completions HTTP/1.1',
  'host: 127.0.0.1',
  `authorization: Bearer ${KEY}`,
  'content-type: application/json',
  `content-length: ${body.length}`,
]
const request = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])

// What a process takes once is not of any stream.
await open(AT_A_TIME)
const before = await gateway.ask('heap')
for (let opened = 0; opened < count - AT_A_TIME; opened += AT_A_TIME)
  await open(Math.min(AT_A_TIME, count - AT_A_TIME - opened))
const after = await gateway.ask('heap')
await stopAll()

const measured = count - AT_A_TIME
const each = key => (key(after) - key(before)) / measured / 1024
const kib = each(({ rss }) => rss)
const heap = each(({ heapUsed }) => heapUsed)
const buffers = each(({ external }) => external)
mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, quick, count, kib, heap, buffers }
writeFileSync(new URL('out/idle.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)
console.log(
  `${count} idle streams: ${kib.toFixed(1)} KiB each, of which ${heap.toFixed(1)} on the heap and ${buffers.toFixed(1)} in buffers`,
)

/** Opens streams and waits for the first event of each. */
function open(streams) {
  return Promise.all(Array.from({ length: streams }, openOne))
}

async function openOne() {
  const socket = connect({ host: '127.0.0.1', port: gateway.port })
  socket.on('error', () => undefined)
  socket.write(request)
  let text = ''
  while (!text.includes(' token')) {
    text += (await once(socket, 'data'))[0].toString('latin1')
    if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(`not a stream: ${text}`)
  }
}
