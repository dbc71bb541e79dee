import { once } from 'node:events'
import { connect as connectNet } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import {
  brokenStream,
  CHAT_ANSWER,
  chatEvent,
  chunk,
  DONE,
  hang,
  json,
  startStream,
  stream,
} from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { clockAhead } from '../helpers/fast-clock.js'
import { CALLER, CHAT, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { connectRaw, RawClient, requestBytes } from '../helpers/raw-client.js'
import { type RawUpstream, type Script, startRawUpstream, turn } from '../helpers/raw-upstream.js'

async function playing(t: Test, script: Script): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(script)
  return { upstream, gateway: await startTestGateway(t, oneUpstream(upstream.origin)) }
}

const MAX_WAITING_BYTES = 1024 * 1024
const MAX_STUFFED_BYTES = 32 * 1024 * 1024
/** More than the kernel takes for a client that does not read, characters. */
const LARGE = 14 * 1024 * 1024
const LARGE_ANSWER = {
  ...CHAT_ANSWER,
  choices: [{ index: 0, message: { role: 'assistant', content: 'y'.repeat(LARGE) }, finish_reason: 'stop' }],
}

/**
 * A client of a gateway whose upstream speaks chat alone, so that answers to other protocols are translated, and written
 * whole; it takes files, too. Scripts start at the head of a request.
 */
