import { once } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import { acceptOf } from '../../src/core/socket-key.js'
import { closeFrame, frame, textFrame } from '../../src/wire/frames.js'
import { fastClock } from '../helpers/fast-clock.js'
import { startTestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { connectRaw } from '../helpers/raw-client.js'
import {
  type Answered,
  ask,
  type End,
  HANDSHAKE,
  lineOf,
  open,
  realtimeYaml,
  startRealtime,
  startSocketUpstream,
} from '../helpers/realtime.js'
import { CLIENT, startTokenServer } from '../helpers/token-server.js'

/** How sessions end, and how they do not: anyone who still reads is not cut, no matter who offends hears why. */

type Test = Pick<typeof t, 'teardown'>
type Kind = 'raw' | 'framed'
const KINDS = ['raw', 'framed'] as const
const MIB = 1024 * 1024

const routeOf = (kind: Kind): string =>
  `routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: ${kind}, timeouts: { idle: 2h, total: 2h } } }\n`

async function talking(
  test: Test,
  kind: Kind,
  more = '',
): Promise<Awaited<ReturnType<typeof startRealtime>> & { client: End; server: End }> {
  const stage = await startRealtime(test, routeOf(kind) + more)
  return { ...stage, ...(await open(test, stage)) }
}

/** A server that keeps its connection open when the gateway has ended its own half. */
function staysConnected({ socket }: End): void {
  socket.removeAllListeners('end')
}

for (const kind of KINDS) {
  t.test(
    `F-W3 a client hears at once of an upstream that breaks the protocol and stays connected (${kind})`,
    async t => {
      const { client, server, gateway } = await talking(t, kind)
      staysConnected(server)
      server.send(Buffer.concat([textFrame('good', false), Buffer.from([0x83, 0x00])]))
      t.match(await client.closes.count(1), [{ code: 1011 }])
      client.send(closeFrame(1011, '', true))
      t.match(await server.closes.count(1), [{ code: 1002 }], 'and the upstream hears its own code')
      await client.gone.count(1)
      t.match(await lineOf(gateway), { close: 1011, closed_by: 'gateway', error: 'bad_upstream_response' })
    },
  )

  t.test(`F-W1 a close frame passes at once, though the upstream stays connected (${kind})`, async t => {
    const { client, server, gateway } = await talking(t, kind)
    staysConnected(server)
    server.send(closeFrame(4002, 'enough', false))
    t.same(await client.closes.count(1), [{ code: 4002, reason: 'enough' }])
    client.send(closeFrame(4002, '', true))
    t.match(await server.closes.count(1), [{ code: 4002 }])
    server.socket.destroy()
    t.match(await lineOf(gateway), { close: 4002, closed_by: 'upstream' })
  })

  t.test(`F-W1 what a side still says before it answers a close frame gets there (${kind})`, async t => {
    const { client, server } = await talking(t, kind)
    client.send(closeFrame(1000, 'bye', true))
    t.same(await server.closes.count(1), [{ code: 1000, reason: 'bye' }])
    server.send(Buffer.concat([textFrame('last', false), closeFrame(1000, 'bye', false)]))
    t.match(await client.closes.count(1), [{ code: 1000 }])
    t.same(client.texts.items, ['last'])
  })

  t.test(`F-W2 a slow client that still reads has its message, however long that takes (${kind})`, async t => {
    const { client, server, gateway } = await talking(t, kind)
    const socket = client.socket as Socket
    socket.pause()
    const message = frames(24 * MIB)
    server.send(message)
    // Minutes pass while it reads, a piece at a time; the upstream answers the pings that it gets.
    fastClock(t)
    const timers = [
      setInterval(() => socket.read(), 2),
      setInterval(() => server.send(frame(10, Buffer.alloc(0), false)), 20),
    ]
    t.teardown(() => {
      for (const timer of timers) clearInterval(timer)
    })
    socket.removeAllListeners('data')
    const size = await whole(socket, message.length)
    t.ok(size >= message.length, `${size} bytes came`)
    const lines = gateway.log.items.filter(line => line.msg === 'request')
    t.same(lines, [], 'and the session continues')
  })

  t.test(`F-W2 a client that takes nothing is cut after limits.stall (${kind})`, async t => {
    const { client, server, gateway } = await talking(t, kind, 'limits: { stall: 300ms }\n')
    client.socket.pause()
    server.send(frames(24 * MIB))
    t.match(await lineOf(gateway), { error: 'client_gone', phase: 'client_stall', close: 1006, closed_by: 'client' })
    client.socket.destroy()
  })

  t.test(`F-W3 an extension that no one offered is refused (${kind})`, async t => {
    const up = await startSocketUpstream(t)
    const gateway = await startTestGateway(t, realtimeYaml(up.origin, routeOf(kind)))
    up.answer(
      ({ headers }) =>
        `HTTP/1.1 101 Yes\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${acceptOf(headers['sec-websocket-key'] ?? '')}\r\n` +
        'sec-websocket-extensions: permessage-deflate\r\n\r\n',
    )
    const answer: Answered = await ask(t, gateway, { headers: { 'sec-websocket-extensions': 'permessage-deflate' } })
    t.equal(answer.status, 502)
    t.match(answer.head, /x-gateway-error: bad_upstream_response/)
    t.match(String((await lineOf(gateway)).cause), /extension/i)
  })

  t.test(`F-W3 a subprotocol that was not offered is refused (${kind})`, async t => {
    const up = await startSocketUpstream(t)
    const gateway = await startTestGateway(t, realtimeYaml(up.origin, routeOf(kind)))
    const offers = [undefined, 'realtime', 'openai-beta.realtime-v1, realtime']
    for (const [index, offered] of offers.entries()) {
      for (const chosen of ['other', 'Realtime', 'realtime, openai-beta.realtime-v1', '']) {
        up.answer(
          ({ headers }) =>
            `HTTP/1.1 101 Yes\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${acceptOf(headers['sec-websocket-key'] ?? '')}\r\n` +
            `sec-websocket-protocol: ${chosen}\r\n\r\n`,
        )
        const headers: Record<string, string> = offered === undefined ? {} : { 'sec-websocket-protocol': offered }
        const answer: Answered = await ask(t, gateway, { headers })
        t.equal(answer.status, 502, `${chosen} for ${offered}`)
        t.match(answer.head, /x-gateway-error: bad_upstream_response/)
      }
      const lines = await gateway.log.count(index * 4 + 1, line => line.msg === 'request')
      t.match(String(lines[index * 4]?.cause), /subprotocol/i)
    }
  })

  t.test(`F-W3 clients of other protocols than realtime's hear a close frame alone (${kind})`, async t => {
    const up = await startSocketUpstream(t)
    const route = `routes: { "WS /own": { protocol: own, upstream: up, tunnel: ${kind} } }\n`
    const protocol = 'protocols: { own: { messages: { model: [setup.model] }, members: { "setup.base": refuse } } }\n'
    const yaml = realtimeYaml(up.origin, route + protocol).replace('speaks: {', 'speaks: { own: "GET /own",')
    const gateway = await startTestGateway(t, yaml)
    const cases: [Buffer, number][] = [
      [Buffer.from([0x83, 0x80, 0, 0, 0, 0]), 1002],
      [textFrame('{"setup":{"base":"http://x"}}', true), 1008],
    ]
    for (const [bytes, code] of cases) {
      const { client, server } = await open(t, { gateway, up }, { path: '/own' })
      client.send(bytes)
      await server.closes.count(1)
      server.send(closeFrame(1001, '', false))
      t.match(await client.closes.count(1), [{ code }])
      t.same(client.texts.items, [])
      client.socket.destroy()
    }
  })

  for (const [what, message] of [
    ['binary message', frame(2, Buffer.from('{"session":{"model":"not-mine"}}'), true)],
    ['list of events', textFrame('[{"type":"x"},{"session":{"model":"not-mine"}}]', true)],
    ['list of models', textFrame('{"session":{"model":["m-none","not-mine"]}}', true)],
    ['list of sessions', textFrame('{"session":[{"audio":[{"input":{"transcription":{"model":"not-mine"}}}]}]}', true)],
  ] as const) {
    t.test(`F-A6 a model that may not be used is seen in a ${what} (${kind})`, async t => {
      const { client, server } = await talking(t, kind)
      client.send(message)
      t.match(await client.closes.count(1), [{ code: 1008 }])
      await server.closes.count(1)
      t.equal(server.size, (await server.bytes(1)).length)
      t.match(JSON.parse(client.texts.items[0] ?? ''), { type: 'error', error: { code: 'model_not_found' } })
    })
  }

  t.test(`F-A6 sounds and pictures pass as they are (${kind})`, async t => {
    const { client, server } = await talking(t, kind)
    const bytes = frame(2, Buffer.from([0x22, 0x7b, 0x5b, 0x00, 0xff, 0x22, 0x3a, 0x5d, 0x2c]), true)
    client.send(Buffer.concat([bytes, textFrame('after', true)]))
    t.same(await server.texts.count(1), ['after'])
  })
}

t.test('F-A6 lists and binary messages of a framed tunnel get the upstream’s names', async t => {
  const { client, server } = await talking(t, 'framed')
  client.send(textFrame('[ {"session":{"model":"m"}}, {"session":[{"model":["other","m"]}]} ]', true))
  t.same(await server.texts.count(1), [
    '[ {"session":{"model":"real-m"}}, {"session":[{"model":["other","real-m"]}]} ]',
  ])
  const before = server.size
  client.send(frame(2, Buffer.from('{"model":"m"}'), true))
  const bytes = await server.bytes(before + 2 + 4 + '{"model":"real-m"}'.length)
  t.equal(bytes[before], 0x82)
  t.equal((bytes[before + 1] ?? 0) & 0x7f, '{"model":"real-m"}'.length)
  client.send(textFrame(`${'['.repeat(500)}{"model":"m"}${']'.repeat(500)}`, true))
  t.match(await client.closes.count(1), [{ code: 1008 }], 'nested beyond measure')
})

t.test('F-A6 a raw tunnel says why an alias does not pass', async t => {
  const { client } = await talking(t, 'raw')
  client.send(textFrame('{"session":{"model":"m"}}', true))
  t.match(JSON.parse((await client.texts.count(1))[0] ?? ''), { error: { message: /another name for `m`/ } })
})

/** A text message in one frame, from a server. */
function frames(size: number): Buffer {
  const head = Buffer.alloc(10)
  head[0] = 0x82
  head[1] = 127
  head.writeUInt32BE(size, 6)
  return Buffer.concat([head, Buffer.alloc(size, 7)])
}

async function whole(socket: Socket, size: number): Promise<number> {
  const enough = new Journal<number>('bytes')
  let seen = 0
  socket.on('data', (bytes: Buffer) => {
    seen += bytes.length
    if (seen >= size) enough.push(seen)
  })
  socket.on('close', () => enough.push(seen))
  socket.pause()
  return (await enough.count(1))[0] ?? 0
}

t.test('F-W3 a list of subprotocols that cannot be read is refused (framed)', async t => {
  const up = await startSocketUpstream(t)
  const protocols = 'protocols: { realtime: { subprotocols: { pass: [realtime], answer: [realtime] } } }\n'
  const tokens = await startTokenServer(t, [CLIENT])
  const oauth = `credential: { type: oauth2, token_url: "${tokens.tokenUrl}", client_id: gateway, secret: { env: S } }`
  const env = { S: CLIENT.client_secret }
  const signed = await startTestGateway(t, realtimeYaml(up.origin, routeOf('framed'), oauth), { env })
  const passing = await startTestGateway(t, realtimeYaml(up.origin, routeOf('framed') + protocols))
  for (const gateway of [signed, passing]) {
    for (const offered of ['realtime, realtime', 'realtime, x, x', 'realtime,, x', 'realtime, a b', '']) {
      const answer = await ask(t, gateway, { headers: { 'sec-websocket-protocol': offered } })
      t.equal(answer.status, 400, offered)
      t.match(answer.body, /sec-websocket-protocol/)
    }
    await open(t, { gateway, up }, { headers: { 'sec-websocket-protocol': 'realtime,x \t, y' } })
  }
  t.equal(up.requests.items.length, 2)
})

t.test('F-W3 a client whose handshake fails behind the upstream’s is disconnected (framed)', async t => {
  const { gateway, up } = await startRealtime(t, routeOf('framed'))
  const client = await connectRaw(t, gateway.origin)
  const headers = { ...HANDSHAKE, authorization: `Bearer ${gateway.key}`, 'sec-websocket-protocol': 'realtime, x\xa0' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  await client.send(`GET /v1/realtime?model=m HTTP/1.1\r\nhost: x\r\n${lines.join('')}\r\n`)
  const [end] = await up.ends.count(1)
  await end?.gone.count(1)
  if (!client.socket.readableEnded) await once(client.socket, 'end')
  await lineOf(gateway)
})

t.test('F-W3 a credential that no handshake can have fails the attempt alone (framed)', async t => {
  const up = await startSocketUpstream(t)
  const credential = 'credential: { in: header, name: sec-websocket-protocol, secret: { env: S } }'
  const env = { S: 'a/b/c/d/e/f/g/h' }
  const gateway = await startTestGateway(t, realtimeYaml(up.origin, routeOf('framed'), credential), { env })
  t.equal((await ask(t, gateway)).status, 502)
  t.match(await lineOf(gateway), { outcome: 'upstream_error' })
})
