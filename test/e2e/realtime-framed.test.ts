import t from 'tap'
import { FEATURES } from '../../src/features/index.js'
import type { Feature } from '../../src/kernel/stages.js'
import type { HandshakeExchange } from '../../src/transport/handshake-exchange.js'
import { closeFrame, frame, textFrame } from '../../src/wire/frames.js'
import { startTestGateway } from '../helpers/gateway.js'
import { ask, type End, lineOf, open, realtimeYaml, startRealtime, startSocketUpstream } from '../helpers/realtime.js'

type Test = Pick<typeof t, 'teardown'>

const FRAMED =
  'routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: framed, limits: { body: 1000 } } }\n'

async function talking(
  test: Test,
): Promise<Awaited<ReturnType<typeof startRealtime>> & { client: End; server: End; head: string }> {
  const stage = await startRealtime(test, FRAMED)
  return { ...stage, ...(await open(test, stage, { headers: { 'sec-websocket-protocol': 'realtime' } })) }
}

t.test('messages pass whole in both directions, text and binary', async t => {
  const { client, server, gateway, up, head } = await talking(t)
  t.match(head, /sec-websocket-protocol: realtime/i)
  t.notMatch(head, /set-cookie/)
  t.equal(up.requests.items[0]?.url, '/v1/realtime?model=real-m')
  const [one, two] = [textFrame('{"a":1}', true), textFrame('two', true)]
  one[0] = 0x01
  two[0] = 0x80
  client.send(Buffer.concat([one, two]))
  t.same(await server.texts.count(1), ['{"a":1}two'], 'fragments become one message')
  const bytes = frame(2, Buffer.from([1, 2, 3]), false)
  server.send(Buffer.concat([bytes, textFrame('back', false)]))
  await client.texts.count(1)
  t.ok((await client.bytes(bytes.length)).subarray(0, bytes.length).equals(bytes))
  server.send(closeFrame(4001, 'enough', false))
  t.same(await client.closes.count(1), [{ code: 4001, reason: 'enough' }])
  client.send(closeFrame(4001, '', true))
  t.match(await lineOf(gateway), { close: 4001, closed_by: 'upstream', events: 3, status: 101 })
})

t.test('F-W2 a message over the limit ends the session with 1009', async t => {
  for (const side of ['client', 'server'] as const) {
    const { client, server, gateway } = await talking(t)
    const [from, to] = side === 'client' ? [client, server] : [server, client]
    from.send(frame(1, Buffer.alloc(1000, 'x'), side === 'client'))
    t.equal((await to.texts.count(1))[0]?.length, 1000, 'the limit itself passes')
    from.send(frame(1, Buffer.alloc(1001, 'x'), side === 'client'))
    t.match(await from.closes.count(1), [{ code: 1009 }])
    t.match(await to.closes.count(1), [{ code: 1009 }])
    t.equal(to.texts.items.length, 1)
    client.send(closeFrame(1009, '', true))
    server.send(closeFrame(1009, '', false))
    t.match(await lineOf(gateway), { close: 1009 })
  }
})

t.test('F-A6 a message that names a model which may not be used does not get there', async t => {
  const { client, server, gateway } = await talking(t)
  client.send(textFrame('{"session":{"model":"not-mine"}}', true))
  t.match(await client.closes.count(1), [{ code: 1008 }])
  t.match(JSON.parse(client.texts.items[0] ?? ''), { type: 'error', error: { code: 'model_not_found' } })
  t.match(await server.closes.count(1), [{ code: 1001 }])
  t.same(server.texts.items, [])
  client.send(closeFrame(1008, '', true))
  server.send(closeFrame(1001, '', false))
  t.match(await lineOf(gateway), { error: 'model_not_found', close: 1008, closed_by: 'gateway' })
})

t.test('models of messages get the names that the upstream knows', async t => {
  const { client, server } = await talking(t)
  const message = (main: string, other: string): string =>
    `{"session":{"model":"${main}","audio":{"input":{"transcription":{"model":"${other}"}}}}, "n":1.0}`
  client.send(textFrame(message('m', 'other'), true))
  t.same(await server.texts.count(1), [message('real-m', 'other')])
  client.send(textFrame(message('m', 'not-mine'), true))
  t.match(await client.closes.count(1), [{ code: 1008 }])
  t.equal(server.texts.items.length, 1)
})

t.test('usage is added up', async t => {
  const { client, server, gateway } = await talking(t)
  for (const tokens of [1, 2]) {
    server.send(
      textFrame(JSON.stringify({ type: 'response.done', response: { usage: { total_tokens: tokens } } }), false),
    )
  }
  await client.texts.count(2)
  client.send(closeFrame(1000, '', true))
  await server.closes.count(1)
  server.send(closeFrame(1000, '', false))
  t.match(await lineOf(gateway), { total_tokens: 3, outcome: 'ok' })
})

t.test('F-W1 a side that is gone without a word is told to the other one', async t => {
  const first = await talking(t)
  first.server.socket.destroy()
  t.match(await first.client.closes.count(1), [{ code: 1011 }])
  t.match(await lineOf(first.gateway), { close: 1006, closed_by: 'upstream', outcome: 'upstream_error' })
  const second = await talking(t)
  second.client.socket.destroy()
  t.match(await second.server.closes.count(1), [{ code: 1001 }])
  t.match(await lineOf(second.gateway), { close: 1006, closed_by: 'client', outcome: 'client_abort' })
})

t.test('refusals of the upstream and of the gateway are HTTP', async t => {
  const up = await startSocketUpstream(t)
  const gateway = await startTestGateway(t, realtimeYaml(up.origin, FRAMED))
  t.equal((await ask(t, gateway, { key: 'wrong' })).status, 401)
  up.answer(
    () =>
      'HTTP/1.1 429 Slow\r\nretry-after: 3\r\ncontent-type: application/json\r\ncontent-length: 14\r\n\r\n{"error":"so"}',
  )
  const refused = await ask(t, gateway)
  t.equal(refused.status, 429)
  t.match(refused.head, /retry-after: 3/)
  up.answer(() => 'HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n')
  t.equal((await ask(t, gateway)).status, 502)
  for (const more of ['upgrade: websocket\r\nsec-websocket-accept: no\r\n', 'sec-websocket-accept: no\r\n']) {
    up.answer(() => `HTTP/1.1 101 Yes\r\nconnection: Upgrade\r\n${more}\r\n`)
    const { status, head, body } = await ask(t, gateway)
    t.equal(status, 502)
    t.match(head, /x-gateway-error: bad_upstream_response/)
    t.match(body, /malformed|did not open a WebSocket/)
  }
})

t.test('F-P1 a drain ends sessions with 1001', async t => {
  const { client, server, gateway } = await talking(t)
  const closing = gateway.gateway.close()
  t.match(await client.closes.count(1), [{ code: 1001, reason: 'the gateway is shutting down' }])
  client.send(closeFrame(1001, '', true))
  server.send(closeFrame(1001, '', false))
  await closing
  t.match(await lineOf(gateway), { close: 1001, closed_by: 'gateway', phase: 'drain' })
})

t.test('a client that leaves while its WebSocket is opened is in the log as one that left', async t => {
  const leaver: Feature = {
    name: 'leaver',
    compile: () => ({
      name: 'leaver',
      onAnswerHead: ({ request }) => void (request as HandshakeExchange).socket.destroy(),
    }),
  }
  const { gateway } = await startRealtime(t, FRAMED, { features: [...FEATURES, leaver] })
  await t.rejects(ask(t, gateway))
  t.match(await lineOf(gateway), { status: 499, outcome: 'client_abort', error: 'client_gone' })
})
