import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import type { Limits } from '../../src/core/limits.js'
import type { HttpExchange } from '../../src/transport/exchange.js'
import { FastExchange } from '../../src/transport/server/fast-exchange.js'
import { certificate } from '../helpers/certificates.js'
import { echo, type Rig, startRig, Talk, turns } from './server-rig.js'

/** A rig whose handler notes its exchanges, for the test to answer. */
interface Stage {
  readonly rig: Rig
  /** The exchange after those that were taken. */
  next(): Promise<Asked>
}

/** An exchange, what came of its body, and how it ended. */
class Asked {
  readonly exchange: HttpExchange
  body = ''
  readonly ended: Promise<void>
  readonly gone: Promise<void>
  readonly closed: Promise<void>

  constructor(exchange: HttpExchange) {
    this.exchange = exchange
    this.closed = new Promise(resolve => {
      exchange.onClose = resolve
    })
    let [end, gone] = [(): void => undefined, (): void => undefined]
    this.ended = new Promise(resolve => {
      end = resolve
    })
    this.gone = new Promise(resolve => {
      gone = resolve
    })
    exchange.receive({
      data: chunk => {
        this.body += chunk.toString('latin1')
      },
      end: () => end(),
      gone: () => gone(),
    })
  }
}

async function onStage(t: Test, transport: 'fast' | 'node', limits: Partial<Limits> = {}): Promise<Stage> {
  const waiting: Asked[] = []
  let wake = (): void => undefined
  const handler = (exchange: HttpExchange): void => {
    if (transport === 'fast') t.ok(exchange instanceof FastExchange, 'the fast path has it')
    waiting.push(new Asked(exchange))
    wake()
  }
  const rig = await startRig(t, transport, handler, limits)
  const next = async (): Promise<Asked> => {
    while (waiting.length === 0) {
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
    return waiting.shift() as Asked
  }
  return { rig, next }
}

const GET = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'
const post = (length: number, body = ''): string =>
  `POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n${body}`

async function client(t: Test, { port }: Rig): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** What a client receives, to the end. */
async function all(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1')
  })
  await once(socket, 'end')
  return text
}

/** Resolves with what has come so far once it contains `mark`. */
async function until(socket: Socket, mark: string): Promise<string> {
  let text = ''
  for await (const [bytes] of on(socket)) {
    text += bytes.toString('latin1')
    if (text.includes(mark)) return text
  }
  return text
}

async function* on(socket: Socket): AsyncGenerator<readonly [Buffer]> {
  for (;;) yield (await once(socket, 'data')) as [Buffer]
}

