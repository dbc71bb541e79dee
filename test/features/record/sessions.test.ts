import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RealtimeClientEvent } from 'openai/resources/realtime/realtime'
import t from 'tap'
import { WebSocket } from 'ws'
import { packageRoot } from '../../../src/core/package-root.js'
import type { RecordedExchange } from '../../../src/core/recording.js'
import { SessionRecorder } from '../../../src/features/record/session-recorder.js'
import { RecordingsSink } from '../../../src/sinks/recordings/recordings-sink.js'
import { frame, textFrame } from '../../../src/wire/frames.js'
import { Conversation } from '../../helpers/conversation.js'
import { CALLER, startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { Journal } from '../../helpers/journal.js'
import { lineOf, open, startRealtime } from '../../helpers/realtime.js'

type Test = Pick<typeof t, 'teardown'>

const SECRET = 'upstream-secret-of-this-test'
const MODELS = 'models: { "sim-realtime*": near, "sim-text": near }'
const RECORD = 'record: { into: tapes }\n'
const FRAMED = 'routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: framed } }\n'
const CERTIFICATE = (name: string): string => join(packageRoot(), 'test/fixtures/tls', name)
const SECURE = `listen: { tls: { cert: "${CERTIFICATE('first.pem')}", key: "${CERTIFICATE('first.key')}" } }\n`

/** A gateway that records what it asks a simulator. */
function recording(test: Test, more = RECORD): Promise<TestGateway> {
  const near = '{ kind: simulator, credential: { in: header, name: x-sim, secret: { env: SIM } } }'
  const text = `version: 1\n${CALLER}\nupstreams: { near: ${near} }\n${MODELS}\n${more}`
  return startTestGateway(test, text, { env: { SIM: SECRET } })
}

function playing(test: Test, from: string, settings = '', more = ''): Promise<TestGateway> {
  const near = `{ kind: recorded, recordings: { from: "${from}"${settings} } }`
  return startTestGateway(test, `version: 1\n${CALLER}\nupstreams: { near: ${near} }\n${MODELS}\n${more}`)
}

/** The files once the gateway has written what waited. */
async function recorded(gateway: TestGateway): Promise<readonly RecordedExchange[]> {
  await gateway.gateway.close()
  return filesOf(gateway).map(file => JSON.parse(readFileSync(file, 'utf8')) as RecordedExchange)
}

function filesOf({ folder }: TestGateway): readonly string[] {
  const into = join(folder, 'tapes')
  return readdirSync(into)
    .sort()
    .map(file => join(into, file))
}

interface Closed {
  readonly code: number
  readonly reason: string
}

/** A session of a plain client. */
class Talk {
  readonly socket: WebSocket
  readonly frames = new Journal<string>('frames')
  readonly closed = new Journal<Closed>('close')

  constructor(test: Test, { origin, key }: TestGateway, model: string) {
    const headers = { authorization: `Bearer ${key}` }
    const url = `${origin.replace(/^http/, 'ws')}/v1/realtime?model=${encodeURIComponent(model)}`
    this.socket = new WebSocket(url, { headers })
    this.socket.on('message', (data: Buffer) => this.frames.push(data.toString('utf8')))
    this.socket.on('close', (code, reason) => this.closed.push({ code, reason: reason.toString('utf8') }))
    this.socket.on('error', () => undefined)
    test.teardown(() => this.socket.terminate())
  }

  /** Sends messages once the session has begun, and waits for the end of the response. */
  async say(...messages: readonly object[]): Promise<readonly string[]> {
    await this.until('session.created')
    const before = this.frames.items.length
    for (const message of messages) this.socket.send(JSON.stringify(message))
    await this.frames.find(text => this.frames.items.indexOf(text) >= before && typeOf(text) === 'rate_limits.updated')
    return this.frames.items
  }

  until(type: string): Promise<string> {
    return this.frames.find(text => typeOf(text) === type)
  }

  async end(): Promise<Closed> {
    this.socket.close(1000, 'thanks')
    return (await this.closed.count(1))[0] as Closed
  }
}

function typeOf(text: string): unknown {
  return (JSON.parse(text) as { readonly type?: unknown }).type
}

const UPDATE = { type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } }
const CREATE = { type: 'response.create' }
const says = (text: string): object => ({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
})

