import t, { type Test } from 'tap'
import { brokenStream, chatEvent, chunk, hang, json, startStream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, CHAT, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { connectRaw, requestBytes } from '../helpers/raw-client.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

async function playing(t: Test, script: Script): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(script)
  return { upstream, gateway: await startTestGateway(t, oneUpstream(upstream.origin)) }
}

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

proveNoLeak(t)
