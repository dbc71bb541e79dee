// The load of the realtime bench, in a process of its own: WebSockets that send a frame, or `window` of them, and wait for
// as many answers. Reads one job (JSON) on stdin and prints { seconds, frames, latency: sorted microseconds }.
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { clientFrame } from './realtime-frames.mjs'

const job = JSON.parse(await text(process.stdin))
const burst = Buffer.concat(Array(job.window).fill(clientFrame(job.up)))
const expected = job.window * job.down
const latency = []

const sockets = await Promise.all(Array.from({ length: job.connections }, open))
const started = process.hrtime.bigint()
await Promise.all(sockets.map(talk))
const seconds = Number(process.hrtime.bigint() - started) / 1e9
for (const socket of sockets) socket.destroy()
const frames = 2 * job.connections * job.rounds * job.window
console.log(JSON.stringify({ seconds, frames, latency: latency.sort((a, b) => a - b) }))

async function open() {
  const socket = connect({ host: '127.0.0.1', port: job.port, noDelay: true })
  await once(socket, 'connect')
  const path = `/v1/realtime?model=bench&up=${job.up}&down=${job.down}`
  const fields = ['host: bench', `authorization: Bearer ${job.key}`, 'connection: Upgrade', 'upgrade: websocket']
  fields.push('sec-websocket-version: 13', 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==')
  socket.write(`GET ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)
  let head = ''
  while (!head.includes('\r\n\r\n')) head += (await once(socket, 'data'))[0].toString('latin1')
  if (!head.startsWith('HTTP/1.1 101 ')) throw new Error(head)
  return socket
}

function talk(socket) {
  return new Promise((resolve, reject) => {
    let rounds = 0
    let seen = 0
    let sent = 0n
    const next = () => {
      if (rounds === job.rounds) return resolve()
      rounds += 1
      sent = process.hrtime.bigint()
      socket.write(burst)
    }
    socket.on('data', bytes => {
      seen += bytes.length
      if (seen < expected) return
      seen -= expected
      latency.push(Number(process.hrtime.bigint() - sent) / 1e3)
      next()
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the connection was closed')))
    next()
  })
}