for (const [kind, more] of [
  ['raw', ''],
  ['framed', FRAMED],
] as const) {
  t.test(`a session is recorded without secrets and masked, and played to the same client (${kind})`, async t => {
    const live = await recording(t, RECORD + more)
    const asked = [
      UPDATE,
      says(`write to ann@example.com, my key is ${live.key}, that of the server ${SECRET}`),
      CREATE,
    ]
    const talk = new Talk(t, live, 'sim-realtime')
    const frames = await talk.say(...asked)
    await talk.end()
    const [session, ...others] = await recorded(live)
    t.same(others, [])
    t.match(session?.request, { method: 'WS', url: /\/v1\/realtime\?model=sim-realtime$/ })
    t.match(session, { response: { status: 101 }, end: { by: 'client', code: 1000 } })
    const passed = session?.frames ?? []
    t.match(passed[0], { from: 'upstream', json: { type: 'session.created' } })
    t.match(passed[1], { from: 'client', json: UPDATE })
    t.match(passed.at(-1), { from: 'client', close: 1000, reason: 'thanks' })
    t.equal(passed.filter(({ from }) => from === 'upstream').length, frames.length)
    const times = passed.map(({ after_ms: at = -1 }) => at)
    t.same(
      times,
      times.toSorted((one, other) => one - other),
    )
    const [file = ''] = filesOf(live)
    const text = readFileSync(file, 'utf8')
    for (const secret of [SECRET, live.key, 'ann@example', 'x-sim', 'authorization'])
      t.notOk(text.includes(secret), secret)
    t.match(text, 'write to [email], my key is [secret], that of the server [secret]')
    t.equal(statSync(file).mode & 0o777, 0o600)

    const offline = await playing(t, join(live.folder, 'tapes'), '', more)
    const again = new Talk(t, offline, 'sim-realtime')
    const clean = (text: string): string =>
      text.replaceAll('ann@example.com', '[email]').replaceAll(live.key, '[secret]').replaceAll(SECRET, '[secret]')
    // Masked, the pieces of a text may have other borders.
    const piece = /(?<="delta":")(?:[^"\\]|\\.)*/g
    const whole = (all: readonly string[]): readonly string[] => [
      ...all.map(text => clean(text.replace(piece, ''))),
      clean(all.flatMap(text => text.match(piece) ?? []).join('')),
    ]
    const played = await again.say(...asked)
    t.same(whole(played), whole(frames))
    t.match(played.flatMap(text => text.match(piece) ?? []).join(''), 'write to [email], my key is [secret]')
    t.same(await again.end(), { code: 1000, reason: 'thanks' })
  })
}

t.test('the official client holds the same spoken conversation with a recording', async t => {
  const live = await recording(t, RECORD + SECURE)
  const converse = async (gateway: TestGateway): Promise<readonly object[]> => {
    const talk = new Conversation(t, gateway, 'sim-realtime')
    await talk.event('session.created')
    talk.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be brief.' } })
    await talk.event('session.updated')
    talk.send(says('good morning') as RealtimeClientEvent, { type: 'response.create' })
    await talk.event('rate_limits.updated')
    talk.socket.close({ code: 1000, reason: 'thanks' })
    await lineOf(gateway)
    return talk.events.items
  }
  const events = await converse(live)
  t.ok(events.length > 15, `${events.length} events`)
  await recorded(live)
  const offline = await playing(t, join(live.folder, 'tapes'), ', timing: recorded', SECURE)
  t.same(await converse(offline), events)
  t.match(await lineOf(offline), { outcome: 'ok', close: 1000, total_tokens: (await lineOf(live)).total_tokens })
})

