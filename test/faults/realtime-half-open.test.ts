import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { frame } from '../../src/wire/frames.js'
import { fastClock } from '../helpers/fast-clock.js'
import { startTestGateway } from '../helpers/gateway.js'
import { inTime } from '../helpers/journal.js'
import { ask, type End, lineOf, open, realtimeYaml, startRealtime } from '../helpers/realtime.js'

type Test = Pick<typeof t, 'teardown'>

const PEER = fileURLToPath(new URL('../helpers/half-open.js', import.meta.url))
/** On the fast clock minutes pass between two checks: the session must not end because neither side has sent anything. */
const FRAMED =
  'routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: framed, timeouts: { idle: 2h, total: 2h } } }\n'

function peer(test: Test, ...args: readonly string[]): ChildProcess & { readonly stdout: Readable } {
  const child = spawn(process.execPath, [PEER, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  test.teardown(() => child.kill('SIGKILL'))
  return child
}

/** Stops a process like a machine that is cut off: its connections stay open, and no one answers. */
async function stop({ pid }: ChildProcess): Promise<void> {
  process.kill(pid as number, 'SIGSTOP')
  while (!readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') T ')) await new Promise(setImmediate)
}

/** Answers pings, as anyone who is alive does. */
function alive(end: End, masked: boolean): void {
  end.socket.on('data', (bytes: Buffer) => {
    if (bytes[0] === 0x89) end.send(frame(10, Buffer.alloc(0), masked))
  })
}

const skip = process.platform !== 'linux'

for (const tunnel of ['raw', 'framed'] as const) {
  const more = tunnel === 'framed' ? FRAMED : ''

  t.test(`F-W4 a client that is stopped is given up after two pings (${tunnel})`, { skip }, async t => {
    const stage = await startRealtime(t, more)
    const child = peer(t, 'client', new URL(stage.gateway.origin).port, stage.gateway.key)
    const server = (await stage.up.ends.count(1))[0] as End
    t.same(await server.texts.count(1), ['hello'])
    alive(server, false)
    await stop(child)
    fastClock(t)
    t.match(await server.closes.count(1), [{ code: 1001 }])
    server.socket.end()
    t.match(await lineOf(stage.gateway), { outcome: 'client_abort', close: 1006, closed_by: 'client' })
  })

  t.test(`F-W4 an upstream that is stopped is given up after two pings (${tunnel})`, { skip }, async t => {
    const child = peer(t, 'upstream')
    const [port] = await inTime(once(child.stdout, 'data'), () => 'the upstream does not start')
    const gateway = await startTestGateway(t, realtimeYaml(`http://127.0.0.1:${Number(port)}`, more))
    const { status, end: client } = await ask(t, gateway)
    t.equal(status, 101)
    t.same(await client.texts.count(1), ['hello'])
    alive(client, true)
    await stop(child)
    fastClock(t)
    t.match(await client.closes.count(1), [{ code: 1011 }])
    client.socket.end()
    t.match(await lineOf(gateway), { outcome: 'upstream_error', close: 1006, closed_by: 'upstream' })
  })
}

t.test('F-W4 who cannot be asked is not asked in vain: a client behind a frame that takes minutes', async t => {
  const stage = await startRealtime(t)
  const { client, server } = await open(t, stage)
  const text = Buffer.from('z'.repeat(100))
  const whole = frame(1, text, false)
  server.send(whole.subarray(0, 10))
  await client.bytes(10)
  let pings = 0
  const asked = new Promise<void>(resolve => {
    // Within a frame nothing can be answered: the rest of it is the sign of life.
    server.socket.on('data', (bytes: Buffer) => {
      if (bytes[0] !== 0x89) return
      pings++
      server.send(whole.subarray(9 + pings, 10 + pings))
      if (pings === 6) resolve()
    })
  })
  fastClock(t)
  await inTime(asked, () => `${pings} pings came: the session is gone`)
  server.send(whole.subarray(16))
  t.same(await client.texts.count(1), [text.toString()])
})
