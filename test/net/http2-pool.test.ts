import { once } from 'node:events'
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { Secret } from '../../src/core/secret.js'
import { Egress } from '../../src/net/egress.js'
import { Http2Pool } from '../../src/net/http2-pool.js'
import { Authority, withoutOpenssl } from '../helpers/authority.js'
import { inTime, Journal } from '../helpers/journal.js'
import { type Asked, ask, begin } from '../transport/heard.js'

const MB = 1_000_000

interface Relay {
  readonly port: number
  readonly connections: Journal<Socket>
  /** Passes nothing on any more between the pool and the server, but on connections that are opened later. */
  readonly freeze: () => void
  /** Passes nothing on for connections that are opened later. */
  readonly hold: () => void
}

interface Stage extends Relay {
  readonly pool: Http2Pool
  /** Streams as their heads came, unread and unanswered but for those to `/quick`. */
  readonly streams: Journal<ServerHttp2Stream>
  readonly heads: IncomingHttpHeaders[]
  readonly sessions: ServerHttp2Session[]
  readonly pings: Journal<string>
}

/** Between the pool and the server. */
async function relay(test: Test, port: number): Promise<Relay> {
  const sockets: Socket[] = []
  const connections: Relay['connections'] = new Journal('connections')
  let isHeld = false
  const server = createServer(near => {
    connections.push(near)
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.push(socket)
      socket.on('error', () => undefined)
    }
    if (!isHeld) near.pipe(far).pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const freeze = (): void => {
    for (const socket of sockets) socket.unpipe().pause()
  }
  const hold = (): void => {
    isHeld = true
  }
  return { port: (server.address() as AddressInfo).port, connections, freeze, hold }
}

/** `allowed`: streams of a connection. */
async function stage(test: Test, allowed = 100): Promise<Stage> {
  const authority = new Authority(test)
  const streams: Stage['streams'] = new Journal('streams')
  const pings: Stage['pings'] = new Journal('pings')
  const heads: IncomingHttpHeaders[] = []
  const sessions: ServerHttp2Session[] = []
  const settings = { maxConcurrentStreams: allowed }
  const server = createSecureServer({ ...authority.issue('DNS:localhost'), settings })
  server.on('session', session => {
    sessions.push(session)
    session.on('error', () => undefined).on('ping', () => pings.push('ping'))
    test.teardown(() => session.destroy())
  })
  server.on('stream', (stream, headers) => {
    heads.push(headers)
    stream.on('error', () => undefined)
    if (headers[':path'] === '/quick') {
      stream.respond()
      stream.end('quick')
    }
    streams.push(stream)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const between = await relay(test, (server.address() as AddressInfo).port)
  const ca = { path: '', content: new Secret(authority.cert) }
  const pool = new Http2Pool({
    origin: new URL(`https://localhost:${between.port}`),
    egress: new Egress({ tls: { ca }, http2: true, pool: {} }),
    connectMs: 60_000,
    idleMs: 60_000,
    ageMs: 60_000,
    byHttp1: () => test.fail('by HTTP/1.1'),
  })
  test.teardown(async () => {
    await pool.destroy()
    server.close()
  })
  return { ...between, pool, streams, heads, sessions, pings }
}

const upload = (megabytes: number): Asked => ({ method: 'POST', path: '/upload', body: Buffer.alloc(megabytes * MB) })

t.test('a body that waits for its window holds up no other answer', { skip: withoutOpenssl }, async t => {
  const { pool, streams } = await stage(t)
  const large = begin(pool, upload(12))
  await streams.count(1)
  const small = await ask(pool, { path: '/quick' })
  t.match(small, { status: 200, body: 'quick', error: undefined })
  large.controller?.abort(new Error('enough'))
})

t.test('an upstream may answer before it reads a large body', { skip: withoutOpenssl }, async t => {
  const { pool, streams } = await stage(t)
  const heard = begin(pool, upload(12))
  const [stream] = await streams.count(1)
  stream?.respond({ ':status': 429 })
  stream?.end('later')
  await heard.over
  t.match(heard, { status: 429, body: 'later', error: undefined })
})

t.test('bodies that were given up unsent count for no later request', { skip: withoutOpenssl }, async t => {
  const { pool, streams } = await stage(t)
  const given = Array.from({ length: 5 }, () => begin(pool, upload(3)))
  await streams.count(5)
  for (const heard of given) heard.controller?.abort(new Error('enough'))
  const later = await ask(pool, { path: '/quick' })
  t.match(later, { status: 200, body: 'quick', error: undefined })
})

t.test('headers of a connection of HTTP/1.1 are left out, and all others sent', { skip: withoutOpenssl }, async t => {
  const { pool, heads } = await stage(t)
  const ofConnection = ['HTTP2-Settings', 'AAMAAABk', 'TE', 'gzip', 'Upgrade', 'h2c', 'Keep-Alive', 'timeout=5']
  const others = ['X-Several', 'one', 'x-several', 'two', 'constructor', 'own', '__proto__', 'own']
  t.equal((await ask(pool, { path: '/quick', headers: [...ofConnection, ...others] })).status, 200)
  const [head = {}] = heads
  const sent = Object.keys(head).filter(name => !name.startsWith(':'))
  t.same(sent.sort(), ['__proto__', 'constructor', 'x-several'])
  t.same([head['x-several'], head.constructor], ['one, two', 'own'])
})

t.test('an upstream that allows few streams gets its connections at once', { skip: withoutOpenssl }, async t => {
  const { pool, connections, hold } = await stage(t, 1)
  t.equal((await ask(pool, { path: '/quick' })).status, 200)
  hold()
  for (let nth = 0; nth < 4; nth++) begin(pool, { path: '/slow' })
  await connections.count(4)
  t.equal(connections.items.length, 4, 'the first one serves again')
})

const SWEEP_MS = 1000
/** Sweeps of silence, until a connection is asked, and from then until it is given up. */
const SILENT_SWEEPS = 10

/** Lets the pool look at its connections so many times. */
function sweep(times: number): void {
  for (let nth = 0; nth < times; nth++) mock.timers.tick(SWEEP_MS)
}

function holdSweeps(test: Test): void {
  mock.timers.enable({ apis: ['setInterval'] })
  test.teardown(() => mock.timers.reset())
}

/** Settles when the client has read what the server sent before. */
async function flushed(session: ServerHttp2Session | undefined): Promise<void> {
  await new Promise<void>(resolve => session?.ping(() => resolve()))
}

t.test(
  'a request that was given up on a dead connection sends no other one there',
  { skip: withoutOpenssl },
  async t => {
    const { pool, sessions, freeze } = await stage(t)
    t.equal((await ask(pool, { path: '/quick' })).status, 200)
    freeze()
    begin(pool, { path: '/slow' }).controller?.abort(new Error('no answer in time'))
    t.equal((await ask(pool, { path: '/quick' })).status, 200)
    t.equal(sessions.length, 2)
  },
)

t.test('a request that was given up leaves a living connection in use', { skip: withoutOpenssl }, async t => {
  const { pool, streams, sessions, pings } = await stage(t)
  t.equal((await ask(pool, { path: '/quick' })).status, 200)
  await flushed(sessions[0])
  const slow = begin(pool, { path: '/slow' })
  await streams.count(2)
  slow.controller?.abort(new Error('no answer in time'))
  await pings.count(1)
  await flushed(sessions[0])
  t.equal((await ask(pool, { path: '/quick' })).status, 200)
  t.equal(sessions.length, 1)
})

t.test('a pool that is ended waits for no dead connection', { skip: withoutOpenssl }, async t => {
  holdSweeps(t)
  const { pool, freeze } = await stage(t)
  t.equal((await ask(pool, { path: '/quick' })).status, 200)
  freeze()
  begin(pool, { path: '/slow' }).controller?.abort(new Error('no answer in time'))
  t.equal((await ask(pool, { path: '/quick' })).status, 200)
  await inTime(pool.destroy(), () => 'it waits')
})

t.test('requests of a connection that falls silent fail', { skip: withoutOpenssl }, async t => {
  holdSweeps(t)
  const { pool, streams, sessions, freeze } = await stage(t)
  const slow = begin(pool, { path: '/slow' })
  await streams.count(1)
  await flushed(sessions[0])
  freeze()
  sweep(1 + SILENT_SWEEPS)
  t.equal((await ask(pool, { path: '/quick' })).status, 200)
  t.equal(sessions.length, 2, 'others are sent elsewhere meanwhile')
  sweep(SILENT_SWEEPS - 1)
  t.equal(slow.error, undefined)
  sweep(1)
  await slow.over
  t.match(slow.error, { code: 'CONNECTION_CLOSED' })
})

t.test('a slow answer of an upstream that is there is waited for', { skip: withoutOpenssl }, async t => {
  holdSweeps(t)
  const { pool, streams, sessions, pings } = await stage(t)
  const slow = begin(pool, { path: '/slow' })
  const [stream] = await streams.count(1)
  await flushed(sessions[0])
  let silence = SILENT_SWEEPS
  for (let nth = 1; nth <= 4; nth++) {
    sweep(silence)
    t.equal(pings.items.length, nth - 1, 'it is asked less and less often')
    sweep(1)
    await pings.count(nth)
    await flushed(sessions[0])
    silence *= 2
  }
  stream?.respond()
  stream?.end('at last')
  await slow.over
  t.match(slow, { status: 200, body: 'at last' })
  t.equal(sessions.length, 1)
})

t.test('an upstream that says goodbye still answers what it has, however slowly', { skip: withoutOpenssl }, async t => {
  holdSweeps(t)
  const { pool, streams, sessions, pings } = await stage(t)
  const slow = begin(pool, { path: '/slow' })
  const [stream] = await streams.count(1)
  sessions[0]?.goaway(0)
  await flushed(sessions[0])
  sweep(4 * SILENT_SWEEPS)
  t.equal(pings.items.length, 0)
  t.equal(slow.error, undefined)
  stream?.respond()
  stream?.end('at last')
  await slow.over
  t.match(slow, { status: 200, body: 'at last' })
})

t.test(
  'one that has just answered a ping is not asked by each request that is given up',
  { skip: withoutOpenssl },
  async t => {
    holdSweeps(t)
    const { pool, streams, sessions, pings } = await stage(t)
    t.equal((await ask(pool, { path: '/quick' })).status, 200)
    for (let nth = 2; nth < 6; nth++) {
      await flushed(sessions[0])
      const slow = begin(pool, { path: '/slow' })
      await streams.count(nth)
      slow.controller?.abort(new Error('its client has left'))
      await pings.count(1)
      await flushed(sessions[0])
      sweep(1)
    }
    t.equal(pings.items.length, 1)
    t.equal(sessions.length, 1)
  },
)

t.test('requests that wait behind bytes that cannot leave fail, too', { skip: withoutOpenssl }, async t => {
  holdSweeps(t)
  const { pool, streams, sessions, freeze } = await stage(t)
  const first = begin(pool, { path: '/slow' })
  await streams.count(1)
  for (const session of sessions) {
    session.settings({ initialWindowSize: 64 * MB })
    session.setLocalWindowSize(64 * MB)
  }
  await flushed(sessions[0])
  freeze()
  const large = begin(pool, upload(32))
  sweep(1 + 2 * SILENT_SWEEPS)
  await Promise.all([first.over, large.over])
  t.match([first.error, large.error], [{ code: 'CONNECTION_CLOSED' }, { code: 'CONNECTION_CLOSED' }])
})
