import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request as send } from 'node:https'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { CHAT_ANSWER, chatEvent, chunk, hang, json, startStream } from '../helpers/answers.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, sending } from '../helpers/forms.js'
import { CALLER, CHAT, type LogLine, upstreamYaml } from '../helpers/gateway.js'
import { inTime, Journal } from '../helpers/journal.js'
import { type Answer, connectRaw, type RawClient, request, requestBytes } from '../helpers/raw-client.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

/** A process whose file descriptors run out: it says so, blames no one else, and serves on once there are some again. */

const skip = process.platform === 'win32' ? 'no such limit here' : false
const DESCRIPTORS = 256
const KEY = 'the-key-of-the-caller-0123456789'
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
const CHATS = '/v1/chat/completions'

interface Stage {
  readonly origin: string
  readonly up: RawUpstream
  readonly log: Journal<LogLine>
  ask(): Promise<Answer>
  /** Sends a chat request and leaves its answer unread. */
  open(body: object): Promise<RawClient>
}

/** A gateway as a process of its own. */
async function stage(t: Test, more = ''): Promise<Stage> {
  const up = await startRawUpstream(t)
  const upstreams = `upstreams: { up: ${upstreamYaml(up.origin)}, other: ${upstreamYaml(up.origin)} }`
  const models = 'models: { m: [{ upstream: up }, { upstream: other }] }'
  const yaml = `version: 1\n${CALLER}\n${upstreams}\n${models}\nstore: { type: memory }\n${more}`
  const file = join(t.testdir({ 'gateway.yaml': yaml }), 'gateway.yaml')
  const gateway = [join(packageRoot(), 'bin/gateway.js'), 'serve', file, '--port', '0', '--no-watch']
  const line = `ulimit -n ${DESCRIPTORS}; exec "$@"`
  const env = { PATH: process.env.PATH, CALLER_KEY: KEY, UPSTREAM_KEY: 'upstream' }
  const child = spawn('sh', ['-c', line, 'sh', process.execPath, ...gateway], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const log = linesOf(child)
  const { address } = await log.find(line => line.msg === 'listening')
  const origin = String(address)
  return {
    origin,
    up,
    log,
    ask: () => request(t, origin, CHATS, { key: KEY, body: CHAT }),
    open: async body => {
      const client = await connectRaw(t, origin)
      await client.send(requestBytes(origin, CHATS, { key: KEY, body }))
      return client
    },
  }
}

function linesOf({ stderr }: ChildProcess): Journal<LogLine> {
  const log = new Journal<LogLine>('log')
  let rest = ''
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('{')) log.push(JSON.parse(line))
  })
  return log
}

/** Streams begin and never end; everything else is answered. */
const STREAMS_HANG: Script = async peer => {
  if ((peer.request.json() as { stream?: boolean }).stream !== true) return json(CHAT_ANSWER)(peer)
  await startStream(peer)
  await peer.send(chunk(chatEvent('one')))
  await hang(peer)
}

const OURS = { status: 503, error: 'unavailable', outcome: 'gateway_error', limit: 'descriptors', phase: 'descriptors' }

/** Takes all that are left by connections that ask for nothing; gives them back when called. */
async function takeAll(t: Test, origin: string): Promise<() => void> {
  const { hostname, port } = new URL(origin)
  const sockets = Array.from({ length: DESCRIPTORS }, () => createConnection({ host: hostname, port: Number(port) }))
  t.teardown(() => sockets.map(socket => socket.destroy()))
  // Connections for which there is no descriptor are closed at once.
  await inTime(Promise.race(sockets.map(socket => once(socket.resume(), 'end'))), () => 'there are always more')
  return () => void sockets.map(socket => socket.destroy())
}

/** The gateway learns little by little that connections are gone. */
async function untilServed(ask: Stage['ask']): Promise<Answer> {
  for (;;) {
    const answer = await ask().catch(() => undefined)
    if (answer?.status === 200) return answer
  }
}