t.test('how a session ends is recorded and played: a close code, a connection that breaks off', async t => {
  for (const [faults, closed, end] of [
    ['fin-after=3&close=4001', { code: 4001, reason: 'as asked for' }, { by: 'upstream', code: 4001 }],
    ['reset-after=3', { code: 1011 }, { by: 'upstream', code: 1006, error: 'upstream_truncated' }],
  ] as const) {
    const model = `sim-realtime?${faults}`
    const converse = async (gateway: TestGateway): Promise<readonly [readonly string[], Closed | undefined]> => {
      const talk = new Talk(t, gateway, model)
      await talk.until('session.created')
      talk.socket.send(JSON.stringify(UPDATE))
      await talk.until('session.updated')
      talk.socket.send(JSON.stringify(says('hello')))
      return [talk.frames.items, (await talk.closed.count(1))[0]]
    }
    const live = await recording(t)
    const [frames, how] = await converse(live)
    t.match(how, closed)
    const [session] = await recorded(live)
    t.match(session?.end, end)
    t.same(await converse(await playing(t, join(live.folder, 'tapes'))), [frames, how])
  }
})

t.test('a recording says that the client disconnected in the middle of its session', async t => {
  const live = await recording(t)
  const talk = new Talk(t, live, 'sim-realtime')
  await talk.until('session.created')
  talk.socket.send(JSON.stringify(UPDATE))
  await talk.until('session.updated')
  talk.socket.terminate()
  await lineOf(live)
  const [session] = await recorded(live)
  t.match(session?.end, { by: 'client', code: 1006, error: 'client_gone' })
  t.equal(session?.frames?.length, 3)
})

t.test('a refused handshake is recorded and played', async t => {
  const status = (gateway: TestGateway): Promise<number | undefined> =>
    new Promise(resolve => {
      const { socket } = new Talk(t, gateway, 'sim-realtime?status=429')
      socket.on('unexpected-response', (_, answer) => resolve(answer.statusCode))
    })
  const live = await recording(t, `${RECORD}retry: { attempts: 1, max_wait: 1ms }\n`)
  t.equal(await status(live), 429)
  const [session] = await recorded(live)
  t.match(session, { request: { method: 'WS' }, response: { status: 429, body: { error: {} } } })
  t.equal(await status(await playing(t, join(live.folder, 'tapes'))), 429)
})

t.test('of recordings of one handshake, what the client says decides', async t => {
  const live = await recording(t)
  const said: Record<string, readonly string[]> = {}
  for (const word of ['one', 'two']) {
    const talk = new Talk(t, live, 'sim-realtime')
    said[word] = await talk.say(UPDATE, says(word), CREATE)
    await talk.end()
  }
  await recorded(live)
  const offline = await playing(t, join(live.folder, 'tapes'))
  for (const word of ['two', 'one', 'two'])
    t.same(await new Talk(t, offline, 'sim-realtime').say(UPDATE, says(word), CREATE), said[word], word)
})

t.test('a message that no recording fits ends the session: the nearest one and what differs are named', async t => {
  const live = await recording(t)
  const talk = new Talk(t, live, 'sim-realtime')
  await talk.say(UPDATE, says('one'), CREATE)
  await talk.end()
  await recorded(live)
  const from = join(live.folder, 'tapes')
  const strict = await playing(t, from)
  const other = new Talk(t, strict, 'sim-realtime')
  await other.until('session.created')
  for (const message of [UPDATE, says('two')]) other.socket.send(JSON.stringify(message))
  const miss =
    /^No recording fits message 2 of WS \/v1\/realtime\. The nearest is [\w.-]+\.json, with other item\.content\.0\.text: recorded "one", asked "two"$/
  t.match(JSON.parse(await other.until('error')), { error: { code: 'no_recording', message: miss } })
  t.match(await other.closed.count(1), [{ code: 1008, reason: /^No recording fits message 2 of WS/ }])
  t.match(await lineOf(strict), { close: 1008, closed_by: 'upstream', error: 'upstream_failed' })

  const loose = await playing(t, from, ', match: [type]')
  const third = new Talk(t, loose, 'sim-realtime')
  await third.say(UPDATE, says('two'), CREATE)
  third.socket.send(JSON.stringify(CREATE))
  t.match(JSON.parse(await third.until('error')), {
    error: { message: /^No recording continues: [\w.-]+\.json has 3 messages of the client, this is 4$/ },
  })

  const wrong = new Talk(t, strict, 'sim-realtime?pace=1')
  const answer = await new Promise(resolve => {
    wrong.socket.on('unexpected-response', (_, { statusCode }) => resolve(statusCode))
  })
  t.equal(answer, 400, 'another model is another recording')
})

