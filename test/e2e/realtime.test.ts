import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RealtimeClientEvent } from 'openai/resources/realtime/realtime'
import t from 'tap'
import { WebSocket } from 'ws'
import { packageRoot } from '../../src/core/package-root.js'
import { closeFrame, pingFrame, textFrame } from '../../src/wire/frames.js'
import { start } from '../cli/bin.js'
import { Conversation } from '../helpers/conversation.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { seeded } from '../helpers/random.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { ask, lineOf, open, realtimeYaml, startRealtime, startSocketUpstream } from '../helpers/realtime.js'
import { CLIENT, startTokenServer } from '../helpers/token-server.js'

type Test = Pick<typeof t, 'teardown'>

const SIMULATED = `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-realtime": sim, "sim-realtime?*": sim, voice: { upstream: sim, as: sim-realtime } }\n`

/** The official client speaks TLS only, regardless of what its base address says. */
async function startSecure(test: Test, more = ''): Promise<TestGateway> {
  const tls = (name: string): string => join(packageRoot(), 'test/fixtures/tls', name)
  const listen = `listen: { tls: { cert: "${tls('first.pem')}", key: "${tls('first.key')}" } }\n`
  return startTestGateway(test, SIMULATED + listen + more)
}

const SAYS = (text: string): RealtimeClientEvent => ({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
})

t.test('the official client holds a spoken conversation with the simulator', async t => {
  const gateway = await startSecure(t)
  const talk = new Conversation(t, gateway, 'voice')
  t.match(await talk.event('session.created'), { session: { object: 'realtime.session', model: 'sim-realtime' } })
  talk.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be brief.' } })
  t.match(await talk.event('session.updated'), { session: { instructions: 'Be brief.' } })
  talk.send(SAYS('good morning'), { type: 'response.create' })
  const { response } = await talk.event('response.done')
  t.match(response, { status: 'completed', output: [{ content: [{ type: 'output_audio' }] }] })
  t.match(await talk.event('response.content_part.done'), { part: { type: 'audio', transcript: String } })
  const transcript = talk.all('response.output_audio_transcript.delta').map(({ delta }) => delta)
  t.match(transcript.join(''), /^You said: "good morning"\./)
  t.equal((await talk.event('response.output_audio_transcript.done')).transcript, transcript.join(''))
  const sound = Buffer.concat(talk.all('response.output_audio.delta').map(({ delta }) => Buffer.from(delta, 'base64')))
  t.ok(sound.length > 24_000, 'more than half a second of samples')
  await talk.event('rate_limits.updated')
  talk.socket.close({ code: 1000, reason: 'thanks' })
  const line = await lineOf(gateway)
  t.match(line, { route: 'WS /v1/realtime', model: 'voice', target: 'sim-realtime', status: 101, outcome: 'ok' })
  t.match(line, { close: 1000, closed_by: 'client', total_tokens: response.usage?.total_tokens })
  t.match(line, { output_audio_tokens: response.usage?.output_token_details?.audio_tokens })
})

t.test('clients that name their model in session.update may name an alias, where the tunnel is framed', async t => {
  const framed = 'routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: framed } }\n'
  const talk = new Conversation(t, await startSecure(t, framed), 'voice')
  await talk.event('session.created')
  talk.send({ type: 'session.update', session: { type: 'realtime', model: 'voice', output_modalities: ['text'] } })
  t.match(await talk.event('session.updated'), { session: { model: 'sim-realtime', output_modalities: ['text'] } })
  talk.send(SAYS('good morning'), { type: 'response.create' })
  t.match(await talk.event('response.content_part.added'), { part: { type: 'text', text: '' } })
  t.match(await talk.event('response.done'), { response: { output: [{ content: [{ type: 'output_text' }] }] } })
})