t.test(
  'F-P6 streams until descriptors run out: new connections get 503, and are served afterwards',
  { skip },
  async t => {
    const { up, log, ask, open } = await stage(t)
    up.answer(STREAMS_HANG)
    const streams: RawClient[] = []
    for (let ok = true; ok; ) {
      const client = await open({ ...CHAT, stream: true })
      ok = (await client.head()).line.includes(' 200 ')
      if (ok) streams.push(client)
    }
    t.ok(streams.length > 50, `${streams.length} streams`)
    const answer = await ask()
    compatibleError(t, answer, 503)
    t.equal(answer.header('retry-after'), '1')
    t.equal(answer.header('connection'), 'close')
    const line = await log.find(line => line.status === 503)
    t.match(line, OURS)
    t.equal(line.attempts, undefined, 'no upstream was asked')
    for (const { socket } of streams) socket.destroy()
    t.same((await untilServed(ask)).json(), CHAT_ANSWER)
  },
)

t.test('F-P6 the same over TLS', { skip }, async t => {
  const tls = join(packageRoot(), 'test/fixtures/tls')
  const { up, log, origin } = await stage(t, `listen: { tls: { cert: "${tls}/first.pem", key: "${tls}/first.key" } }\n`)
  up.answer(STREAMS_HANG)
  const options = { method: 'POST', headers: HEADERS, agent: false, rejectUnauthorized: false } as const
  for (let status = 200; status === 200; ) {
    const stream = send(`${origin}${CHATS}`, options).end(JSON.stringify({ ...CHAT, stream: true }))
    t.teardown(() => stream.destroy())
    const [answer] = (await once(stream, 'response')) as [IncomingMessage]
    status = answer.statusCode ?? 0
  }
  t.match(await log.find(line => line.status === 503), OURS)
})

t.test(
  'F-P6 no descriptor is left for a connection to the upstream: 503, and no target is blamed',
  { skip },
  async t => {
    const { up, log, ask, origin } = await stage(t)
    up.answer(json(CHAT_ANSWER))
    const client = await connectRaw(t, origin)
    const giveBack = await takeAll(t, origin)
    await client.send(requestBytes(origin, CHATS, { key: KEY, body: CHAT }))
    const answer = await client.answer()
    compatibleError(t, answer, 503)
    t.equal(answer.header('retry-after'), '1')
    const line = await log.find(line => line.status === 503)
    t.match(line, { ...OURS, attempts: [{ upstream: 'up', phase: 'descriptors' }] })
    t.equal((line.attempts as unknown[]).length, 1)
    t.equal(up.connections.items.length, 0)
    giveBack()
    t.same((await untilServed(ask)).json(), CHAT_ANSWER)
  },
)

t.test('F-P6 no descriptor is left for a body on the disk: 503', { skip }, async t => {
  const { up, log, origin } = await stage(t, 'spool: { body: 1KiB, memory: 1KiB }\n')
  up.answer(json(CHAT_ANSWER))
  const client = await connectRaw(t, origin)
  await takeAll(t, origin)
  const form = formOf(['model', 'm'], ['file', Buffer.alloc(100_000, 'x'), 'audio/wav'])
  await client.send(requestBytes(origin, '/v1/audio/transcriptions', sending(form, { key: KEY })))
  compatibleError(t, await client.answer(), 503)
  t.match(await log.find(line => line.status === 503), OURS)
})

t.test('too few descriptors for the limits: a warning at the start', { skip }, async t => {
  const { log } = await stage(t)
  const line = await log.find(line => line.limit === 'descriptors')
  t.match(line, { level: 'warn', open_files: DESCRIPTORS, needed: 64 + 10_000 + 2 * 512, msg: /ulimit -n/ })
})

t.test('no warning where they suffice', { skip }, async t => {
  const { up, log, ask } = await stage(t, 'limits: { in_flight: 20, connections: 10 }\n')
  up.answer(json(CHAT_ANSWER))
  t.equal((await ask()).status, 200)
  await log.find(line => line.msg === 'request')
  t.notOk(log.items.some(line => line.level === 'warn'))
})
