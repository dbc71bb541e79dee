// The upstream of every measurement: fixed answers on raw sockets, so that it costs as little as can be.
// A body that holds "stream":true is answered with EVENTS events, one write each, one every millisecond; a body that
// holds "user":"large" with a JSON answer of 64 KiB, any other with one of 1 KiB.
// usage: node bench/upstream.mjs PORT [CERT KEY]     with the files of a certificate over TLS
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { EVENTS, event, jsonAnswer } from './workloads.mjs'

const answer = text =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`
const SMALL = Buffer.from(answer(jsonAnswer(1024)))
const LARGE = Buffer.from(answer(jsonAnswer(65_536)))
const STREAM = Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n')
const END = Buffer.from(`e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n`)

const streams = new Map()

const [port, cert, key] = process.argv.slice(2)
const serve = socket => {
  const request = { head: Buffer.alloc(0), left: 0, state: 'head', stream: false, large: false }
  socket.on('error', () => undefined)
  socket.on('close', () => streams.delete(socket))
  socket.on('data', bytes => read(socket, request, bytes))
}
const server =
  cert === undefined
    ? createServer({ noDelay: true }, serve)
    : createTlsServer({ noDelay: true, cert: readFileSync(cert), key: readFileSync(key) }, serve)
server.listen(Number(port), '127.0.0.1', () => console.log('ready'))

setInterval(tick, 1)

function read(socket, request, bytes) {
  let rest = bytes
  if (request.state === 'head') {
    rest = request.head.length === 0 ? bytes : Buffer.concat([request.head, bytes])
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) {
      request.head = rest
      return
    }
    const head = rest.latin1Slice(0, end)
    if (/^transfer-encoding:/im.test(head)) fail(`no content-length in: ${head}`)
    // A request without a body has none.
    request.left = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
    request.state = 'body'
    request.head = Buffer.alloc(0)
    request.start = ''
    rest = rest.subarray(end + 4)
  }
  if (request.start.length < 200) request.start += rest.latin1Slice(0, Math.min(200, rest.length))
  request.left -= rest.length
  if (request.left > 0) return
  request.state = 'head'
  if (request.start.includes('"stream":true')) {
    socket.write(STREAM)
    streams.set(socket, EVENTS)
  } else socket.write(request.start.includes('"user":"large"') ? LARGE : SMALL)
}

function tick() {
  if (streams.size === 0) return
  const bytes = event(process.hrtime.bigint())
  const chunk = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
  for (const [socket, left] of streams) {
    if (left > 0) {
      socket.write(chunk)
      streams.set(socket, left - 1)
    } else {
      socket.write(END)
      streams.delete(socket)
    }
  }
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