t.test('the official client speaks, and silence ends its turn', async t => {
  const talk = new Conversation(t, await startSecure(t), 'sim-realtime')
  await talk.event('session.created')
  const tone = Buffer.alloc(48_000)
  for (let at = 0; at < 12_000; at++) tone.writeInt16LE(Math.round(8000 * Math.sin(at / 5)), at * 2)
  for (let at = 0; at < tone.length; at += 4800) {
    talk.send({ type: 'input_audio_buffer.append', audio: tone.subarray(at, at + 4800).toString('base64') })
  }
  talk.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(4800).toString('base64') })
  const { response } = await talk.event('response.done')
  t.ok((response.usage?.input_token_details?.audio_tokens ?? 0) > 0)
  t.same(
    talk.events.items.slice(0, 9).map(event => event.type),
    [
      'session.created',
      'input_audio_buffer.speech_started',
      'input_audio_buffer.speech_stopped',
      'input_audio_buffer.committed',
      'conversation.item.added',
      'conversation.item.done',
      'response.created',
      'response.output_item.added',
      'conversation.item.added',
    ],
  )
})

t.test('the official client has a function called, and reads what is wrong in an error event', async t => {
  const talk = new Conversation(t, await startSecure(t), 'sim-realtime')
  await talk.event('session.created')
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  talk.send({
    type: 'session.update',
    session: {
      type: 'realtime',
      output_modalities: ['text'],
      tools: [{ type: 'function', name: 'get_weather', parameters }],
    },
  })
  talk.send(SAYS('call get_weather with city=Paris'), { type: 'response.create' })
  const call = await talk.event('response.function_call_arguments.done')
  t.same(JSON.parse(call.arguments), { city: 'Paris' })
  await talk.event('response.done')
  talk.send({
    type: 'conversation.item.create',
    item: { type: 'function_call_output', call_id: call.call_id, output: 'rain' },
  })
  talk.send({ type: 'response.create' })
  t.match(await talk.event('response.output_text.done'), { text: /^The tool answered: "rain"\./ })
  talk.send({ type: 'input_audio_buffer.commit', event_id: 'mine' })
  t.match(await talk.event('error'), { error: { code: 'input_audio_buffer_commit_empty', event_id: 'mine' } })
})

t.test('a refusal of the upstream reaches the official client as an HTTP status', async t => {
  const gateway = await startSecure(t)
  const { socket } = new Conversation(t, gateway, 'sim-realtime?status=429&retry-after=2').socket
  const status = await new Promise(resolve => {
    socket.on('unexpected-response', (_request, answer) => resolve([answer.statusCode, answer.headers['retry-after']]))
  })
  t.same(status, [429, '2'])
})

t.test('a browser sends its key as a subprotocol, and is answered with the one that it may have', async t => {
  const { gateway, up } = await startRealtime(t, 'listen: { cors: { origins: ["https://app.example"] } }\n')
  const url = `${gateway.origin.replace('http', 'ws')}/v1/realtime?model=m`
  const offers = ['realtime', `openai-insecure-api-key.${gateway.key}`, 'openai-beta.realtime-v1', 'openai-project.p']
  const socket = new WebSocket(url, offers, { origin: 'https://app.example' })
  t.teardown(() => socket.terminate())
  await new Promise(resolve => socket.once('open', resolve))
  t.equal(socket.protocol, 'realtime')
  t.equal(up.requests.items[0]?.headers['sec-websocket-protocol'], 'realtime, openai-beta.realtime-v1')
})

t.test('the handshake upstream is built, not copied', async t => {
  const { gateway, up } = await startRealtime(t)
  const { head } = await open(
    t,
    { gateway, up },
    {
      path: '/v1/realtime?model=m&intent=transcription&x=%2F..%2F&model=other',
      headers: {
        cookie: 'a=b',
        'x-other': '1',
        'sec-websocket-extensions': 'permessage-deflate',
        origin: gateway.origin,
      },
    },
  )
  const [request] = up.requests.items
  t.equal(request?.url, '/v1/realtime?model=real-m&intent=transcription')
  t.same(Object.keys(request?.headers ?? {}).sort(), [
    'accept-encoding',
    'authorization',
    'connection',
    'host',
    'sec-websocket-key',
    'sec-websocket-version',
    'upgrade',
    'user-agent',
    'x-request-id',
  ])
  t.not(request?.headers['sec-websocket-key'], 'dGhlIHNhbXBsZSBub25jZQ==')
  t.same(
    head.split('\r\n').map(line => line.split(':')[0]),
    ['HTTP/1.1 101 Switching Protocols', 'upgrade', 'connection', 'sec-websocket-accept', 'x-request-id'],
    'without an offer no subprotocol is answered, and nothing of the upstream’s own passes',
  )
  t.match(head, /sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/)
})

