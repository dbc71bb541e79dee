// Slow readers of streams that an upstream pushes as fast as it is let: what the gateway holds for each of them, how long
// /livez takes meanwhile, and what is left when they have gone. A fresh gateway for each lane.
// Resident memory has two figures. `slope` is what a stream takes: the growth of the peak when as many readers come again,
// for each of them. `rss` is the first growth for each reader: 25 to 65 MiB of it come with the first hundred readers and
// not again (the young generation of the heap at its full size, compiled code, buffers that wait for a collection and the
// allocator's room for them). Of `background`, 65 run at once; the others are refused.
// `idle`: the p99 of /livez of an idle gateway in the same time, for what else the machine does; `ratio`: to it.
// usage: node bench/readers.mjs [--quick] [LANE …]     READERS=200 MIB=200 SECONDS=60 SAID=1; writes bench/out/readers.json
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { cores, folder, KEY, rss, startProbedGateway, startPushingUpstream, stop, stopAll } from './processes.mjs'

const quick = process.argv.includes('--quick')
const READERS = Number(process.env.READERS ?? (quick ? 10 : 200))
const MIB = Number(process.env.MIB ?? 200)
/** Shortest time that readers read: /livez is asked all the while. */
const LEAST_SECONDS = quick ? 0 : 20
/** Longest time that is given to the upstream until nothing more is taken of it. */
const SECONDS = Number(process.env.SECONDS ?? (quick ? 5 : 60))
const BYTES_A_SECOND = 1024
/** Characters that each event of text says. */
const SAID = Number(process.env.SAID ?? 1)

// Streams of converse are binary: test/faults/slow-readers.test.ts holds readers of theirs back. A lane here takes a minute.
const PROTOCOLS = ['chat', 'responses', 'messages', 'generate']
const content = [{ role: 'user', content: 'hi' }]
const post = (path, body) => ({ method: 'POST', path, body: JSON.stringify(body) })
const CLIENTS = {
  chat: model => post('/v1/chat/completions', { model, stream: true, messages: content }),
  responses: model => post('/v1/responses', { model, stream: true, input: 'hi' }),
  messages: model => post('/v1/messages', { model, stream: true, max_tokens: 9, messages: content }),
  generate: model =>
    post(`/v1beta/models/${model}:streamGenerateContent?alt=sse`, { contents: [{ parts: [{ text: 'hi' }] }] }),
}
const array = model =>
  post(`/v1beta/models/${model}:streamGenerateContent`, { contents: [{ parts: [{ text: 'hi' }] }] })

const LANES = {}
for (const upstream of PROTOCOLS) {
  for (const client of PROTOCOLS) LANES[`${client} < ${upstream}`] = () => CLIENTS[client](`m-${upstream}`)
}
Object.assign(LANES, {
  'chat, changed': () => CLIENTS.chat('m-changed'),
  'generate array < generate': () => array('m-generate'),
  'generate array < chat': () => array('m-chat'),
  'responses, unstored': () => post('/v1/responses', { model: 'm-responses', stream: true, store: false, input: 'hi' }),
  background: () => post('/v1/responses', { model: 'm-chat', stream: true, background: true, input: 'hi' }),
  'socket < responses': () => socket('/v1/responses', { type: 'response.create', model: 'm-responses', input: 'hi' }),
  'socket < chat': () => socket('/v1/responses', { type: 'response.create', model: 'm-chat', input: 'hi' }),
  'realtime raw': () => socket('/v1/realtime?model=m-others'),
  'realtime raw, tiny': () => socket('/v1/realtime?model=tiny'),
  'realtime framed': () => socket('/v1/realtime?model=m-others'),
  'realtime framed, tiny': () => socket('/v1/realtime?model=tiny'),
  images: () => post('/v1/images/generations', { model: 'm-others', prompt: 'x', stream: true, partial_images: 2 }),
  transcripts: () => form('/v1/audio/transcriptions', { model: 'm-others', stream: 'true', file: 'x'.repeat(100) }),
  speech: () => post('/v1/audio/speech', { model: 'm-others', input: 'x', voice: 'alloy' }),
  files: async origin => {
    const { path, headers, body } = form('/v1/files', { purpose: 'user_data', file: 'x' })
    const auth = { authorization: `Bearer ${KEY}` }
    const made = await (await fetch(origin + path, { method: 'POST', headers: { ...headers, ...auth }, body })).json()
    return { method: 'GET', path: `/v1/files/${made.id}/content`, body: '' }
  },
})

