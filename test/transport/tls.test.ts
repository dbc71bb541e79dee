import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { ClientPool } from '../../src/transport/client/pool.js'
import { certificate } from '../helpers/certificates.js'
import { turn } from '../helpers/raw-upstream.js'
import { ask, begin } from './heard.js'

const DAY_MS = 86_400_000
const { cert, key } = certificate('localhost', new Date(Date.now() - DAY_MS), new Date(Date.now() + DAY_MS))

interface Handshake {
  readonly name: unknown
  readonly protocol: unknown
  readonly isReused: boolean
}

type Answer = Parameters<typeof createServer>[1]

/** An upstream of Node's own with a certificate made here, and a pool of connections to it. */
async function stage(
  t: Test,
  host: string,
  answer: Answer,
): Promise<{ pool: ClientPool; sockets: TLSSocket[]; shaken: Handshake[] }> {
  const server = createServer({ cert, key }, answer)
  const sockets: TLSSocket[] = []
  const shaken: Handshake[] = []
  server.on('secureConnection', (socket: TLSSocket & { readonly servername?: unknown }) => {
    sockets.push(socket)
    shaken.push({ name: socket.servername, protocol: socket.alpnProtocol, isReused: socket.isSessionReused() })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const pool = new ClientPool(`https://${host}:${(server.address() as AddressInfo).port}`, 5000)
  t.teardown(async () => {
    await pool.destroy()
    server.closeAllConnections()
    server.close()
  })
  return { pool, sockets, shaken }
}

/** Node reads this whenever it opens a connection. */
function trustAll(t: Test): void {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.teardown(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  })
}

t.test('a certificate that no one vouches for is an error before anything is sent', async t => {
  let requests = 0
  const { pool } = await stage(t, 'localhost', () => requests++)
  t.match(await ask(pool), { calls: ['error'], error: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } })
  t.equal(requests, 0)
  t.equal(pool.size, 0)
})

t.test('connections name their host, speak HTTP/1.1, and resume the session of the one before', async t => {
  trustAll(t)
  const { pool, shaken } = await stage(t, 'localhost', (_request, response) =>
    response.writeHead(200, { connection: 'close' }).end('ok'),
  )
  for (let i = 0; i < 3; i++) t.equal((await ask(pool)).body, 'ok')
  const [name, protocol] = ['localhost', 'http/1.1']
  t.strictSame(shaken, [
    { name, protocol, isReused: false },
    { name, protocol, isReused: true },
    { name, protocol, isReused: true },
  ])
})

t.test('an address is not named', async t => {
  trustAll(t)
  const { pool, shaken } = await stage(t, '127.0.0.1', (_request, response) => response.end('ok'))
  t.equal((await ask(pool)).body, 'ok')
  t.equal((await ask(pool)).body, 'ok')
  t.strictSame(shaken, [{ name: false, protocol: 'http/1.1', isReused: false }])
})

t.test('large bodies pass both ways, with a pause in each piece', async t => {
  trustAll(t)
  const body = Buffer.alloc(3 * 1024 * 1024, 'abcdefg')
  const { pool } = await stage(t, 'localhost', (request, response) => {
    response.writeHead(200, { 'content-length': body.length })
    request.pipe(response)
  })
  const heard = begin(
    pool,
    { method: 'POST', body },
    {
      data: one => {
        one.controller?.pause()
        const before = one.calls.length
        turn().then(() => {
          if (one.calls.length !== before) t.fail('handed over in a pause')
          one.controller?.resume()
        })
      },
    },
  )
  await heard.over
  t.equal(heard.error, undefined)
  t.ok(Buffer.concat(heard.chunks).equals(body))
})

t.test('an upstream that ends its connection in the answer is an error, and idle it is not used again', async t => {
  trustAll(t)
  const { pool, sockets } = await stage(t, 'localhost', (request, response) => {
    if (request.url === '/cut')
      response.writeHead(200, { 'content-length': 5 }).write('abc', () => sockets.at(-1)?.end())
    else response.end('ok')
  })
  t.equal((await ask(pool)).body, 'ok')
  t.match(await ask(pool, { path: '/cut' }), { body: 'abc', error: { code: 'CONNECTION_CLOSED' } })
  t.equal((await ask(pool)).body, 'ok')
  const idle = sockets.at(-1)
  const closed = new Promise(settle => idle?.once('close', settle))
  idle?.end()
  await closed
  t.equal((await ask(pool)).body, 'ok')
  t.equal(sockets.length, 3)
})

/** Its answers may be here before TLS says that their requests are taken: the event loop of the pool does not wait for it. */
const ELSEWHERE = `
const { createServer } = require('node:https')
const { parentPort, workerData } = require('node:worker_threads')
let connections = 0
const server = createServer(workerData, (request, response) => request.resume().on('end', () => response.end('ok')))
server.on('secureConnection', () => connections++)
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
parentPort.on('message', () => parentPort.postMessage(connections))
`

t.test('connections are used again, however fast an upstream answers', async t => {
  trustAll(t)
  const upstream = new Worker(ELSEWHERE, { eval: true, workerData: { cert, key } })
  const [port] = (await once(upstream, 'message')) as [number]
  const pool = new ClientPool(`https://localhost:${port}`, 5000)
  t.teardown(async () => {
    await pool.destroy()
    await upstream.terminate()
  })
  const AT_ONCE = 16
  const client = async (): Promise<void> => {
    for (let n = 0; n < 100; n++)
      t.equal((await ask(pool, { method: 'POST', body: Buffer.alloc(300, 'x') })).body, 'ok')
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
  upstream.postMessage('connections')
  const [connections] = (await once(upstream, 'message')) as [number]
  t.ok(connections <= AT_ONCE, `${connections} connections`)
})
