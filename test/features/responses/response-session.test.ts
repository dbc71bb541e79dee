import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { WebSocket } from 'ws'
import { ResponseSession } from '../../../src/features/responses/session/response-session.js'
import { EventLoopShares } from '../../../src/kernel/event-loop-shares.js'
import { Memory } from '../../../src/kernel/memory.js'
import { acceptSocket } from '../../../src/net/framed-socket.js'
import { NodeRequest } from '../../../src/transport/node-exchange.js'
import { Journal } from '../../helpers/journal.js'

type Test = Pick<typeof t, 'teardown'>

const MINUTE = 60_000

/** A session on a real connection; nothing serves its requests. */
async function connected(
  test: Test,
  autoPong: boolean,
): Promise<{ readonly session: ResponseSession; readonly client: WebSocket; readonly ended: Journal<true> }> {
  const server = createServer()
  const sessions = new Journal<ResponseSession>('sessions')
  const ended = new Journal<true>('ended')
  server.on('upgrade', async (request, socket, head) => {
    const opened = await acceptSocket(request, socket, head, {
      largest: 1000,
      subprotocols: [],
      refuse: () => undefined,
    })
    if (opened === undefined) return
    sessions.push(
      new ResponseSession(
        opened,
        new NodeRequest(request),
        { body: 1000, values: 100 },
        new Memory(1_000_000).lease(''),
        new EventLoopShares(),
        () => undefined,
        () => ended.push(true),
      ),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`, { autoPong })
  test.teardown(() => {
    client.terminate()
    server.close()
  })
  await once(client, 'open')
  return { session: await sessions.find(() => true), client, ended }
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
