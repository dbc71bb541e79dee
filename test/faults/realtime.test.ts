import t from 'tap'
import { closeFrame, frame, textFrame } from '../../src/wire/frames.js'
import { hang } from '../helpers/answers.js'
import { fastClock } from '../helpers/fast-clock.js'
import { startTestGateway } from '../helpers/gateway.js'
import { inTime } from '../helpers/journal.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import {
  type Answered,
  ask,
  type End,
  HANDSHAKE,
  lineOf,
  open,
  realtimeYaml,
  startRealtime,
} from '../helpers/realtime.js'

type Test = Pick<typeof t, 'teardown'>

async function talking(
  test: Test,
  more = '',
): Promise<Awaited<ReturnType<typeof startRealtime>> & { client: End; server: End }> {
  const stage = await startRealtime(test, more)
  return { ...stage, ...(await open(test, stage)) }
}

/** A route of the test's own with other time-outs. */
const waiting = (timeouts: string): string =>
  `routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: raw, timeouts: { ${timeouts} } } }\n`

const CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]

t.test('F-W1 every close code of the upstream and its reason reach the client, and the log', async t => {
  for (const code of CODES) {
    const { gateway, client, server } = await talking(t)
    server.send(closeFrame(code, `because ${code}`, false))
    t.same(await client.closes.count(1), [{ code, reason: `because ${code}` }])
    client.send(closeFrame(code, '', true))
    t.same(await server.closes.count(1), [{ code, reason: '' }])
    server.socket.end()
    await client.gone.count(1)
    const outcome = code === 1000 || code === 1001 ? 'ok' : 'upstream_error'
    t.match(await lineOf(gateway), { close: code, closed_by: 'upstream', outcome })
  }
})

t.test('F-W1 every close code of the client reaches the upstream', async t => {
  for (const code of CODES) {
    const { gateway, client, server } = await talking(t)
    client.send(closeFrame(code, 'bye', true))
    t.same(await server.closes.count(1), [{ code, reason: 'bye' }])
    server.send(closeFrame(code, 'bye', false))
    server.socket.end()
    t.same(await client.closes.count(1), [{ code, reason: 'bye' }])
    t.match(await lineOf(gateway), { close: code, closed_by: 'client', outcome: 'ok' })
  }
})

t.test('F-W1 a close frame without a code passes as it is', async t => {
  const { client, server, gateway } = await talking(t)
  server.send(frame(8, Buffer.alloc(0), false))
  t.same(await client.closes.count(1), [{ code: 1005, reason: '' }])
  client.send(frame(8, Buffer.alloc(0), true))
  await server.closes.count(1)
  server.socket.end()
  t.match(await lineOf(gateway), { close: 1005, outcome: 'ok' })
})

t.test('F-W1 an upstream that is gone without a word is 1011 for the client', async t => {
  for (const how of ['end', 'destroy'] as const) {
    const { client, server, gateway } = await talking(t)
    server.socket[how]()
    t.match(await client.closes.count(1), [{ code: 1011 }], how)
    await client.gone.count(1)
    t.match(await lineOf(gateway), { close: 1006, closed_by: 'upstream', outcome: 'upstream_error' })
  }
})

t.test('F-W1 in the middle of a frame nothing can be said: the connection ends', async t => {
  const { client, server } = await talking(t)
  server.send(textFrame('x'.repeat(1000), false).subarray(0, 500))
  await client.bytes(500)
  server.socket.destroy()
  await client.gone.count(1)
  t.same(client.closes.items, [])
})

t.test('F-W1 a client that is gone without a word is 1001 for the upstream', async t => {
  const { client, server, gateway } = await talking(t)
  client.socket.destroy()
  t.match(await server.closes.count(1), [{ code: 1001 }])
  await server.gone.count(1)
  t.match(await lineOf(gateway), { close: 1006, closed_by: 'client', outcome: 'client_abort' })
})

for (const tunnel of ['raw', 'framed'] as const) {
  for (const how of ['ends its connection', 'resets it'] as const) {
    t.test(
      `F-C1 a client that ${how} before the upstream has agreed takes the handshake with it (${tunnel})`,
      async t => {
        const upstream = await startRawUpstream(t)
        upstream.answer(hang)
        const route = `routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: ${tunnel} } }\n`
        // One place only: it is given back too.
        const yaml = realtimeYaml(upstream.origin, `${route}limits: { sessions: 1 }\n`)
        const gateway = await startTestGateway(t, yaml)
        for (const time of [1, 2]) {
          const client = await gateway.open('/v1/realtime?model=m', { headers: HANDSHAKE })
          await upstream.requests.count(time)
          if (how === 'resets it') client.socket.resetAndDestroy()
          else client.socket.end()
          await upstream.closes.count(time)
          await gateway.log.count(time, line => line.msg === 'request' && line.outcome === 'client_abort')
        }
      },
    )
  }
}