for (const transport of ['fast', 'node'] as const) {
  const on = `on ${transport}`

  t.test(`${on}: a head and a small body leave in one piece`, async t => {
    const { rig, next } = await onStage(t, transport)
    const socket = await client(t, rig)
    socket.write(GET)
    const { exchange } = await next()
    exchange.head(200, ['content-length', '5'])
    exchange.end('hello', 'latin1')
    const [first] = (await once(socket, 'data')) as [Buffer]
    t.match(first.toString(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nhello$/)
  })

  t.test(`${on}: a head that does not arrive in time is refused with 408`, async t => {
    const { rig } = await onStage(t, transport, { headers: 50, upload: 60_000 })
    const [slow, silent] = [await client(t, rig), await client(t, rig)]
    slow.write('GET /a HTTP/1.1\r\nhost: ')
    const answers = await Promise.all([all(slow), all(silent)])
    for (const answer of answers) t.match(answer, /^HTTP\/1\.1 408 [\s\S]*request_timeout/)
  })

  t.test(`${on}: a body that does not arrive in time is refused with 408`, async t => {
    const { rig, next } = await onStage(t, transport, { headers: 50, upload: 50 })
    const socket = await client(t, rig)
    socket.write(post(10, 'half'))
    const { closed, gone } = await next()
    t.match(await all(socket), /^HTTP\/1\.1 408 /)
    await Promise.all([closed, gone])
  })

  t.test(`${on}: a body that breaks off is refused with 400 at once`, async t => {
    const { rig, next } = await onStage(t, transport)
    const socket = await client(t, rig)
    socket.write(post(10, 'half'))
    const { closed, gone } = await next()
    socket.end()
    t.match(await all(socket), /^HTTP\/1\.1 400 /)
    await Promise.all([closed, gone])
  })

  t.test(`${on}: a head that breaks off is refused with 400 at once`, async t => {
    const { rig } = await onStage(t, transport)
    const socket = await client(t, rig)
    socket.end('GET /a HTTP/1.1\r\nho')
    t.match(await all(socket), /^HTTP\/1\.1 400 /)
  })

  t.test(`${on}: nothing is mixed into an answer that has begun when its request breaks off`, async t => {
    const { rig, next } = await onStage(t, transport)
    const socket = await client(t, rig)
    socket.write(post(10, 'half'))
    const { exchange, closed } = await next()
    exchange.head(200, [])
    exchange.write(Buffer.from('begun'))
    t.match(await until(socket, 'begun'), /begun\r\n$/)
    socket.end()
    await closed
    t.notOk(exchange.finished)
  })

  t.test(`${on}: a client that goes while its body is paused is noticed`, async t => {
    const { rig, next } = await onStage(t, transport)
    const socket = await client(t, rig)
    socket.write(post(10_000, 'some'))
    const { exchange, closed } = await next()
    exchange.pause()
    socket.write('more')
    socket.destroy()
    await closed
    t.notOk(exchange.complete)
  })

  t.test(`${on}: a client that goes under back-pressure is noticed, and the answer can go on in vain`, async t => {
    const { rig, next } = await onStage(t, transport)
    const socket = await client(t, rig)
    socket.pause()
    socket.write(GET)
    const { exchange, closed } = await next()
    exchange.head(200, [])
    while (exchange.write(Buffer.alloc(100_000))) await turns(1)
    socket.resetAndDestroy()
    await closed
    t.notOk(exchange.finished)
    exchange.write(Buffer.from('a'))
    exchange.end('b')
  })

  t.test(`${on}: a slow client gets all of a large answer, as fast as it reads`, async t => {
    const { rig, next } = await onStage(t, transport)
    const socket = await client(t, rig)
    socket.pause()
    socket.write(GET)
    const { exchange, closed } = await next()
    exchange.head(200, ['content-length', String(20_000_000)])
    let left = 20_000_000
    let waits = 0
    exchange.onDrain = () => {
      waits++
      fill()
    }
    const fill = (): void => {
      while (left > 0) {
        left -= 100_000
        if (!exchange.write(Buffer.alloc(100_000, 'x'))) return
      }
      exchange.end()
    }
    fill()
    await turns(20)
    t.ok(left > 0, 'the writer waits for the reader')
    let size = 0
    socket.on('data', (bytes: Buffer) => {
      size += bytes.length
    })
    socket.resume()
    await closed
    t.ok(exchange.finished && waits > 0)
    socket.end()
    await once(socket, 'end')
    t.ok(size > 20_000_000)
  })

  t.test(`${on}: a request that comes behind another one is answered after it`, async t => {
    const { rig, next } = await onStage(t, transport)
    const socket = await client(t, rig)
    socket.write(GET)
    const first = await next()
    const body = 'b'.repeat(3_000_000)
    socket.write(post(body.length, body))
    await turns(20)
    if (transport === 'fast')
      t.ok((first.exchange.connection as Socket).bytesRead < 500_000, 'most of it is not read yet')
    first.exchange.head(200, ['content-length', '3'])
    first.exchange.end('one', 'latin1')
    const second = await next()
    await second.ended
    t.equal(second.body.length, body.length)
    second.exchange.head(200, ['content-length', '3'])
    second.exchange.end('two', 'latin1')
    t.match(await until(socket, 'two'), /one[\s\S]*two$/)
  })

  t.test(`${on}: a client that goes with requests behind one another is noticed`, async t => {
    const { rig, next } = await onStage(t, transport)
    const socket = await client(t, rig)
    socket.write(GET)
    const { closed } = await next()
    socket.write(GET)
    await turns(5)
    socket.destroy()
    await closed
  })

  t.test(`${on}: an idle connection is closed in time`, async t => {
    const rig = await startRig(t, transport, echo, { keep_alive: 100 })
    const socket = await client(t, rig)
    socket.write(GET)
    t.match(await all(socket), /^HTTP\/1\.1 200 /)
  })

  t.test(`${on}: a server that closes ends idle connections, and others when told to`, async t => {
    const { rig, next } = await onStage(t, transport, { keep_alive: 600_000 })
    const [idle, busy] = [await client(t, rig), await client(t, rig)]
    idle.write(GET)
    const { exchange } = await next()
    exchange.head(200, ['content-length', '2'])
    exchange.end('ok', 'latin1')
    await until(idle, 'ok')
    busy.write(GET)
    const { closed } = await next()
    rig.server.close()
    await once(idle, 'end')
    t.notOk(busy.readableEnded)
    rig.server.closeAllConnections()
    await closed
  })

  t.test(`${on}: a client that asks for a proxy holds no connection`, async t => {
    const { server, port } = await startRig(t, transport)
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()
    t.teardown(() => client.destroy())
    client.write('CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n')
    await once(client, 'end')
    server.close()
    await once(server, 'close')
  })

  t.test(`${on}: an early answer arrives although the client is still sending`, async t => {
    const { rig, next } = await onStage(t, transport)
    const socket = await client(t, rig)
    const body = Buffer.alloc(900_000)
    socket.write(post(body.length))
    const { exchange, closed } = await next()
    exchange.linger()
    exchange.head(413, ['content-length', '8', 'connection', 'close'])
    exchange.end('too much', 'latin1')
    await closed
    await turns(5)
    t.notOk((exchange.connection as Socket).destroyed, 'closed in one direction only')
    socket.write(body)
    t.match(await all(socket), /too much$/)
  })

  t.test(
    `${on}: after an early answer that keeps the connection the rest is dropped, and the next request served`,
    async t => {
      const { rig, next } = await onStage(t, transport)
      const socket = await client(t, rig)
      socket.write(post(500_000, 'some'))
      const first = await next()
      first.exchange.linger()
      first.exchange.head(401, ['content-length', '2'])
      first.exchange.end('no', 'latin1')
      await until(socket, 'no')
      socket.write(Buffer.alloc(499_996))
      await turns(5)
      socket.write(GET)
      const second = await next()
      t.equal(second.exchange.method, 'GET')
      t.notOk(Object.hasOwn(second.exchange.connection, 'destroySoon'), 'nothing of it stays with the connection')
      second.exchange.destroy()
    },
  )

  t.test(`${on}: offers of another protocol leave nothing with their connection`, async t => {
    const heard: string[] = []
    const rig = await startRig(t, transport, exchange => {
      const connection = exchange.connection as Socket
      heard.push(
        connection
          .eventNames()
          .map(name => `${String(name)} ${connection.listenerCount(name)}`)
          .join(),
      )
      exchange.head(200, ['content-length', '2'])
      exchange.end('ok', 'latin1')
    })
    const socket = await client(t, rig)
    for (let asked = 0; asked < 15; asked++) {
      socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n')
      await until(socket, 'ok')
    }
    t.equal(heard[14], heard[1])
  })

  t.test(`${on}: no header of an answer can end its line`, async t => {
    const { rig, next } = await onStage(t, transport)
    const socket = await client(t, rig)
    socket.write(GET)
    const { exchange } = await next()
    for (const bad of ['a\r\nb: c', 'a\nb', 'a\rb', 'a\0', 'a\x7f', 'a\u0100'])
      t.throws(() => exchange.head(200, ['x-a', bad]), { code: 'ERR_INVALID_CHAR' }, JSON.stringify(bad))
    for (const bad of ['', 'a b', 'a:', 'a\r\nb', 'é', 'a\0'])
      t.throws(() => exchange.head(200, [bad, 'x']), { code: 'ERR_INVALID_HTTP_TOKEN' }, JSON.stringify(bad))
    t.notOk(exchange.begun)
    exchange.head(200, ['content-length', '2'])
    exchange.end('ok', 'latin1')
    t.match(await until(socket, 'ok'), /^HTTP\/1\.1 200 OK\r\ncontent-length: 2\r\nDate: /)
  })
}

t.test('bytes that are written in one turn leave as one chunk', async t => {
  const { rig, next } = await onStage(t, 'fast')
  const socket = await client(t, rig)
  socket.write(GET)
  const { exchange } = await next()
  exchange.head(200, [])
  for (const text of ['a', 'b', 'c']) exchange.write(Buffer.from(text))
  const [first] = (await once(socket, 'data')) as [Buffer]
  t.match(first.toString(), /\r\n\r\n3\r\nabc\r\n$/)
})

function pair(): ReturnType<typeof certificate> {
  const day = 86_400_000
  return certificate('gateway.example', new Date(Date.now() - day), new Date(Date.now() + day))
}

t.test('plain requests over TLS are served on the fast path, others by node:http, on one connection', async t => {
  const rig = await startRig(t, 'fast', echo, {}, pair())
  const socket = connectTls({ host: '127.0.0.1', port: rig.port, rejectUnauthorized: false })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  const body = 'b'.repeat(200_000)
  for (const [bytes, counts] of [
    [GET, { fast: 1, node: 0 }],
    [post(body.length, body), { fast: 2, node: 0 }],
    ['POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n', { fast: 2, node: 1 }],
    [GET, { fast: 2, node: 2 }],
  ] as const) {
    socket.write(bytes)
    t.match(await until(socket, '\r\n\r\n'), /^HTTP\/1\.1 200 /)
    t.same(rig.counts, counts)
  }
})

t.test('connections that do not agree on TLS end in time, or with their server', async t => {
  const late = await startRig(t, 'fast', echo, { headers: 50 }, pair())
  await once(connect(late.port, '127.0.0.1').resume(), 'close')
  const { server, port } = await startRig(t, 'fast', echo, {}, pair())
  const client = connect(port, '127.0.0.1').resume()
  await once(server, 'connection')
  server.close()
  server.closeAllConnections()
  await Promise.all([once(server, 'close'), once(client, 'close')])
})

t.test('requests and aborts leave no memory behind', async t => {
  const rig = await startRig(t, 'fast', echo)
  const requests = Number(process.env.SOAK_REQUESTS ?? 20_000)
  const before = await heapAfter(rig, requests / 2)
  const growth = (await heapAfter(rig, requests / 2)) - before
  t.ok(growth < 1024 * 1024, `${growth} bytes more after ${requests / 2} requests`)
  t.ok(rig.counts.fast >= requests)
})

/** Bytes of the heap after so many requests, of which every tenth is broken off. */
async function heapAfter(rig: Rig, requests: number): Promise<number> {
  const talks = await Promise.all(Array.from({ length: 20 }, () => Talk.to(rig.port)))
  const each = async (talk: Talk): Promise<void> => {
    for (let count = 0; count < requests / talks.length; count++) {
      talk.socket.write(count % 2 === 0 ? GET : post(2, 'ab'))
      await once(talk.socket, 'data')
      if (count % 10 > 0) continue
      const broken = await Talk.to(rig.port)
      broken.socket.end(post(9, 'half'))
      await once(broken.socket, 'close')
    }
    await talk.end()
  }
  await Promise.all(talks.map(each))
  rig.seen.clear()
  rig.refused.clear()
  await turns(10)
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

t.test('connections that are opened and dropped leave nothing behind', async t => {
  const rig = await startRig(t, 'fast')
  const COUNT = 2000
  for (let opened = 0; opened < COUNT; opened += 100) {
    const talks = await Promise.all(Array.from({ length: 100 }, () => Talk.to(rig.port)))
    for (const [index, talk] of talks.entries()) {
      if (index % 3 > 0) talk.socket.write([GET, post(9, 'x')][index % 2] ?? '')
      if (index % 2 > 0) talk.socket.resetAndDestroy()
      else talk.socket.destroy()
    }
  }
  const open = (): Promise<number> =>
    new Promise((resolve, reject) =>
      rig.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    )
  while ((await open()) > 0) await turns(1)
  t.pass('all are gone')
})
