import { once } from 'node:events'
import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Secret } from '../../src/core/secret.js'
import { Egress } from '../../src/net/egress.js'
import { Http2Pool } from '../../src/net/http2-pool.js'
import { Authority, withoutOpenssl } from '../helpers/authority.js'
import { Journal } from '../helpers/journal.js'
import { type Asked, ask, begin } from '../transport/heard.js'

const MB = 1_000_000

interface Stage {
  readonly pool: Http2Pool
  /** Streams as their heads came, unread and unanswered but for those to `/quick`. */
  readonly streams: Journal<ServerHttp2Stream>
}

async function stage(test: Test): Promise<Stage> {
  const authority = new Authority(test)
  const streams = new Journal<ServerHttp2Stream>('streams')
  const server = createSecureServer(authority.issue('DNS:localhost'))
  server.on('session', session => test.teardown(() => session.destroy()))
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    if (headers[':path'] === '/quick') {
      stream.respond()
      stream.end('quick')
    }
    streams.push(stream)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const ca = { path: '', content: new Secret(authority.cert) }
  const pool = new Http2Pool({
    origin: new URL(`https://localhost:${(server.address() as AddressInfo).port}`),
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
  return { pool, streams }
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