t.test('F-W2 a side that does not read holds the other one up, and nothing is lost', async t => {
  const { client, server, gateway } = await talking(t)
  const message = frame(2, Buffer.alloc(60_000, 7), true)
  const count = 400
  server.socket.pause()
  let sent = 0
  let blocked = 0
  const flood = async (): Promise<void> => {
    for (; sent < count; sent++) {
      if (client.socket.write(message)) continue
      blocked++
      if (blocked === 1) server.socket.resume()
      await new Promise(resolve => client.socket.once('drain', resolve))
    }
  }
  await inTime(flood(), () => `${sent} frames were taken`)
  const all = await server.bytes(count * message.length)
  t.equal(all.length, count * message.length)
  t.ok(all.subarray(-message.length).equals(message))
  t.ok(blocked > 0, 'the flood had to wait')
  client.socket.destroy()
  t.match(await lineOf(gateway), { bytes_in: count * message.length })
})

t.test('F-W3 a client that breaks the protocol gets close code 1002, and other sessions continue', async t => {
  const stage = await startRealtime(t)
  const other = await open(t, stage)
  const bad: [string, Buffer][] = [
    ['not masked', textFrame('x', false)],
    ['a reserved bit, as of compressed messages', Buffer.from([0xc1, 0x80, 0, 0, 0, 0])],
    ['an opcode that is not known', Buffer.from([0x85, 0x80, 0, 0, 0, 0])],
    ['a fragmented ping', Buffer.from([0x09, 0x80, 0, 0, 0, 0])],
    ['a continuation of nothing', Buffer.from([0x80, 0x80, 0, 0, 0, 0])],
  ]
  for (const [what, bytes] of bad) {
    const { client, server } = await open(t, stage)
    client.send(Buffer.concat([textFrame('good', true), bytes]))
    t.match(await client.closes.count(1), [{ code: 1002 }], what)
    t.match(JSON.parse(client.texts.items[0] ?? ''), { type: 'error', error: { type: 'invalid_request_error' } })
    t.match(await server.closes.count(1), [{ code: 1001 }], what)
    t.same(server.texts.items, ['good'])
    client.socket.end()
    server.socket.end()
    await client.gone.count(1)
  }
  other.client.send(textFrame('still here', true))
  t.same(await other.server.texts.count(1), ['still here'])
})

t.test('F-W3 an upstream that breaks the protocol is 1011 for the client', async t => {
  for (const bytes of [
    textFrame('x', true),
    Buffer.from([0xc1, 0x00]),
    Buffer.from([0x82, 0x7f, 255, 255, 255, 255, 0, 0, 0, 0]),
  ]) {
    const { client, server, gateway } = await talking(t)
    server.send(Buffer.concat([textFrame('good', false), bytes]))
    t.match(await client.closes.count(1), [{ code: 1011 }])
    t.same(client.texts.items, ['good'])
    server.socket.end()
    client.socket.end()
    t.match(await lineOf(gateway), { outcome: 'upstream_error', error: 'bad_upstream_response' })
  }
})

t.test('F-W3 text that is not UTF-8 is for the two sides to judge', async t => {
  const { client, server } = await talking(t)
  const bytes = frame(1, Buffer.from([0xff, 0xfe, 0x22, 0x6d]), true)
  client.send(bytes)
  t.ok((await server.bytes(bytes.length)).equals(bytes))
})

t.test('F-W3 no compression is agreed on', async t => {
  const stage = await startRealtime(t)
  const offer = { 'sec-websocket-extensions': 'permessage-deflate; client_max_window_bits' }
  const { head } = await open(t, stage, { headers: offer })
  t.equal(stage.up.requests.items[0]?.headers['sec-websocket-extensions'], undefined)
  t.notMatch(head, /extensions/)
})

t.test('F-W3 what comes behind a close frame does not pass', async t => {
  const { client, server } = await talking(t)
  client.send(Buffer.concat([closeFrame(1000, '', true), textFrame('more', true)]))
  await server.closes.count(1)
  server.send(Buffer.concat([closeFrame(1000, '', false), textFrame('more', false)]))
  server.socket.end()
  await client.gone.count(1)
  t.same([client.texts.items, server.texts.items], [[], []])
})

