// The load: a closed loop of keep-alive connections, in a process of its own. Reads one job (JSON) on stdin and prints
// its result: { seconds, requests, latency: sorted milliseconds, cpu: microseconds }. Any answer but a whole 200 is an error. Of several
// `paths` each request takes the next one; without a `body` it is a GET. `more`: lines of the head. `rate`: requests a second of all connections
// together, each sent at its moment or once its connection is free; otherwise at once.
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'

const job = JSON.parse(await text(process.stdin))
const requests = (job.paths ?? [job.path ?? '/v1/chat/completions']).map(requestOf)
const latency = []
let left = job.requests

const started = process.hrtime.bigint()
await Promise.all(Array.from({ length: Math.min(job.connections, job.requests) }, connection))
const seconds = Number(process.hrtime.bigint() - started) / 1e9
const { user, system } = process.cpuUsage()
const cpu = user + system
console.log(JSON.stringify({ seconds, requests: job.requests, latency: latency.sort((a, b) => a - b), cpu }))

/** Milliseconds until the moment of the request of this number. */
function waitFor(number) {
  return (number * 1000) / job.rate - Number(process.hrtime.bigint() - started) / 1e6
}

function requestOf(path) {
  const fields = [
    `${job.body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${job.port}`,
    `authorization: Bearer ${job.key}`,
    'user-agent: bench/1.0',
    'accept: application/json',
    ...(job.more ?? []),
  ]
  if (job.body === undefined) return Buffer.from(`${fields.join('\r\n')}\r\n\r\n`, 'latin1')
  const body = Buffer.from(job.body, 'base64')
  fields.push('content-type: application/json', `content-length: ${body.length}`)
  return Buffer.concat([Buffer.from(`${fields.join('\r\n')}\r\n\r\n`, 'latin1'), body])
}

async function connection() {
  const at = { host: '127.0.0.1', port: job.port, noDelay: true }
  // Its certificate is of this run.
  const socket = job.tls ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at)
  await once(socket, job.tls ? 'secureConnect' : 'connect')
  const state = { sent: 0n, phase: 'head', left: 0, tail: '' }
  await new Promise((resolve, reject) => {
    const send = () => {
      state.phase = 'head'
      state.sent = process.hrtime.bigint()
      socket.write(requests[left % requests.length])
    }
    const next = () => {
      if (left === 0) return resolve()
      left -= 1
      const wait = job.rate === undefined ? 0 : waitFor(job.requests - left)
      if (wait > 0) setTimeout(send, wait)
      else send()
    }
    socket.on('data', bytes => {
      const ended = read(state, bytes)
      if (ended === undefined) return
      if (ended !== 'whole') return reject(new Error(ended))
      if (job.unit === 'request') latency.push(Number(process.hrtime.bigint() - state.sent) / 1e6)
      next()
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the connection was closed')))
    next()
  })
  socket.removeAllListeners('close')
  socket.destroy()
}

function read(state, bytes) {
  let body = bytes
  if (state.phase === 'head') {
    const end = bytes.indexOf('\r\n\r\n')
    const text = bytes.latin1Slice(0, end === -1 ? bytes.length : end)
    if (end === -1 || !text.startsWith('HTTP/1.1 200 ')) return `not a good answer: ${bytes.toString('latin1', 0, 600)}`
    const length = /^content-length: *(\d+)/im.exec(text)?.[1]
    state.phase = length === undefined ? 'chunked' : 'length'
    state.left = Number(length ?? 0)
    state.tail = ''
    body = bytes.subarray(end + 4)
  }
  if (job.unit === 'event') readEvents(body)
  if (state.phase === 'length') {
    state.left -= body.length
    return state.left === 0 ? 'whole' : undefined
  }
  state.tail = (state.tail + body.subarray(-7).latin1Slice()).slice(-7)
  return state.tail === '\r\n0\r\n\r\n' ? 'whole' : undefined
}

/** Every event carries the moment at which the upstream sent it; one event a read is enough. */
function readEvents(body) {
  const mark = '"system_fingerprint":"'
  const at = body.indexOf(mark) + mark.length
  if (at < mark.length || at + 20 > body.length) return
  latency.push(Number(process.hrtime.bigint() - BigInt(body.latin1Slice(at, at + 20))) / 1e6)
}