async function sized(
  t: Test,
  scheme: 'http' | 'https',
  script: Script,
  more = '',
): Promise<{ stage: TestGateway; upstream: RawUpstream; client: RawClient; reset: () => void }> {
  const upstream = await startRawUpstream(t, { read: 'head' })
  upstream.answer(script)
  const fixture = (name: string): string => join(packageRoot(), 'test/fixtures/tls', name)
  const listen = `listen: { tls: { cert: "${fixture('first.pem')}", key: "${fixture('first.key')}" } }\n`
  const up = `{ base: "${upstream.origin}", speaks: { chat: POST /v1/chat/completions, files: POST /v1/files } }`
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${up} }\nmodels: { m: up }\n${more}`
  const stage = await startTestGateway(t, scheme === 'https' ? yaml + listen : yaml)
  const { hostname: host, port } = new URL(stage.origin)
  const below = connectNet({ host, port: Number(port) })
  t.teardown(() => below.destroy())
  const socket = scheme === 'http' ? below : connect({ socket: below, rejectUnauthorized: false })
  await once(socket, scheme === 'http' ? 'connect' : 'secureConnect')
  return { stage, upstream, client: new RawClient(socket), reset: () => void below.resetAndDestroy() }
}

/** Sends a piece again and again until neither the gateway nor the system takes more; returns how often. */
async function stuff({ socket }: RawClient, piece: Uint8Array): Promise<number> {
  let pieces = 0
  for (; socket.writableLength < MAX_WAITING_BYTES && pieces * piece.length < MAX_STUFFED_BYTES; pieces++) {
    socket.write(piece)
    await turn()
  }
  return pieces
}

const MESSAGES = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] }
const STREAM = { ...CHAT, stream: true }

t.test('F-C1 a client that goes before the head: the upstream is aborted, the log says 499', async t => {
  const { gateway, upstream } = await playing(t, hang)
  const client = await gateway.open('/v1/chat/completions', { body: CHAT })
  await upstream.requests.count(1)
  client.socket.destroy()
  await upstream.aborts.count(1)
  const line = await gateway.log.find(line => line.msg === 'request')
  t.match(line, { status: 499, outcome: 'client_abort' })
})

t.test('F-C1 a client that goes between head and first event', async t => {
  const { gateway, upstream } = await playing(t, async peer => {
    await startStream(peer)
    await peer.gone()
  })
  const client = await gateway.open('/v1/chat/completions', { body: STREAM })
  await upstream.requests.count(1)
  client.socket.destroy()
  await upstream.aborts.count(1)
  t.match(await gateway.log.find(line => line.msg === 'request'), { outcome: 'client_abort' })
})

t.test('F-C8 requests behind one another on a connection all end with it, and hold up no drain', async t => {
  const { gateway, upstream } = await playing(t, hang)
  const { origin, key } = gateway
  const client = await connectRaw(t, origin)
  const one = requestBytes(origin, '/v1/chat/completions', { key, body: CHAT })
  await client.send(Buffer.concat(Array.from({ length: 12 }, () => one)))
  await upstream.requests.count(1)
  client.socket.destroy()
  await upstream.aborts.count(1)
  const line = await gateway.log.find(line => line.msg === 'request')
  t.match(line, { status: 499, outcome: 'client_abort' })
  await gateway.gateway.close()
  t.equal(upstream.requests.items.length, 1, 'the others have not had their turn')
})

t.test(
  'F-C1 clients that connect all at once and leave at once: each of their requests is in the log, and none is left',
  async t => {
    const { gateway } = await playing(t, hang)
    const { origin, key } = gateway
    const bytes = requestBytes(origin, '/v1/chat/completions', { key, body: CHAT })
    const clients = Array.from({ length: 300 }, async () => {
      const client = await connectRaw(t, origin)
      await client.send(bytes)
      client.socket.destroy()
    })
    await Promise.all(clients)
    const left = (): number => gateway.log.items.filter(({ outcome }) => outcome === 'client_abort').length
    await gateway.log.find(() => left() === 300)
    await gateway.gateway.close()
    t.equal(left(), 300)
  },
)

t.test('F-C1 a client that goes mid-stream: what was delivered is accounted, once', async t => {
  const { gateway, upstream } = await playing(t, brokenStream([chatEvent('a'), chatEvent('b')], hang))
  const client = await gateway.open('/v1/chat/completions', { body: STREAM })
  await client.body(await client.head(), body => body.includes('"b"'))
  client.socket.destroy()
  await upstream.aborts.count(1)
  const line = await gateway.log.find(line => line.msg === 'request')
  t.match(line, { outcome: 'client_abort', events: 2 })
  await gateway.chat({}, { key: 'wrong' })
  await gateway.log.find(line => line.status === 401)
  t.equal(gateway.log.items.filter(line => line.outcome === 'client_abort').length, 1)
})

t.test('F-C1 a client that resets its connection mid-stream', async t => {
  const { gateway, upstream } = await playing(t, brokenStream([chatEvent('a')], hang))
  const client = await gateway.open('/v1/chat/completions', { body: STREAM })
  await client.body(await client.head(), body => body.includes('"a"'))
  client.socket.resetAndDestroy()
  await upstream.aborts.count(1)
})

t.test('F-C1 a client that closes its side of the connection has gone', async t => {
  const { gateway, upstream } = await playing(t, hang)
  const client = await gateway.open('/v1/chat/completions', { body: CHAT })
  await upstream.requests.count(1)
  client.socket.end()
  await upstream.aborts.count(1)
  t.match(await gateway.log.find(line => line.msg === 'request'), { status: 499, outcome: 'client_abort' })
  t.equal(await client.closed(), 'fin')
})

/** Takes the head of a request, and nothing more. */
const unread: Script = peer => {
  peer.socket.pause()
  return hang(peer)
}

/** The beginning of an upload. */
function upload({ origin, key }: TestGateway): string {
  const headers = { 'content-type': 'multipart/form-data; boundary=x', 'content-length': `${2 ** 30}` }
  return `${requestBytes(origin, '/v1/files', { method: 'POST', key, headers })}--x\r\n`
}

const chat = ({ origin, key }: TestGateway, more: object = {}): Buffer =>
  requestBytes(origin, '/v1/chat/completions', { key, body: { ...CHAT, ...more } })

for (const scheme of ['http', 'https'] as const)
  for (const what of ['its upload', 'further requests'] as const)
    t.test(`F-C1 a client that resets its connection while nothing of ${what} is read (${scheme})`, async t => {
      const { stage, upstream, client, reset } = await sized(t, scheme, unread)
      await client.send(what === 'its upload' ? upload(stage) : chat(stage))
      await upstream.requests.count(1)
      await stuff(client, what === 'its upload' ? Buffer.alloc(64 * 1024) : chat(stage, { user: 'x'.repeat(4000) }))
      reset()
      t.match(await stage.log.find(line => line.msg === 'request'), { status: 499, outcome: 'client_abort' })
      for (const peer of upstream.connections.items) peer.resume()
      await upstream.aborts.count(1)
      await stage.gateway.close()
      t.equal(stage.log.items.filter(line => line.msg === 'request').length, 1)
    })

t.test(
  'F-C1 a client that closes its connection while nothing of its upload is read: the time-out ends it',
  async t => {
    const { stage, upstream, client } = await sized(t, 'http', unread, 'timeouts: { first_byte: 500ms }\n')
    await client.send(upload(stage))
    await upstream.requests.count(1)
    await stuff(client, Buffer.alloc(64 * 1024))
    client.socket.destroy()
    t.match(await stage.log.find(line => line.msg === 'request'), { phase: 'first_byte' })
    for (const peer of upstream.connections.items) peer.resume()
    await upstream.aborts.count(1)
  },
)

for (const [how, together] of [
  ['one after the other', 1],
  ['together', 3],
] as const)
  t.test(`requests behind one that waits stay at the client, and are answered later (${how})`, async t => {
    let answer = (): void => undefined
    const asked = new Promise<void>(resolve => {
      answer = resolve
    })
    const { gateway, upstream } = await playing(t, async peer => {
      await asked
      await json(CHAT_ANSWER)(peer)
    })
    const client = await connectRaw(t, gateway.origin)
    const one = chat(gateway, { user: 'x'.repeat(16_000) })
    await client.send(Buffer.concat(Array(together).fill(one)))
    await upstream.requests.count(1)
    const more = await stuff(client, one)
    t.ok(more * one.length < MAX_STUFFED_BYTES, `${more} more were taken`)
    answer()
    for (let left = together + more; left > 0; left--) t.equal((await client.answer()).status, 200)
  })

t.test('F-C1 a client that goes within its upload: nothing is sent upstream', async t => {
  const { gateway, upstream } = await playing(t, json({}))
  const client = await gateway.open('/v1/chat/completions', { body: CHAT, headers: { 'content-length': '9999' } })
  client.socket.destroy()
  t.match(await gateway.log.find(line => line.msg === 'request'), { status: 499, outcome: 'client_abort' })
  t.equal(upstream.requests.items.length, 0)
})

t.test('F-C2 no further attempt follows an abort', async t => {
  const first = await startRawUpstream(t)
  const second = await startRawUpstream(t)
  first.answer(hang)
  second.answer(json({}))
  const upstreams = `upstreams:\n  a: ${upstreamYaml(first.origin)}\n  b: ${upstreamYaml(second.origin)}\n`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\n${upstreams}models: { m: [{ upstream: a }, { upstream: b }] }\n`,
  )
  const client = await gateway.open('/v1/chat/completions', { body: CHAT })
  await first.requests.count(1)
  client.socket.destroy()
  await gateway.log.find(line => line.msg === 'request')
  t.equal(second.connections.items.length, 0)
})