t.test('a recording may be changed by hand; what cannot be played stops the start, and says where it is', async t => {
  const live = await recording(t)
  const talk = new Talk(t, live, 'sim-realtime')
  await talk.say(UPDATE, says('one'), CREATE)
  await talk.end()
  await recorded(live)
  const [file = ''] = filesOf(live)
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll('said: \\"one\\"', 'said: \\"uno\\"'))
  const changed = await new Talk(t, await playing(t, file), 'sim-realtime').say(UPDATE, says('one'), CREATE)
  t.match(changed.join(), 'uno')
  for (const [what, how] of [
    ['"from":"client","after_ms":', '"from":"me","after_ms":'],
    ['"json":{"type":"session.update"', '"body":{"type":"session.update"'],
    ['"close":1000', '"close":99'],
  ] as const) {
    writeFileSync(file, text.replace(what, how))
    await t.rejects(
      playing(t, file),
      /frame \d+ cannot be played: expected from: client or upstream, after_ms, and one of/,
    )
  }
  writeFileSync(file, text.replace('"frames"', '"messages"'))
  await t.rejects(playing(t, file), /frames is missing here/)
  writeFileSync(file, text.replace('"frames"', 'frames'))
  await t.rejects(playing(t, file), /cannot be read/)
})

t.test('binary frames are recorded as JSON where they hold some, else as base64, and played as they were', async t => {
  const stage = await startRealtime(t, RECORD)
  const { client, server } = await open(t, stage)
  const [json, bytes] = [Buffer.from('{"setup":{"voice":"a"}}'), Buffer.from([0, 0, 1, 0x80, 0xff])]
  client.send(Buffer.concat([frame(2, json, true), frame(2, bytes, true)]))
  await server.bytes(json.length + bytes.length + 12)
  server.send(Buffer.concat([frame(2, json, false), frame(2, bytes, false), textFrame('plain', false)]))
  await client.texts.count(1)
  const got = await client.bytes(0)
  client.socket.destroy()
  await lineOf(stage.gateway)
  const [session] = await recorded(stage.gateway)
  const both = [{ binary: true, json: { setup: { voice: 'a' } } }, { base64: bytes.toString('base64') }]
  t.match(session?.frames, [...both, ...both, { text: 'plain' }])

  const more = `realtime: "GET /v1/realtime?model={model}"`
  const tape = `{ kind: recorded, recordings: "${join(stage.gateway.folder, 'tapes')}", speaks: { ${more} } }`
  const offline = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { up: ${tape} }\nmodels: { m: { upstream: up, as: real-m } }\n`,
  )
  const headers = { authorization: `Bearer ${offline.key}` }
  const socket = new WebSocket(`${offline.origin.replace(/^http/, 'ws')}/v1/realtime?model=m`, { headers })
  const played = new Journal<readonly [Buffer, boolean]>('messages')
  socket.on('message', (data: Buffer, isBinary) => played.push([data, isBinary]))
  socket.on('open', () => {
    socket.send(json)
    socket.send(bytes)
  })
  t.same(await played.count(3), [
    [json, true],
    [bytes, true],
    [Buffer.from('plain'), false],
  ])
  t.ok(got.includes(json) && got.includes(bytes))
  socket.terminate()
})

t.test('a session with more than can be recorded passes whole; its recording is cut, and says so', async t => {
  const stage = await startRealtime(t, RECORD)
  const { client, server } = await open(t, stage)
  const large = Buffer.alloc(60_000, 'x')
  const count = Math.ceil((33 * 1024 * 1024) / large.length)
  const piece = frame(1, large, false)
  client.send(textFrame('{"type":"begin"}', true))
  await server.texts.count(1)
  for (let at = 0; at < count; at++) server.send(piece)
  await client.texts.count(count)
  t.ok((await client.bytes(count * piece.length)).length === count * piece.length, 'nothing is lost')
  client.socket.destroy()
  await lineOf(stage.gateway)
  const [session] = await recorded(stage.gateway)
  t.match(session?.end, { cut: 'it has more than 33554432 bytes', by: 'gateway', code: 1006 })
  const frames = session?.frames ?? []
  t.ok(frames.length > 500 && frames.length < count, `${frames.length} frames`)

  const from = join(stage.gateway.folder, 'tapes')
  const tape = `{ kind: recorded, recordings: "${from}" }`
  const offline = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { up: ${tape} }\nmodels: { m: { upstream: up, as: real-m } }\n`,
  )
  const again = new Talk(t, offline, 'm')
  again.socket.on('open', () => again.socket.send('{"type":"begin"}'))
  t.match(await again.closed.count(1), [
    { code: 1011, reason: 'the recording ends here: it has more than 33554432 bytes' },
  ])
  t.equal(again.frames.items.length, frames.length - 1)
})