t.test('F-W4 a session in which no one says anything ends', async t => {
  const { client, server, gateway } = await talking(t, waiting('idle: 300ms'))
  t.match(await client.closes.count(1), [{ code: 1001, reason: 'the session was idle' }])
  t.match(await server.closes.count(1), [{ code: 1001 }])
  for (const end of [client, server]) end.socket.end()
  t.match(await lineOf(gateway), { close: 1001, closed_by: 'gateway', phase: 'idle' })
})

t.test('F-W4 pings keep no one from being idle, and a session ends when it is too old', async t => {
  const { client } = await talking(t, waiting('total: 300ms, idle: 20s'))
  const timer = setInterval(() => client.send(textFrame('x', true)), 20)
  t.teardown(() => clearInterval(timer))
  t.match(await client.closes.count(1), [{ code: 1001, reason: 'the session is too old' }])
})

for (const dead of ['client', 'upstream'] as const) {
  t.test(`F-W4 a silent ${dead} is asked with pings, and given up when it does not answer`, async t => {
    fastClock(t)
    const { client, server, gateway } = await talking(t)
    const [silent, other] = dead === 'client' ? [client, server] : [server, client]
    const timer = setInterval(() => other.send(frame(9, Buffer.alloc(0), other === client)), 20)
    t.teardown(() => clearInterval(timer))
    t.match(await other.closes.count(1), [{ code: dead === 'client' ? 1001 : 1011 }])
    t.ok(silent.size >= 4, 'it was asked')
    clearInterval(timer)
    other.socket.end()
    silent.socket.end()
    t.match(await lineOf(gateway), { close: 1006, closed_by: dead })
  })
}

t.test('F-W4 an answer to a ping passes like any other frame, and keeps the session', async t => {
  fastClock(t)
  const { client, server } = await talking(t)
  for (const end of [client, server]) {
    end.socket.on('data', (bytes: Buffer) => {
      if (bytes[0] === 0x89) end.send(frame(10, Buffer.alloc(0), end === client))
    })
  }
  await client.bytes(20)
  t.same([client.closes.items, server.closes.items], [[], []])
})

t.test('F-W4 a key may have so many sessions: 429 before the handshake', async t => {
  const stage = await startRealtime(t, 'limits: { sessions: 2 }\n')
  const [first] = [await open(t, stage), await open(t, stage)]
  const refused = await ask(t, stage.gateway)
  t.equal(refused.status, 429)
  t.match(JSON.parse(refused.body), { error: { code: 'rate_limit_exceeded' } })
  t.match(refused.head, /retry-after: 1\r\n/)
  t.match(await stage.gateway.log.find(line => line.status === 429), { limit: 'sessions', key: 'caller' })
  t.equal(stage.up.requests.items.length, 2, 'no upstream was called')
  first?.client.socket.destroy()
  await stage.gateway.log.find(line => line.outcome === 'client_abort')
  t.equal((await ask(t, stage.gateway)).status, 101, 'a place is free again')
})

t.test('F-W4 refused handshakes take no place', async t => {
  const stage = await startRealtime(t, 'limits: { sessions: 1 }\n')
  stage.up.answer(() => 'HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n')
  for (let i = 0; i < 3; i++) t.equal((await ask(t, stage.gateway)).status, 502)
  stage.up.answer(() => undefined)
  t.equal((await ask(t, stage.gateway)).status, 101)
})

t.test('F-A6 who has no key, two of them or a wrong one is refused before the handshake', async t => {
  const { gateway, up } = await startRealtime(t)
  const cases: [Parameters<typeof ask>[2], number][] = [
    [{ key: null }, 401],
    [{ key: 'wrong' }, 401],
    [{ key: null, headers: { 'sec-websocket-protocol': 'realtime' } }, 401],
    [{ key: null, headers: { 'sec-websocket-protocol': 'realtime, openai-insecure-api-key.wrong' } }, 401],
    [{ headers: { 'sec-websocket-protocol': 'openai-insecure-api-key.wrong' } }, 401],
    [{ path: '/v1/realtime' }, 400],
    [{ path: '/v1/realtime?model=' }, 400],
    [{ path: '/v1/realtime?model=nobody' }, 404],
    [{ headers: { origin: 'https://evil.example' } }, 403],
    [{ headers: { 'sec-websocket-version': '8' } }, 426],
    [{ headers: { 'sec-websocket-key': 'short' } }, 400],
  ]
  for (const [asked, status] of cases) {
    const answer = await ask(t, gateway, asked)
    t.equal(answer.status, status, JSON.stringify(asked))
    t.match(JSON.parse(answer.body), { error: { message: String } })
  }
  t.equal(up.requests.items.length, 0)
  await gateway.log.count(cases.length, line => line.msg === 'request')
})

