import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import t from 'tap'
import { WebSocket } from 'ws'
import { ResponseSession } from '../../../src/features/responses/session/response-session.js'
import { EventLoopShares } from '../../../src/kernel/event-loop-shares.js'
import { Memory } from '../../../src/kernel/memory.js'
import { acceptSocket, type FramedSocket } from '../../../src/net/framed-socket.js'
import { NodeRequest } from '../../../src/transport/node-exchange.js'
import { textFrames } from '../../../src/wire/frames.js'
import { Journal } from '../../helpers/journal.js'

type Test = Pick<typeof t, 'teardown'>

const MINUTE = 60_000

/** A session on a real connection; nothing serves its requests. `begun`: messages that have had their turn. */
interface Connected {
  readonly session: ResponseSession
  readonly client: WebSocket
  /** The gateway's side of the connection. */
  readonly framed: FramedSocket
  readonly socket: Duplex
  readonly begun: Journal<true>
  readonly ended: Journal<true>
}

async function connected(test: Test, autoPong = true): Promise<Connected> {
  const server = createServer()
  const sessions = new Journal<Pick<Connected, 'session' | 'framed' | 'socket'>>('sessions')
  const begun = new Journal<true>('begun')
  const ended = new Journal<true>('ended')
  server.on('upgrade', async (request, socket, head) => {
    const opened = await acceptSocket(request, socket, head, {
      largest: 1000,
      subprotocols: [],
      refuse: () => undefined,
    })
    if (opened === undefined) return
    const turns = new EventLoopShares()
    const { begin } = turns
    turns.begin = work => {
      begun.push(true)
      begin.call(turns, work)
    }
    const session = new ResponseSession(
      opened,
      new NodeRequest(request),
      { body: 1000, values: 100, stall: 10 * MINUTE },
      new Memory(1_000_000).lease(''),
      turns,
      () => undefined,
      () => ended.push(true),
    )
    sessions.push({ session, framed: opened, socket })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`, { autoPong })
  test.teardown(() => {
    client.terminate()
    server.close()
  })
  await once(client, 'open')
  return { ...(await sessions.find(() => true)), client, begun, ended }
}

t.test('F-W4 a client that answers no ping is given up after two of them', async t => {
  const { session, client, ended } = await connected(t, false)
  const pings = new Journal<true>('pings')
  client.on('ping', () => pings.push(true))
  // Whole milliseconds: sums of fractions are rounded, and a check would miss a deadline that it meets exactly.
  const start = Math.ceil(performance.now())
  session.check(start + 19_000)
  session.check(start + 21_000)
  session.check(start + 22_000)
  session.check(start + 42_000)
  await pings.count(2)
  t.equal(ended.items.length, 0)
  session.check(start + 63_000)
  await ended.count(1)
  t.equal(pings.items.length, 2)
})

t.test('F-W4 a client that answers stays connected', async t => {
  const { session, client, ended } = await connected(t, true)
  const pings = new Journal<true>('pings')
  client.on('ping', () => pings.push(true))
  for (let round = 1; round <= 5; round++) {
    session.check(performance.now() + 21_000)
    await pings.count(round)
    // The pong is on its way; what the client sends next comes after it.
    client.send('{}')
    await once(client, 'message')
  }
  t.equal(ended.items.length, 0)
  t.equal(client.readyState, WebSocket.OPEN)
})

t.test('a connection that has lived for an hour is ended in words', async t => {
  const { session, client } = await connected(t, true)
  const messages = new Journal<unknown>('messages')
  client.on('message', data => messages.push(JSON.parse(String(data))))
  const closed = once(client, 'close')
  session.check(performance.now() + 61 * MINUTE)
  t.match(await messages.find(() => true), {
    type: 'error',
    status: 400,
    error: { code: 'websocket_connection_limit_reached' },
  })
  t.equal((await closed)[0], 1001)
})

t.test('F-C3 a message begins when the client has read the answers to earlier ones', async t => {
  const { client, framed, socket, begun } = await connected(t)
  // Answered by the gateway itself, with two events of that length.
  const message = JSON.stringify({ type: 'response.create', generate: false, instructions: 'i'.repeat(700) })
  // As if the client took nothing.
  socket.cork()
  let sent = 0
  while (!framed.full) {
    const before = socket.writableLength
    client.send(message)
    await begun.count(++sent)
    while (socket.writableLength === before) await new Promise(resolve => setImmediate(resolve))
  }
  client.send(message)
  await once(socket, 'data')
  for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
  t.equal(begun.items.length, sent)
  socket.uncork()
  await begun.count(sent + 1)
})

t.test('F-C3 a connection on which too much waits is closed in words', async t => {
  const { client, framed, socket } = await connected(t)
  const MIB = 1024 * 1024
  const frames = textFrames(['x'.repeat(MIB)])
  let came = 0
  client.on('message', () => came++)
  const closed = once(client, 'close')
  socket.cork()
  for (let count = 0; count < 100; count++) framed.send(frames)
  t.ok(socket.writableLength < 66 * MIB, `${socket.writableLength} bytes wait`)
  socket.uncork()
  t.equal((await closed)[0], 1008)
  t.equal(came, 64)
})

t.test('F-C4 a client that takes no byte for limits.stall is given up', async t => {
  const { session, framed, socket, ended } = await connected(t)
  socket.cork()
  framed.send(textFrames(['{}']))
  const start = Math.ceil(performance.now())
  for (let minute = 0; minute <= 10; minute++) session.check(start + minute * MINUTE)
  await new Promise(resolve => setImmediate(resolve))
  t.equal(ended.items.length, 0)
  session.check(start + 11 * MINUTE)
  await ended.count(1)
})

t.test('F-C3 of pings whose answers wait, the last one is answered', async t => {
  const { client, socket } = await connected(t)
  const PINGS = 1000
  const pongs: string[] = []
  client.on('pong', data => pongs.push(String(data)))
  socket.cork()
  const read = (socket as Socket).bytesRead
  for (let at = 0; at < PINGS; at++) client.ping(`ping ${at}`.padEnd(125))
  while ((socket as Socket).bytesRead < read + PINGS * 131) await new Promise(resolve => setImmediate(resolve))
  t.ok(socket.writableLength < 1000, `${socket.writableLength} bytes wait`)
  socket.uncork()
  while (pongs.at(-1)?.trim() !== `ping ${PINGS - 1}`) await once(client, 'pong')
  t.ok(pongs.length < 10, `${pongs.length} answers`)
})
