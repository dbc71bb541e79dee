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
async function startServer(test: Test, answer: Buffer, requestEnds?: Journal<string>): Promise<string> {
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
        const isEnd = received[at + 3] === FRAME.data && ((received[at + 4] ?? 0) & END_STREAM) !== 0
        if (isEnd) requestEnds?.push('whole')
        if (received[at + 3] === FRAME.reset) requestEnds?.push(`reset ${payload.readUInt32BE()}`)
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
  /** The handler gives up at the first bytes of the answer. */
  readonly aborts?: boolean
  /** How the request ends for the server: `whole` (END_STREAM), or the reset that the exchange must end its stream by. */
  readonly requestEnds?: Journal<string>
}

/** What the handler of a request hears last. If `paused`, it reads only when all has come; the body continues by then. */
async function heard(
  test: Test,
  answer: readonly Buffer[],
  { body, paused = false, aborts = false, requestEnds }: Settings = {},
): Promise<string> {
  const origin = await startServer(test, Buffer.concat(answer), requestEnds)
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
    onResponseData: (controller: UpstreamController, bytes: Buffer) => {
      text += bytes.toString()
      if (aborts) controller.abort(Object.assign(new Error('given up'), { code: 'GIVEN_UP' }))
    },
    onResponseEnd: () => ends.push(`${text} whole`),
    onResponseError: (_controller: UpstreamController, cause: Error & { code?: string }) =>
      ends.push(`${text} ${cause.code}`),
  })
  const streams = new Journal<boolean>('ends of the stream')
  exchange.onEnd = isRefused => streams.push(isRefused)
  exchange.begin(session, new URL(origin))
  await ends.count(1)
  if (requestEnds !== undefined) await Promise.all([streams.count(1), requestEnds.count(1)])
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

const CANCEL = 8

t.test('an answer that is whole ends the stream, although its request is not', async t => {
  const unread = Buffer.alloc(1_000_000)
  for (const body of [new Readable({ read: () => undefined }), unread]) {
    const requestEnds = new Journal<string>('ends of the request')
    t.equal(await heard(t, [head(), part, last], { body, requestEnds }), 'partlast whole')
    t.same(requestEnds.items, [`reset ${CANCEL}`])
    if (body instanceof Readable) t.notOk(body.readableFlowing, 'nothing more is read of it')
  }
})

t.test('a request that is given up half-way is not whole for its upstream', async t => {
  const body = new Readable({ read: () => undefined })
  body.push('begun')
  const requestEnds = new Journal<string>('ends of the request')
  t.equal(await heard(t, [head(), part], { body, aborts: true, requestEnds }), 'part GIVEN_UP')
  t.same(requestEnds.items, [`reset ${CANCEL}`])
})