t.test('F-A6 a message that names a model which may not be used does not get there', async t => {
  const named = (session: string): string => `{"type":"session.update","session":${session}}`
  for (const bad of [
    named('{"model":"not-mine"}'),
    named('{"\\u006dodel":"m"}'),
    '{"session":{"MODEL":"not-mine"},"type":"x"}',
  ]) {
    const { client, server, gateway } = await talking(t)
    client.send(
      Buffer.concat([textFrame(named('{"model":"real-m"}'), true), textFrame(bad, true), textFrame('late', true)]),
    )
    t.match(await client.closes.count(1), [{ code: 1008 }], bad)
    t.match(JSON.parse(client.texts.items[0] ?? ''), { type: 'error', error: { code: 'model_not_found' } })
    await server.closes.count(1)
    for (const end of [client, server]) end.socket.end()
    t.same(server.texts.items, [named('{"model":"real-m"}')], 'what came before it did')
    t.match(await lineOf(gateway), {
      error: 'model_not_found',
      close: 1008,
      closed_by: 'gateway',
      outcome: 'client_error',
    })
  }
})

t.test('F-A6 a forbidden model is found in pieces and fragments too', async t => {
  const text = Buffer.from('{"type":"session.update","session":{"type":"realtime","model":"not-mine"}}')
  const fragments = [
    frame(1, text.subarray(0, 60), true),
    frame(9, Buffer.from('ping'), true),
    frame(0, text.subarray(60), true),
  ]
  for (const [at, fin] of [
    [0, 0x01],
    [2, 0x80],
  ] as const) {
    const bytes = fragments[at]
    if (bytes !== undefined) bytes[0] = fin
  }
  const { client, server } = await talking(t)
  for (const byte of Buffer.concat(fragments)) {
    client.send(Buffer.from([byte]))
    await new Promise(setImmediate)
  }
  t.match(await client.closes.count(1), [{ code: 1008 }])
  await server.gone.count(1)
  t.same(server.texts.items, [])
})

for (const message of [
  '{"type":"session.update","session":{"audio":{"input":{"transcription":{"model":"not-mine"}}}}}',
  '{"session":{"input_audio_transcription":{"model":"not-mine"}}}',
  '{"session":{"inputAudioTranscription":{"m\\u006fdel":"not-mine"}}}',
  '{"session":{"audio":{"input":{"transcription":{"model":"other","model":"not-mine"}}}}}',
  '{"session":{"audio":{},"audio":{"input":{"transcription":{"model":"not-mine"}}}}}',
  '{"type":"response.create","response":{"model":"not-mine"}}',
  '{"session":{"api_base":"http://up.example"}}',
  '{"session":{"apiBase":null}}',
  '{"fallbacks":["other"]}',
]) {
  t.test(`F-A6 a message never gets there that names further models or an address: ${message}`, async t => {
    const { client, server } = await talking(t)
    client.send(textFrame(message, true))
    t.match(await client.closes.count(1), [{ code: 1008 }])
    t.match(JSON.parse(client.texts.items[0] ?? ''), { type: 'error', error: { message: String } })
    t.same(server.texts.items, [])
  })
}

t.test('F-A6 the model of a transcription passes where this key may use it under the same name', async t => {
  const { client, server } = await talking(t)
  const message = '{"session":{"audio":{"input":{"transcription":{"model":"other"}}}}}'
  client.send(textFrame(message, true))
  t.same(await server.texts.count(1), [message])
})

t.test('F-A6 another model passes where this key may use it under the same name on the same upstream', async t => {
  const { client, server } = await talking(t)
  client.send(textFrame('{"session":{"model":"other"}}', true))
  t.same(await server.texts.count(1), ['{"session":{"model":"other"}}'])
  client.send(textFrame('{"session":{"model":"m"}}', true))
  t.match(await client.closes.count(1), [{ code: 1008 }], 'an alias means another model there')
})