t.test('the credential may be in a subprotocol upstream', async t => {
  const up = await startSocketUpstream(t)
  const credential = 'credential: { in: query, name: token, secret: { env: UPSTREAM_KEY } }'
  const gateway = await startTestGateway(t, realtimeYaml(up.origin, '', credential))
  await open(t, { gateway, up }, { path: '/v1/realtime?model=m&token=mine' })
  const query = new URL(up.requests.items[0]?.url ?? '', 'ws://x').searchParams
  t.equal(query.getAll('token').length, 1)
  t.not(query.get('token'), 'mine')
})

t.test('a token that was revoked is renewed once, and the handshake sent again', async t => {
  for (const tunnel of ['raw', 'framed']) {
    const up = await startSocketUpstream(t)
    const server = await startTokenServer(t, [CLIENT])
    const credential = `credential: { type: oauth2, token_url: "${server.tokenUrl}", client_id: gateway, secret: { env: S } }`
    const own = `routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: ${tunnel} } }\n`
    const env = { S: CLIENT.client_secret }
    const gateway = await startTestGateway(t, realtimeYaml(up.origin, own, credential), { env })
    await open(t, { gateway, up })
    const sent = (at: number): string | undefined => up.requests.items[at]?.headers.authorization
    const revoked = sent(0)
    t.match(revoked, /^Bearer \S{20,}$/)
    const refusal = 'HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n'
    up.answer(({ headers }) => (headers.authorization === revoked ? refusal : undefined))
    const { client, server: end } = await open(t, { gateway, up })
    end.send(textFrame('hello', false))
    t.same(await client.texts.count(1), ['hello'], tunnel)
    t.equal(sent(1), revoked)
    t.not(sent(2), revoked)
    up.answer(() => refusal)
    t.equal((await ask(t, gateway)).status, 502)
    t.equal(up.requests.items.length, 4, 'what is refused again is not asked for again and again')
    t.equal(server.asked.items.length, 2)
  }
})

t.test('10,000 random frames pass byte for byte in both directions', async t => {
  const stage = await startRealtime(t)
  const { client, server } = await open(t, stage)
  const random = seeded(20_261_121)
  const up = Buffer.concat(frames(random, 10_000, true))
  const down = Buffer.concat(frames(random, 10_000, false))
  for (let at = 0; at < Math.max(up.length, down.length); at += 50_000) {
    client.send(up.subarray(at, at + 50_000))
    server.send(down.subarray(at, at + 50_000))
  }
  t.ok((await server.bytes(up.length)).equals(up), `${up.length} bytes up`)
  t.ok((await client.bytes(down.length)).equals(down), `${down.length} bytes down`)
})

/** Whole and fragmented messages, text and binary, with pings and pongs between and inside of them. */
function frames(random: () => number, count: number, masked: boolean): Buffer[] {
  const below = (bound: number): number => Math.floor(random() * bound)
  const made: Buffer[] = []
  while (made.length < count) {
    const parts = below(4) === 0 ? 2 + below(3) : 1
    const opcode = 1 + below(2)
    for (let part = 0; part < parts; part++) {
      const size = below(50) === 0 ? below(70_000) : below(300)
      const payload = Buffer.alloc(size, below(2) === 0 ? '{"mode":"x"}' : 'é\\u0022"')
      made.push(raw(part === 0 ? opcode : 0, payload, part === parts - 1, masked, below(2 ** 32)))
      if (below(5) === 0) made.push(raw(9 + below(2), Buffer.alloc(below(126), 'p'), true, masked, below(2 ** 32)))
    }
  }
  return made
}

