import t, { type Test } from 'tap'
import { CHAT_ANSWER, hang, json } from '../helpers/answers.js'
import { CALLER, CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { connectRaw, type RawClient, request, requestBytes } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Memory for large bodies is one for all: anyone who finds no room waits at the client. */

const MIB = 1024 * 1024
const CHATS = '/v1/chat/completions'

interface Stage {
  readonly up: RawUpstream
  readonly gateway: TestGateway
  /** Sends a request and leaves its answer unread. */
  open(body: object): Promise<RawClient>
}

/** Room for one body of a MiB, and for another one that is sent of it. */
async function stage(t: Test): Promise<Stage> {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nlimits: { body: 1100KiB, body_memory: 1 }\nupstreams: { up: ${upstreamYaml(up.origin)} }\nmodels: { m: up, other: { upstream: up, as: real } }\n`,
  )
  const open = async (body: object): Promise<RawClient> => {
    const client = await connectRaw(t, gateway.origin)
    await client.send(requestBytes(gateway.origin, CHATS, { key: gateway.key, body }))
    return client
  }
  return { up, gateway, open }
}

const large = (model: string): object => ({ ...CHAT, model, user: 'x'.repeat(MIB) })

/** Until so many bodies wait for memory. */
async function waiting(gateway: TestGateway, count: number): Promise<void> {
  while (gateway.gateway.bodyMemory.waiting !== count) await new Promise(setImmediate)
}

t.test('a body for which there is no room waits at its client, and small ones pass', async t => {
  const { up, gateway, open } = await stage(t)
  up.answer(hang, json(CHAT_ANSWER))
  const first = await open(large('other'))
  await up.requests.count(1)
  const second = await open(large('other'))
  await waiting(gateway, 1)
  t.equal((await gateway.request(CHATS, { body: CHAT })).status, 200)
  t.equal(up.requests.items.length, 2)
  first.socket.destroy()
  t.same((await second.answer()).json(), CHAT_ANSWER)
  t.match(up.requests.items[2]?.json(), { model: 'real', user: /^x{1048576}$/ })
  await gateway.log.count(3, line => line.status !== undefined)
  t.same(gateway.gateway.bodyMemory, { held: 0, waiting: 0 })
})

t.test('what is passed on unchanged is counted once', async t => {
  const { up, gateway, open } = await stage(t)
  up.answer(hang)
  await open(large('m'))
  await up.requests.count(1)
  t.same(gateway.gateway.bodyMemory, { held: JSON.stringify(large('m')).length, waiting: 0 })
})

// While nothing is read of a connection, no one hears that its client has gone.
t.test('anyone who left while they waited gives the room back that they get', async t => {
  const { up, gateway, open } = await stage(t)
  up.answer(hang)
  const first = await open(large('other'))
  await up.requests.count(1)
  const second = await open(large('other'))
  await waiting(gateway, 1)
  second.socket.destroy()
  first.socket.destroy()
  await gateway.log.count(2, line => line.status === 499)
  t.equal(up.requests.items.length, 1)
  t.same(gateway.gateway.bodyMemory, { held: 0, waiting: 0 })
})

t.test('a body that does not tell its length arrives byte for byte, and holds no more than it has', async t => {
  const { up, gateway } = await stage(t)
  up.answer(hang)
  const body = Buffer.from(JSON.stringify({ ...CHAT, user: 'é'.repeat(MIB / 2) }))
  const client = await connectRaw(t, gateway.origin)
  await client.send(
    `POST ${CHATS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
  )
  for (let at = 0; at < body.length; at += 50_001) {
    const piece = body.subarray(at, at + 50_001)
    await client.send(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]))
  }
  await client.send('0\r\n\r\n')
  await up.requests.count(1)
  t.ok(up.requests.items[0]?.body.equals(body))
  t.same(gateway.gateway.bodyMemory, { held: body.length, waiting: 0 })
})

t.test('a body over its limit is refused while it comes, also where it tells no length', async t => {
  const { up, gateway } = await stage(t)
  const body = JSON.stringify({ ...CHAT, user: 'x'.repeat(1200 * 1024) })
  const answer = await request(t, gateway.origin, CHATS, { key: gateway.key, body })
  t.equal(answer.status, 413)
  t.equal(up.requests.items.length, 0)
  t.same(gateway.gateway.bodyMemory, { held: 0, waiting: 0 })
})