t.test('F-C10 an oversize URL and too many headers are refused before the handshake', async t => {
  const { gateway } = await startRealtime(t)
  const long = (size: number): Promise<Answered> =>
    ask(t, gateway, { path: `/v1/realtime?model=m&x=${'y'.repeat(size)}` })
  const room = 8192 - '/v1/realtime?model=m&x='.length
  t.equal((await long(room)).status, 101)
  t.equal((await long(room + 1)).status, 414)
  const headers = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-${index}`, 'y']))
  t.equal((await ask(t, gateway, { headers })).status, 431)
})

t.test('F-C12 messages made to be slow to read are read in linear time', async t => {
  const { client, server } = await talking(t)
  const bad = [
    '"\\\\'.repeat(80_000),
    '{"session":'.repeat(50_000),
    `"${'\\"'.repeat(200_000)}`,
    '"model":'.repeat(60_000),
  ]
  const frames = bad.map(text => rawText(text))
  for (const bytes of frames) client.send(bytes)
  const all = Buffer.concat(frames)
  t.ok((await server.bytes(all.length)).equals(all))
})

function rawText(text: string): Buffer {
  const payload = Buffer.from(text)
  const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])
  head.writeUInt32BE(payload.length, 6)
  return Buffer.concat([head, payload.map((byte, at) => byte ^ ((at & 3) + 1))])
}

t.test('F-C13 nothing of the query, the model or the subprotocols gets into a header line', async t => {
  const stage = await startRealtime(t)
  const path = '/v1/realtime?model=m%0d%0aevil:%201'
  t.equal((await ask(t, stage.gateway, { path })).status, 404)
  const headers = { 'sec-websocket-protocol': 'realtime, a b, é', 'x-request-id': 'a"b' }
  const { head } = await open(t, stage, { headers, path: '/v1/realtime?model=m&intent=%0d%0aevil:1' })
  t.notMatch(head, /evil|a"b/)
  t.equal(stage.up.requests.items[0]?.url, '/v1/realtime?model=real-m&intent=%0D%0Aevil%3A1')
})

t.test('F-C14 the upstream’s path is as it was written, whatever the model’s name', async t => {
  const stage = await startRealtime(t, '  "x/*": up\n')
  for (const name of ['x/..%2F..%2Fadmin', 'x/%2e%2e/%2e%2e', 'x/%3Fkey=1%23', 'x/..%5C..']) {
    await open(t, stage, { path: `/v1/realtime?model=${name}` })
    const url = stage.up.requests.items.at(-1)?.url ?? ''
    t.match(url, /^\/v1\/realtime\?model=[^/?#&]+$/, name)
    t.equal(new URL(url, 'ws://x').searchParams.get('model'), decodeURIComponent(name))
  }
})

t.test('F-C15 other methods, plain requests and absolute targets are refused', async t => {
  const { gateway } = await startRealtime(t)
  const plain = await gateway.request('/v1/realtime?model=m')
  t.equal(plain.status, 426)
  t.equal(plain.header('upgrade'), 'websocket')
  t.equal(plain.header('allow'), undefined)
  t.match(plain.json(), { error: { type: 'invalid_request_error', code: 'upgrade_required' } })
  t.equal((await gateway.request('/v1/realtime?model=m', { body: {} })).status, 405)
  const absolute = await ask(t, gateway, { path: 'http://127.0.0.1/v1/realtime?model=m' })
  t.ok(absolute.status === 400 || absolute.status === 404, `${absolute.status}`)
})

t.test('F-P1 a drain ends sessions with 1001 at the end of the frame at hand', async t => {
  const { client, server, gateway } = await talking(t)
  const message = textFrame('x'.repeat(2000), false)
  server.send(message.subarray(0, 1000))
  await client.bytes(1000)
  const closing = gateway.gateway.close()
  t.match(await server.closes.count(1), [{ code: 1001 }])
  server.send(message.subarray(1000))
  t.match(await client.closes.count(1), [{ code: 1001, reason: 'the gateway is shutting down' }])
  t.same(client.texts.items, ['x'.repeat(2000)], 'the frame at hand came to its end')
  client.send(closeFrame(1001, '', true))
  server.send(closeFrame(1001, '', false))
  server.socket.end()
  await closing
  t.match(await lineOf(gateway), { close: 1001, closed_by: 'gateway', phase: 'drain' })
})

t.test('F-P1 a drain does not wait for sides that do not answer', async t => {
  const { gateway, client } = await talking(t)
  const closing = gateway.gateway.close()
  await client.closes.count(1)
  await closing
  t.match(await lineOf(gateway), { close: 1001 })
})