t.test(
  'sessions that wait to be written have a bound together: the recording of one that has no room is cut',
  async t => {
    const notices: object[] = []
    const sink = new RecordingsSink(fields => notices.push(fields))
    const config = { into: t.testdir(), mask: [], words: [], members: [] }
    const about = {
      config,
      upstream: { origin: 'http://up', secrets: [] },
      presented: [],
      route: 'realtime',
      model: 'm',
    }
    const request = { method: 'WS', path: '/v1/realtime', headers: [], body: null }
    const begin = { about, time: 0, request, status: 101, headers: {}, headAt: 1 }
    t.ok(sink.reserve(256 * 1024 * 1024 - 1000))
    const recorder = new SessionRecorder(begin, sink, () => 2)
    for (const size of [100, 2000, 100]) {
      recorder.onPiece('client', Buffer.alloc(size, 'x'))
      recorder.onMessage('client', true)
    }
    // The session continues; what there is of it is written.
    await sink.close()
    t.ok(sink.reserve(1000), 'its room is free as soon as it is cut')
    sink.release(1000)
    recorder.onEnd(undefined, undefined)
    recorder.onEnd(undefined, undefined)
    await sink.close()
    const [file = '', ...others] = readdirSync(config.into)
    t.same(others, [], 'a session has one end')
    const { frames, end } = JSON.parse(readFileSync(join(config.into, file), 'utf8')) as RecordedExchange
    t.equal(frames?.length, 1)
    t.match(end, { by: 'gateway', code: 1006, cut: 'too many wait to be written' })
    t.ok(sink.reserve(1000), 'its room is free again')
    t.notOk(sink.reserve(1))
  },
)

t.test('a folder that cannot be written harms no session', async t => {
  const live = await recording(t, 'record: { into: gateway.yaml }\n')
  const talk = new Talk(t, live, 'sim-realtime')
  await talk.say(UPDATE, says('one'), CREATE)
  t.match(await talk.end(), { code: 1000 })
  await live.gateway.close()
  t.match(await live.log.find(({ msg }) => msg === 'an exchange is not recorded'), { reason: /EEXIST|ENOTDIR/ })
})

t.test('sound in base64 stays as it is, also if a part of it looks like a telephone number', async t => {
  const stage = await startRealtime(t, RECORD)
  const { client, server } = await open(t, stage)
  const audio = `${'A'.repeat(600)}/12/34567890/${'B'.repeat(600)}`
  client.send(textFrame(JSON.stringify({ audio, text: 'call 030 12345678' }), true))
  await server.texts.count(1)
  client.socket.destroy()
  await lineOf(stage.gateway)
  const [session] = await recorded(stage.gateway)
  t.same(session?.frames?.[0]?.json, { audio, text: 'call [phone]' })
})

