import { once } from 'node:events'
import { connect } from 'node:http2'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { Http2Exchange } from '../../src/net/http2-exchange.js'
import type { UpstreamController } from '../../src/transport/client/handler.js'
import { Journal } from '../helpers/journal.js'

const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6 }
const END_STREAM = 1
const ACK = 1
const END_HEADERS = 4
const PREFACE_BYTES = 24
const FRAME_HEAD_BYTES = 9
/** The only stream. */
const STREAM = 1

function frame(type: number, flags: number, payload: Buffer, stream = STREAM): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** `:status: 200`, by its place in the static table of HPACK, and perhaps `content-length`. */
function head(length = ''): Buffer {
  const field = length === '' ? Buffer.alloc(0) : Buffer.from(`\x0f\x0d${String.fromCharCode(length.length)}${length}`)
  return frame(FRAME.headers, END_HEADERS, Buffer.concat([Buffer.from([0x88]), field]))
}

const part = frame(FRAME.data, 0, Buffer.from('part'))
const last = frame(FRAME.data, END_STREAM, Buffer.from('last'))

function reset(code: number): Buffer {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(code)
  return frame(FRAME.reset, 0, payload)
}

/** A server that answers the first request with these bytes, as soon as its head has come. */
async function startServer(test: Test, answer: Buffer, resets?: Journal<number>): Promise<string> {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => undefined).write(frame(FRAME.settings, 0, Buffer.alloc(0), 0))
    let received: Buffer = Buffer.alloc(0)
    let at = PREFACE_BYTES
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes])
      while (received.length >= at + FRAME_HEAD_BYTES) {
        const end = at + FRAME_HEAD_BYTES + received.readUIntBE(at, 3)
        if (received.length < end) return
        if (received[at + 3] === FRAME.headers) socket.write(answer)
        const payload = received.subarray(at + FRAME_HEAD_BYTES, end)
        if (received[at + 3] === FRAME.reset) resets?.push(payload.readUInt32BE())
        if (received[at + 3] === FRAME.ping) socket.write(frame(FRAME.ping, ACK, payload, 0))
        at = end
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Settings {
  readonly body?: Readable | Buffer
  readonly paused?: boolean
  /** Codes of the resets that the server gets. The exchange must end its stream by one. */
  readonly resets?: Journal<number>
}

/** What the handler of a request hears last. If `paused`, it reads only when all has come; the body continues by then. */
async function heard(
  test: Test,
  answer: readonly Buffer[],
  { body, paused = false, resets }: Settings = {},
): Promise<string> {
  const origin = await startServer(test, Buffer.concat(answer), resets)
  const session = connect(origin)
  test.teardown(() => session.destroy())
  await once(session, 'connect')
  const ends = new Journal<string>('ends')
  let text = ''
  const request = { method: 'POST', path: '/', headers: [], body: body ?? Buffer.from('x') }
  const exchange = new Http2Exchange(request, {
    onRequestStart: () => undefined,
    onResponseStart: (controller: UpstreamController) => {
      if (!paused) return
      controller.pause()
      session.ping(() => {
        if (body instanceof Readable) body.push('more')
        setImmediate(() => controller.resume())
      })
    },
    onResponseData: (_controller: UpstreamController, bytes: Buffer) => {
      text += bytes.toString()
    },
    onResponseEnd: () => ends.push(`${text} whole`),
    onResponseError: (_controller: UpstreamController, cause: Error & { code?: string }) =>
      ends.push(`${text} ${cause.code}`),
  })
  const streams = new Journal<boolean>('ends of the stream')
  exchange.onEnd = isRefused => streams.push(isRefused)
  exchange.begin(session, new URL(origin))
  await ends.count(1)
  if (resets !== undefined) await Promise.all([streams.count(1), resets.count(1)])
  return ends.items.join()
}

for (const paused of [false, true]) {
  t.test(`an answer is whole if its upstream ended it itself${paused ? ', also behind a pause' : ''}`, async t => {
    t.equal(await heard(t, [head(), part, last], { paused }), 'partlast whole')
    t.equal(await heard(t, [head(), part, last, reset(0)], { paused }), 'partlast whole')
    t.equal(await heard(t, [head('8'), part, last], { paused }), 'partlast whole')
    t.equal(await heard(t, [head(), part, reset(0)], { paused }), 'part CONNECTION_CLOSED')
    t.equal(await heard(t, [head('4'), part, reset(0)], { paused }), 'part CONNECTION_CLOSED')
    t.equal(await heard(t, [head(), reset(0)], { paused }), ' CONNECTION_CLOSED')
  })
}

t.test('a reset before the head is an error', async t => {
  t.equal(await heard(t, [reset(0)]), ' CONNECTION_CLOSED')
})

t.test('an answer that is shorter than its length is an error', async t => {
  t.match(await heard(t, [head('9'), part, last]), /ERR_HTTP2_STREAM_ERROR/)
})

t.test('an early answer is whole, and the rest of the request is not sent', async t => {
  for (const paused of [false, true]) {
    const body = new Readable({ read: () => undefined })
    body.push('begun')
    t.equal(await heard(t, [head(), part, last, reset(0)], { body, paused }), 'partlast whole')
  }
})

t.test('an answer that is whole ends the stream, although its request is not', async t => {
  const CANCEL = 8
  const unread = Buffer.alloc(1_000_000)
  for (const body of [new Readable({ read: () => undefined }), unread]) {
    const resets = new Journal<number>('resets')
    t.equal(await heard(t, [head(), part, last], { body, resets }), 'partlast whole')
    t.same(resets.items, [CANCEL])
    if (body instanceof Readable) t.notOk(body.readableFlowing, 'nothing more is read of it')
  }
})