function raw(opcode: number, payload: Buffer, fin: boolean, masked: boolean, mask: number): Buffer {
  const { length } = payload
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  head[0] = (fin ? 0x80 : 0) | opcode
  head[1] = (masked ? 0x80 : 0) | (length < 126 ? length : length < 65_536 ? 126 : 127)
  if (head.length === 4) head.writeUInt16BE(length, 2)
  if (head.length === 10) head.writeUInt32BE(length, 6)
  if (!masked) return Buffer.concat([head, payload])
  const key = Buffer.alloc(4)
  key.writeUInt32BE(mask)
  return Buffer.concat([head, key, payload.map((byte, at) => byte ^ (key[at & 3] ?? 0))])
}

t.test('usage of every response is added up', async t => {
  const stage = await startRealtime(t)
  const { client, server } = await open(t, stage)
  const done = (input: number, output: number): string =>
    JSON.stringify({ type: 'response.done', response: { usage: { input_tokens: input, output_tokens: output } } })
  server.send(Buffer.concat([textFrame(done(1, 2), false), textFrame('{"type":"other"}', false)]))
  const last = textFrame(done(10, 20), false)
  server.send(last.subarray(0, 40))
  await client.texts.count(2)
  server.send(Buffer.concat([last.subarray(40), closeFrame(1000, '', false)]))
  await client.closes.count(1)
  client.send(closeFrame(1000, '', true))
  server.socket.end()
  t.match(await lineOf(stage.gateway), { input_tokens: 11, output_tokens: 22, events: 3, close: 1000, outcome: 'ok' })
})

t.test('the next target is asked where the first one refuses, before the client is answered', async t => {
  const [first, second] = [await startSocketUpstream(t), await startSocketUpstream(t)]
  const two = `\n  two: { base: "${second.origin}", speaks: { realtime: "GET /r/{model}" } }\nmodels:\n`
  const yaml = realtimeYaml(first.origin).replace('\nmodels:\n', two)
  const gateway = await startTestGateway(t, `${yaml}  both: [up, two]\n`)
  first.answer(() => 'HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n')
  const { status } = await ask(t, gateway, { path: '/v1/realtime?model=both' })
  t.equal(status, 101)
  t.equal(second.requests.items[0]?.url, '/r/both')
})