const wanted = process.argv.slice(2).filter(arg => !arg.startsWith('--'))
const lanes = Object.keys(LANES).filter(name => wanted.length === 0 || wanted.some(word => name.includes(word)))
const rows = []
console.log(`${READERS} readers of ${BYTES_A_SECOND} bytes a second, ${MIB} MiB each; KiB a stream, ms`)
console.log(
  `${'lane'.padEnd(28)}${['slope', 'rss', 'heap+ext', 'left', 'pushed', 'p50', 'p99', 'most', 'idle', 'ratio', 'loop', 'loop p99', 'heap'].map(w => w.padStart(9)).join('')}`,
)
for (const lane of lanes) {
  const row = await measure(lane)
  rows.push({ lane, ...row })
  console.log(
    lane.padEnd(28) +
      Object.values(row)
        .map(value => value.toFixed(0).padStart(9))
        .join(''),
  )
}
await stopAll()
mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, readers: READERS, mib: MIB, rows }
writeFileSync(new URL('out/readers.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)

async function measure(lane) {
  const upstream = await startPushingUpstream(MIB, SAID)
  const file = join(folder, `readers-${rows.length}.yaml`)
  const yaml = readFileSync(new URL('readers.yaml', import.meta.url), 'utf8')
  writeFileSync(file, yaml.replace('@TUNNEL@', lane.includes('framed') ? 'framed' : 'raw'))
  const gateway = await startProbedGateway(upstream.port, file)
  const origin = `http://127.0.0.1:${gateway.port}`
  const idle = await startProbedGateway(upstream.port, file)
  const asked = await LANES[lane](origin)
  await warm(gateway, asked)
  const before = await gateway.ask('heap')
  const pushedBefore = await pushed(upstream)
  await gateway.ask('reset')
  const probe = probing(gateway, idle)
  const readers = await Promise.all(Array.from({ length: READERS }, () => read(gateway, asked)))
  const { most, last } = await settle(gateway, upstream, LEAST_SECONDS)
  const [times, idleTimes] = (await probe.stop()).map(one => one.toSorted((a, b) => a - b))
  const during = await gateway.ask('heap')
  readers.push(...(await Promise.all(Array.from({ length: READERS }, () => read(gateway, asked)))))
  const twice = await settle(gateway, upstream, 0)
  await Promise.all(readers.map(leave))
  await setTimeout(500)
  const after = await gateway.ask('heap')
  await stop(gateway)
  await stop(idle)
  await stop(upstream)
  const kib = bytes => bytes / 1024 / READERS
  return {
    slope: kib((twice.most - most) * 1024 * 1024),
    rss: kib(most * 1024 * 1024 - before.rss),
    held: kib(during.heapUsed + during.external - before.heapUsed - before.external),
    left: kib(after.heapUsed + after.external - before.heapUsed - before.external),
    pushed: kib(last - pushedBefore),
    p50: times[Math.floor(times.length / 2)],
    p99: p99(times),
    most: times.at(-1),
    idle: p99(idleTimes),
    ratio: p99(times) / p99(idleTimes),
    loop: during.pause,
    usual: during.usual,
    heap: kib(during.heapUsed - before.heapUsed),
  }
}

function p99(sorted) {
  return sorted[Math.floor(sorted.length * 0.99)]
}

/** Until nothing more is taken of the upstream: the most memory in MiB, and what the upstream has pushed. */
async function settle(gateway, upstream, least) {
  let most = 0
  let last = -1
  let still = 0
  for (let second = 0; second < SECONDS && (still < 3 || second < least); second += 1) {
    await setTimeout(1000)
    most = Math.max(most, rss(gateway))
    const now = await pushed(upstream)
    still = now - last < 1024 * 1024 ? still + 1 : 0
    last = now
  }
  return { most, last }
}

/** The first streams cost more than those that follow. */
async function warm(gateway, asked) {
  for (let round = 0; round < 3; round += 1) {
    const reader = await read(gateway, asked)
    await setTimeout(100)
    await leave(reader)
  }
  await setTimeout(300)
}

async function pushed(upstream) {
  return Number(await (await fetch(`http://127.0.0.1:${upstream.port}/pushed`)).text())
}

async function read(gateway, { method, path, headers = {}, body, message }) {
  const socket = connect({ host: '127.0.0.1', port: gateway.port, readableHighWaterMark: 1024 })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const lines = Object.entries({ host: 'x', authorization: `Bearer ${KEY}`, ...headers })
  if (body !== undefined) lines.push(['content-length', Buffer.byteLength(body)])
  if (headers['content-type'] === undefined) lines.push(['content-type', 'application/json'])
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n${body ?? ''}`)
  await once(socket, 'readable')
  if (process.env.VERBOSE) console.log(String(socket.read(300)))
  if (message !== undefined) socket.write(message)
  const timer = setInterval(() => socket.read(Math.min(BYTES_A_SECOND, socket.readableLength)), 1000)
  return { socket, timer }
}

async function leave({ socket, timer }) {
  clearInterval(timer)
  if (socket.destroyed) return
  const closed = new Promise(resolve => socket.once('close', resolve))
  socket.destroy()
  await closed
}

/** Asks for /livez of each until it is stopped. */
function probing(...gateways) {
  const thread = new Worker(new URL('livez.mjs', import.meta.url), { workerData: gateways.map(({ port }) => port) })
  return {
    stop: async () => {
      thread.postMessage('stop')
      const [times] = await once(thread, 'message')
      await thread.terminate()
      return times
    },
  }
}

function form(path, fields) {
  const boundary = 'b0undary'
  const parts = Object.entries(fields).map(([name, value]) => {
    const file = name === 'file' ? '; filename="a.wav"\r\ncontent-type: audio/wav' : ''
    return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
  })
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
  return { method: 'POST', path, headers, body: `${parts.join('')}--${boundary}--\r\n` }
}

/** A WebSocket's handshake, and a masked message that follows. */
function socket(path, document) {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  }
  if (document === undefined) return { method: 'GET', path, headers }
  const text = Buffer.from(JSON.stringify(document))
  const head = Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0])
  return { method: 'GET', path, headers, message: Buffer.concat([head, text]) }
}
