import t, { type Test } from 'tap'
import { CHAT_ANSWER, chatEvent, chunk, DONE, hang, json, LAST_CHUNK, startStream, stream } from '../helpers/answers.js'
import { canary } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, sending } from '../helpers/forms.js'
import { CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type Answer, connectRaw, type RawClient, request, requestBytes } from '../helpers/raw-client.js'
import { type Peer, type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { compatible, filmYaml, held, startTaskUpstream } from '../helpers/task-upstream.js'

/** What several keys share, and what happens where it is scarce: no one takes all of it, and the shortage is ours. */

interface Stage {
  readonly gateway: TestGateway
  readonly up: RawUpstream
  readonly secret: Readonly<Record<'a' | 'b', string>>
  /** One request of a key: `b` is someone else than `a`. */
  ask(key: 'a' | 'b', body?: object, path?: string): Promise<Answer>
  /** Sends a request of a key and leaves its answer unread. */
  open(key: 'a' | 'b', body?: object, path?: string): Promise<RawClient>
}

const LAST_EVENT = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`
const MIB = 1024 * 1024
const CHATS = '/v1/chat/completions'

/** Two upstreams at one origin, `up` for the model `m` and `twin` for `n`. */
async function stage(t: Test, more = '', models = ''): Promise<Stage> {
  const up = await startRawUpstream(t)
  const env = { KEY_A: canary('caller'), KEY_B: canary('caller') }
  const keys = 'keys: { a: { secret: { env: KEY_A }, models: ["*"] }, b: { secret: { env: KEY_B }, models: ["*"] } }'
  const upstreams = `upstreams: { up: ${upstreamYaml(up.origin)}, twin: ${upstreamYaml(up.origin)} }`
  // Responses are made by translation: those of upstreams that have them themselves run there.
  const spoken = upstreams.replaceAll(', responses: POST /v1/responses', '')
  const yaml = `version: 1\n${keys}\n${spoken}\nmodels: { m: up, n: twin${models} }\n${more}`
  const gateway = await startTestGateway(t, yaml, { env })
  const secret = { a: env.KEY_A, b: env.KEY_B }
  const asked = (key: 'a' | 'b', body: object) => ({ key: secret[key], body })
  return {
    gateway,
    up,
    secret,
    ask: (key, body = CHAT, path = CHATS) => request(t, gateway.origin, path, asked(key, body)),
    open: async (key, body = CHAT, path = CHATS) => {
      const client = await connectRaw(t, gateway.origin)
      await client.send(requestBytes(gateway.origin, path, asked(key, body)))
      return client
    },
  }
}

/** Streams begin and never end; everything else is answered. */
const STREAMS_HANG: Script = async peer => {
  if (!isStream(peer)) return json(CHAT_ANSWER)(peer)
  await startStream(peer)
  await peer.send(chunk(chatEvent('one')))
  await hang(peer)
}

function isStream({ request }: Peer): boolean {
  return (request.json() as { stream?: boolean }).stream === true
}

/** Until so many requests wait for a connection. */
async function waiting({ gateway }: TestGateway, count: number): Promise<void> {
  while (gateway.waiting < count) await new Promise(setImmediate)
}

/** Streams that continue until the test ends them, first come, first served. */
function untilEnded(): { readonly script: Script; readonly end: () => void } {
  const waiting: (() => void)[] = []
  const script: Script = async peer => {
    await startStream(peer)
    await new Promise<void>(resolve => waiting.push(resolve))
    await peer.send(Buffer.concat([chunk(chatEvent('one')), chunk(DONE), Buffer.from(LAST_CHUNK)]))
  }
  return { script, end: () => waiting.shift()?.() }
}

t.test(
  '520 streams of one key on 512 connections: another key is served at once, on this upstream and on its twin',
  async t => {
    const { up, gateway, ask, open } = await stage(t, 'timeouts: { queue: 10m, connect: 10m }\n')
    up.answer(STREAMS_HANG)
    const streams = await Promise.all(Array.from({ length: 520 }, () => open('a', { ...CHAT, stream: true })))
    await up.requests.count(461)
    await waiting(gateway, 520 - 461)
    t.same((await ask('b')).json(), CHAT_ANSWER)
    t.same((await ask('b', { ...CHAT, model: 'n' })).json(), CHAT_ANSWER)
    t.same((await ask('a', { ...CHAT, model: 'n' })).json(), CHAT_ANSWER, 'the same key, on the other upstream')
    t.equal(up.requests.items.length, 461 + 3, 'the others of the first key wait')
    for (const { socket } of streams) socket.destroy()
    await gateway.log.count(520, line => line.status === 499)
    t.same((await ask('a')).json(), CHAT_ANSWER, 'nothing is lost of what those had')
  },
)

t.test('a connection that comes free goes to the key that has none', async t => {
  const { up, gateway, open } = await stage(t, 'limits: { connections: 2 }\ntimeouts: { queue: 10m }\n')
  const { script, end } = untilEnded()
  up.answer(script)
  const numbered = (n: number): object => ({ ...CHAT, stream: true, user: `${n}` })
  for (let n = 0; n < 6; n++) {
    await open('a', numbered(n))
    if (n < 2) await up.requests.count(n + 1)
    else await waiting(gateway, n - 1)
  }
  const late = await open('b', numbered(6))
  await waiting(gateway, 5)
  end()
  await up.requests.count(3)
  t.match(up.requests.items[2]?.json(), { user: '6' })
  end()
  await up.requests.count(4)
  t.match(up.requests.items[3]?.json(), { user: '2' }, 'then its own continue, in their order')
  for (let n = 0; n < 5; n++) end()
  t.equal((await late.answer()).whole, true)
})

/** One connection, which a stream of the key `a` has taken. */
async function busyStage(t: Test, queue = '200ms', more = '', models = ''): Promise<Stage> {
  const made = await stage(t, `limits: { connections: 1, queue: 1 }\ntimeouts: { queue: ${queue} }\n${more}`, models)
  made.up.answer(STREAMS_HANG)
  await made.open('a', { ...CHAT, stream: true })
  await made.up.requests.count(1)
  return made
}

const OWN_SHORTAGE = {
  error: 'unavailable',
  outcome: 'gateway_error',
  phase: 'queue',
  limit: 'connections',
  status: 503,
}

t.test(
  'no connection of our own comes free: 503 with its own phase and limit, and the upstream was not asked',
  async t => {
    const { up, gateway, ask } = await busyStage(t)
    const answer = await ask('b')
    compatibleError(t, answer, 503)
    t.equal(answer.header('retry-after'), '1')
    t.equal(answer.header('x-gateway-error'), 'unavailable')
    const line = await gateway.log.find(line => line.status === 503)
    t.match(line, { ...OWN_SHORTAGE, upstream: 'up', attempts: [{ upstream: 'up', phase: 'queue' }] })
    t.equal(up.requests.items.length, 1)
  },
)

t.test('the queue for connections is full: 503 at once', async t => {
  const { gateway, ask, open } = await busyStage(t, '10m')
  await open('a')
  await waiting(gateway, 1)
  const answer = await ask('b')
  compatibleError(t, answer, 503)
  t.equal(answer.header('retry-after'), '1')
  await gateway.log.find(line => line.limit === 'queue' && line.phase === 'queue')
})

t.test('our own shortage of connections is not a failure of the upstream: no other target is asked for it', async t => {
  const { up, gateway, ask } = await busyStage(t, '200ms', '', ', f: [{ upstream: up }, { upstream: twin }]')
  compatibleError(t, await ask('b', { ...CHAT, model: 'f' }), 503)
  t.match(await gateway.log.find(line => line.status === 503), { attempts: [{ phase: 'queue' }] })
  t.equal(up.requests.items.length, 1)
})

t.test('where retry.on names it, the next target is asked', async t => {
  const { gateway, ask } = await busyStage(
    t,
    '200ms',
    'retry: { on: [queue] }\n',
    ', f: [{ upstream: up }, { upstream: twin }]',
  )
  t.same((await ask('b', { ...CHAT, model: 'f' })).json(), CHAT_ANSWER)
  const line = await gateway.log.find(line => line.model === 'f')
  t.match(line, { status: 200, attempts: [{ phase: 'queue' }, { upstream: 'twin', phase: 'ok' }] })
})

t.test('who goes away while waiting leaves the queue', async t => {
  const { up, gateway, ask, open } = await busyStage(t, '1s')
  for (let n = 0; n < 3; n++) {
    const client = await open('b')
    await waiting(gateway, 1)
    client.socket.destroy()
    await gateway.log.count(n + 1, line => line.status === 499)
  }
  compatibleError(t, await ask('b'), 503)
  t.match(await gateway.log.find(line => line.status === 503), OWN_SHORTAGE)
  t.equal(up.requests.items.length, 1)
})

t.test('requests in flight: one key takes nine tenths, and another one is served', async t => {
  const { up, gateway, ask, open } = await stage(t, 'limits: { in_flight: 10 }\n')
  up.answer(STREAMS_HANG)
  const streams: RawClient[] = []
  for (let n = 0; n < 9; n++) streams.push(await open('a', { ...CHAT, stream: true }))
  await up.requests.count(9)
  const refused = await ask('a')
  compatibleError(t, refused, 503)
  t.equal(refused.header('retry-after'), '1')
  t.match(await gateway.log.find(line => line.status === 503), { key: 'a', limit: 'in_flight' })
  t.same((await ask('b')).json(), CHAT_ANSWER)
  streams[0]?.socket.destroy()
  await gateway.log.find(line => line.status === 499)
  t.same((await ask('a')).json(), CHAT_ANSWER)
})

t.test('64 background responses of one key: the next one of another key is served', async t => {
  const { up, ask } = await stage(t, 'store: { type: memory }\n')
  up.answer(hang)
  const background = { model: 'm', input: 'a', background: true }
  const statuses: number[] = []
  for (let n = 0; n < 66; n++) statuses.push((await ask('a', background, '/v1/responses')).status)
  t.same(statuses, [...Array.from({ length: 65 }, () => 200), 503])
  t.match((await ask('b', background, '/v1/responses')).json(), { status: 'queued' })
  // One that is over makes room for the next.
  const { id } = (await ask('b', background, '/v1/responses')).json() as { id: string }
  t.equal((await ask('b', {}, `/v1/responses/${id}/cancel`)).status, 200)
  t.match((await ask('b', background, '/v1/responses')).json(), { status: 'queued' })
})

t.test('background responses of one key that have ended do not push out the events of another one', async t => {
  const { up, gateway, ask, secret } = await stage(t, 'store: { type: memory }\n')
  up.answer(stream([chatEvent('one'), LAST_EVENT, DONE]))
  const run = async (key: 'a' | 'b'): Promise<string> => {
    const answer = await ask(key, { model: 'm', input: 'a', background: true, stream: true }, '/v1/responses')
    return /resp_\w+/.exec(answer.text)?.[0] ?? ''
  }
  const events = async (key: 'a' | 'b', id: string): Promise<number> =>
    (await request(t, gateway.origin, `/v1/responses/${id}?stream=true`, { key: secret[key] })).status
  const [first, own] = [await run('b'), await run('a')]
  for (let n = 0; n < 32; n++) await run('a')
  t.equal(await events('b', first), 200)
  t.equal(await events('a', own), 400, 'the oldest of the key that has the most')
})

t.test('the disk for large bodies: one key does not fill it', async t => {
  const { up, gateway, secret } = await stage(t, 'spool: { body: 1KiB, memory: 1KiB, disk: 10MiB }\n')
  up.answer(hang)
  const path = '/v1/audio/transcriptions'
  const send = async (key: 'a' | 'b', size: number): Promise<RawClient> => {
    const form = formOf(['model', 'm'], ['file', Buffer.alloc(size, 'x'), 'audio/wav'])
    const client = await connectRaw(t, gateway.origin)
    await client.send(requestBytes(gateway.origin, path, sending(form, { key: secret[key] })))
    return client
  }
  for (let n = 0; n < 4; n++) await send('a', 2 * MIB)
  await up.requests.count(4)
  const refused = await (await send('a', 2 * MIB)).answer()
  compatibleError(t, refused, 503)
  t.equal(refused.header('retry-after'), '1')
  t.match(await gateway.log.find(line => line.status === 503), { key: 'a', limit: 'spool' })
  await send('b', MIB)
  await up.requests.count(5)
})

t.test('a task that finds no connection in time: 503, nothing is begun, and the same key begins it later', async t => {
  const { script, asked, answer } = held(compatible({ status: 'in_progress' }))
  const upstream = await startTaskUpstream(t, script)
  const more = 'limits: { connections: 1 }\ntimeouts: { queue: 200ms }\n'
  // Polls would want the one connection, too.
  const gateway = await startTestGateway(t, filmYaml(upstream.origin, 'poll: { every: 1h }', more), {
    env: { OTHER_KEY: canary('caller') },
  })
  const begin = (key: string): Promise<Answer> =>
    gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat' }, headers: { 'idempotency-key': key } })
  const first = begin('first')
  await asked
  const refused = await begin('second')
  compatibleError(t, refused, 503)
  t.equal(refused.header('retry-after'), '1')
  t.match(await gateway.log.find(line => line.status === 503), OWN_SHORTAGE)
  answer()
  t.equal((await first).status, 200)
  t.equal((await begin('second')).status, 200)
  t.equal(upstream.requests.items.filter(({ method }) => method === 'POST').length, 2)
})