t.test('a message that is too large to be recorded passes, and ends the recording', async t => {
  const live = await recording(t)
  const talk = new Talk(t, live, 'sim-realtime')
  await talk.say(UPDATE, says('x'.repeat(9 * 1024 * 1024)), CREATE)
  t.match(await talk.end(), { code: 1000 })
  const [session] = await recorded(live)
  t.match(session?.end, { by: 'gateway', code: 1006, cut: 'a message has more than 8388608 bytes' })
  t.match(session?.frames?.[1], { json: UPDATE })
  t.ok((session?.frames?.length ?? 0) < 4)
})

t.test('a large message is cleaned and recorded whole', async t => {
  const live = await recording(t)
  const talk = new Talk(t, live, 'sim-realtime')
  const words = 'the quick brown fox '.repeat(200_000)
  await talk.say(UPDATE, says(`${words}ann@example.com ${live.key}`), CREATE)
  await talk.end()
  const [session] = await recorded(live)
  t.notOk(session?.end?.cut)
  const [text = ''] = /the quick brown[^"]*/.exec(JSON.stringify(session?.frames)) ?? []
  t.equal(text.length, words.length + '[email] [secret]'.length)
  t.ok(text.endsWith('[email] [secret]'))
})

t.test('a recording says that the gateway ended the session to stop', async t => {
  const live = await recording(t)
  const talk = new Talk(t, live, 'sim-realtime')
  await talk.until('session.created')
  const [session] = await recorded(live)
  t.match(await talk.closed.count(1), [{ code: 1001 }])
  t.match(session?.end, { by: 'gateway', code: 1001, error: 'unavailable' })
})

for (const slow of ['upstream', 'client'] as const) {
  t.test(`a recorded tunnel keeps its back-pressure: the ${slow} does not read`, async t => {
    const stage = await startRealtime(t, RECORD)
    const { client, server } = await open(t, stage)
    const [from, to] = slow === 'upstream' ? [client, server] : [server, client]
    to.socket.pause()
    const piece = frame(2, Buffer.alloc(60_000, 7), slow === 'upstream')
    let sent = 0
    // Until the gateway takes no more.
    while (from.socket.writableLength < 4 * 1024 * 1024 && sent < 2000) {
      from.send(piece)
      sent++
      await new Promise<void>(resolve => setImmediate(resolve))
    }
    t.ok(from.socket.writableLength >= 4 * 1024 * 1024, `${sent} frames were sent`)
    to.socket.resume()
    t.equal((await to.bytes(sent * piece.length)).length, sent * piece.length)
    client.socket.destroy()
    await lineOf(stage.gateway)
    await recorded(stage.gateway)
  })
}

t.test('responses over a WebSocket are recorded as the exchanges that they are upstream, and played', async t => {
  const live = await recording(t)
  const converse = async ({ origin, key }: TestGateway): Promise<readonly string[]> => {
    const socket = new WebSocket(`${origin.replace(/^http/, 'ws')}/v1/responses`, {
      headers: { authorization: `Bearer ${key}` },
    })
    t.teardown(() => socket.terminate())
    const texts = new Journal<string>('events')
    socket.on('message', (data: Buffer) => texts.push(data.toString('utf8')))
    socket.on('open', () => socket.send(JSON.stringify({ type: 'response.create', model: 'sim-text', input: 'hello' })))
    await texts.find(text => typeOf(text) === 'response.completed')
    return texts.items.map(text => String(typeOf(text)))
  }
  const types = await converse(live)
  const [exchange, ...others] = await recorded(live)
  t.same(others, [])
  t.match(exchange, { request: { method: 'POST', url: /\/v1\/responses$/ }, response: { status: 200 } })
  t.same(await converse(await playing(t, join(live.folder, 'tapes'))), types)
})
