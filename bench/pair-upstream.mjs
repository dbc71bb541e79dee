// An upstream of all text protocols on raw sockets, with fixed answers: a document, or a stream with one write an
// event and one event every millisecond. Streams stop and stay open after HOLD events, where that is given.
// usage: node bench/pair-upstream.mjs PORT [HOLD]
import { createServer } from 'node:net'
import { PROTOCOLS, protocolOf } from './protocols.mjs'

/** Of ASCII, or of the bytes of binary messages, a character each. */
const chunk = text => `${text.length.toString(16)}\r\n${text}\r\n`
const bytesOf = text => Buffer.from(text, 'latin1')
const answers = new Map(
  Object.values(PROTOCOLS).map(protocol => {
    const body = JSON.stringify(protocol.document)
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
    const stream = `HTTP/1.1 200 OK\r\ncontent-type: ${protocol.type ?? 'text/event-stream'}\r\ntransfer-encoding: chunked\r\n\r\n`
    return [
      protocol,
      {
        document: Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
        start: bytesOf(stream + (protocol.start === '' ? '' : chunk(protocol.start))),
        deltas: protocol.deltas.map(delta => bytesOf(chunk(delta))),
        end: bytesOf(`${chunk(protocol.end)}0\r\n\r\n`),
      },
    ]
  }),
)
const streams = new Map()
const hold = process.argv[3] === undefined ? Number.POSITIVE_INFINITY : Number(process.argv[3])

createServer({ noDelay: true }, socket => {
  let held = Buffer.alloc(0)
  socket.on('error', () => undefined)
  socket.on('close', () => streams.delete(socket))
  socket.on('data', bytes => {
    held = held.length === 0 ? bytes : Buffer.concat([held, bytes])
    const end = held.indexOf('\r\n\r\n')
    if (end === -1) return
    const head = held.latin1Slice(0, end)
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
    if (held.length < end + 4 + length) return
    const body = held.latin1Slice(end + 4, end + 4 + length)
    held = Buffer.alloc(0)
    const [, path] = head.split(' ', 2)
    const answer = answers.get(protocolOf(path))
    if (!/streamGenerateContent|converse-stream/.test(path) && !body.includes('"stream":true')) {
      socket.write(answer.document)
      return
    }
    socket.write(answer.start)
    streams.set(socket, { answer, next: 0 })
  })
}).listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'))

setInterval(() => {
  for (const [socket, stream] of streams) {
    const delta = stream.answer.deltas[stream.next]
    stream.next += 1
    socket.write(delta ?? stream.answer.end)
    // Those that stop cost nothing: thousands of them stay open.
    if (delta === undefined || stream.next >= hold) streams.delete(socket)
  }
}, 1)