t.test('what an upstream answers instead of a WebSocket is reported as HTTP', async t => {
  const { gateway, up } = await startRealtime(t)
  const answered = (status: string, body: string, more = ''): string =>
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${more}set-cookie: x=y\r\n\r\n${body}`
  const own = '{"error":{"message":"no such voice","code":"invalid_value"}}'
  const cases: [string, number, RegExp][] = [
    [answered('400 Bad', own), 400, /no such voice/],
    [answered('401 No', '{"error":{"message":"bad key"}}'), 502, /credential/],
    [answered('403 No', '{"error":{"message":"bad key"}}'), 502, /credential/],
    [answered('429 Slow', own, 'retry-after: 7\r\n'), 429, /no such voice/],
    [answered('200 OK', '{}'), 502, /did not open a WebSocket/],
    ['HTTP/1.1 302 There\r\nlocation: http://evil.example/\r\ncontent-length: 0\r\n\r\n', 502, /redirect/],
    [
      'HTTP/1.1 101 Yes\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: no\r\n\r\n',
      502,
      /malformed/,
    ],
    ['not HTTP at all\r\n\r\n', 502, /malformed/],
    ['', 502, /closed the connection/],
  ]
  for (const [bytes, status, words] of cases) {
    up.answer(() => bytes)
    const answer = await ask(t, gateway)
    t.equal(answer.status, status, bytes.slice(0, 30))
    t.match(answer.body, words)
    t.notMatch(answer.head, /set-cookie|evil/)
    t.doesNotThrow(() => JSON.parse(answer.body))
  }
  t.match((await ask(t, gateway)).head, /x-gateway-error: upstream_unavailable/)
})

t.test('an upstream that does not answer the handshake is given up', async t => {
  const up = await startRawUpstream(t, { read: 'never' })
  const own = `routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: raw, timeouts: { first_byte: 100ms } } }\n`
  const quick = await startTestGateway(t, realtimeYaml(up.origin, own))
  const { status, body } = await ask(t, quick)
  t.equal(status, 504)
  t.match(body, /did not answer in time/)
})

t.test('an upstream behind TLS is reached where its certificate is vouched for', async t => {
  const path = (name: string): string => join(packageRoot(), 'test/fixtures/tls', name)
  const read = (name: string): string => readFileSync(path(name), 'utf8')
  const up = await startSocketUpstream(t, { cert: read('first.pem'), key: read('first.key') })
  const yaml = realtimeYaml(up.origin.replace('127.0.0.1', 'localhost'))
  const gateway = await startTestGateway(t, yaml)
  t.equal((await ask(t, gateway)).status, 502)
  t.match(String((await lineOf(gateway)).cause), /SELF_SIGNED/)
  t.equal(up.requests.items.length, 0)

  await gateway.write('trusting.yaml', `${yaml}listen: { port: 0 }\n`)
  const env = {
    CALLER_KEY: gateway.key,
    UPSTREAM_KEY: 'upstream-key-of-a-test',
    NODE_EXTRA_CA_CERTS: path('first.pem'),
  }
  const trusting = start(t, ['serve', 'trusting.yaml'], { cwd: gateway.folder, env })
  const [, origin = ''] = await trusting.until(/(http:\/\/127\.0\.0\.1:\d+)/)
  const { client, server } = await open(t, { gateway: { ...gateway, origin }, up })
  client.send(textFrame('hello', true))
  t.same(await server.texts.count(1), ['hello'])
  server.send(textFrame('hello yourself', false))
  t.same(await client.texts.count(1), ['hello yourself'])
  t.equal(up.requests.items[0]?.headers.host, new URL(up.origin.replace('127.0.0.1', 'localhost')).host)
})

t.test('a reload leaves open sessions as they are', async t => {
  const stage = await startRealtime(t)
  const { client, server } = await open(t, stage)
  await stage.gateway.write('gateway.yaml', realtimeYaml('http://127.0.0.1:9').replace('m: {', 'n: {'))
  await stage.gateway.gateway.reload()
  t.equal((await ask(t, stage.gateway)).status, 404, 'new ones see the new plan')
  client.send(textFrame('still here', true))
  await server.texts.count(1)
  server.send(Buffer.concat([pingFrame(false), textFrame('yes', false)]))
  t.same(await client.texts.count(1), ['yes'])
})

t.test('what comes right behind the handshake passes too', async t => {
  const stage = await startRealtime(t)
  const { server } = await open(t, stage, { early: textFrame('early', true) })
  t.same(await server.texts.count(1), ['early'])
})

t.test('a user’s own WebSocket route is a tunnel of a protocol that no one knows', async t => {
  const up = await startSocketUpstream(t)
  const more =
    'routes: { "WS /own/{room}": { protocol: rooms, upstream: up, tunnel: raw, caller: { in: query, name: key } } }\n'
  const yaml = realtimeYaml(up.origin, more).replace('speaks: {', 'speaks: { rooms: "GET /rooms/{room}",')
  const gateway = await startTestGateway(t, yaml)
  const path = `/own/a%2Fb?key=${gateway.key}&y=1`
  const { head, client, server } = await open(
    t,
    { gateway, up },
    { path, key: null, headers: { 'sec-websocket-protocol': 'chat, realtime' } },
  )
  t.equal(up.requests.items[0]?.url, '/rooms/a%2Fb?y=1')
  t.match(head, /sec-websocket-protocol: realtime/, 'the upstream’s choice is answered')
  client.send(textFrame('{"session":{"model":"whatever"}}', true))
  t.same(await server.texts.count(1), ['{"session":{"model":"whatever"}}'])
})