t.test('F-C3 a client that does not read holds the upstream back', async t => {
  let written = 0
  const event = Buffer.from(chatEvent('x'.repeat(8000)))
  const { gateway, upstream } = await playing(t, async peer => {
    await startStream(peer)
    const framed = chunk(event)
    while (!peer.socket.destroyed && written < 64 * 1024 * 1024 && peer.socket.writableLength < 1024 * 1024) {
      peer.socket.write(framed)
      written += framed.length
      await new Promise(resolve => setImmediate(resolve))
    }
    await peer.gone()
  })
  const client = await gateway.open('/v1/chat/completions', { body: STREAM })
  await client.head()
  client.socket.pause()
  const peer = await upstream.connections.find(() => true)
  while (peer.writableLength < 1024 * 1024) await new Promise(resolve => setImmediate(resolve))
  t.ok(written < 32 * 1024 * 1024, `the upstream was stopped after ${written} bytes`)
  client.socket.resetAndDestroy()
  await upstream.aborts.count(1)
})

t.test('F-C4 a client that stops reading for good is cut after the stall time-out', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(async peer => {
    await startStream(peer)
    const event = chunk(chatEvent('x'.repeat(8000)))
    while (!peer.socket.destroyed && peer.socket.writableLength < 1024 * 1024) await peer.send(event)
    await peer.gone()
  })
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, 'limits: { stall: 500ms }\n'))
  const client = await gateway.open('/v1/chat/completions', { body: STREAM })
  await client.head()
  client.socket.pause()
  await upstream.aborts.count(1)
  t.match(await gateway.log.find(line => line.msg === 'request'), { phase: 'client_stall' })
})

for (const scheme of ['http', 'https'] as const) {
  t.test(`F-C4 a client that takes nothing of an answer that is written at once is cut (${scheme})`, async t => {
    const { stage, client } = await sized(t, scheme, json(LARGE_ANSWER), 'limits: { stall: 500ms }\n')
    client.socket.pause()
    await client.send(requestBytes(stage.origin, '/v1/messages', { key: stage.key, body: MESSAGES }))
    t.match(await stage.log.find(line => line.msg === 'request'), { status: 499, phase: 'client_stall' })
  })

  t.test(`F-C4 a slow client that reads has all of an event, however long that takes (${scheme})`, async t => {
    const more = 'limits: { line: 32MiB, event: 32MiB }\ntimeouts: { idle: 2h, total: 2h }\n'
    const { stage, client } = await sized(t, scheme, stream([chatEvent('x'.repeat(LARGE)), DONE]), more)
    await client.send(requestBytes(stage.origin, '/v1/chat/completions', { key: stage.key, body: STREAM }))
    const head = await client.head()
    client.socket.pause()
    // The client takes 50 bytes a millisecond, and all of it in more than twice the stall time-out.
    clockAhead(t, performance, () => client.socket.bytesRead / 50)
    const timer = setInterval(() => client.socket.read(), 2)
    t.teardown(() => clearInterval(timer))
    const { body, whole } = await client.body(head)
    t.equal(whole, true)
    t.ok(body.length > LARGE)
  })
}

proveNoLeak(t)
