import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { CHAT_ANSWER, chatEvent, chunk, json, startStream } from '../helpers/answers.js'
import { CHAT, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { requestBytes } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** Clients that keep connections and send or read almost nothing, and clients that vanish. */

const ATTACKERS = 200
const ATTACKER_KEY = 'the-key-of-an-attacker-0123456789'
/** Time between two bytes of an attacker, milliseconds. */
const DRIP_MS = 20

/** Sends one byte after the other of `bytes`, and never the last one. Resolves when the gateway has closed the connection. */
async function drip(gateway: TestGateway, bytes: Buffer, from: number): Promise<void> {
  const { hostname, port } = new URL(gateway.origin)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined).resume()
  socket.write(bytes.subarray(0, from))
  let at = from
  const timer = setInterval(() => {
    if (at < bytes.length - 1) socket.write(bytes.subarray(at, ++at))
  }, DRIP_MS)
  await closed(socket)
  clearInterval(timer)
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise(resolve => socket.once('close', resolve))
}

for (const part of ['head', 'body'] as const) {
  t.test(
    `F-C6 ${ATTACKERS} clients that send a byte of their ${part} at a time are cut; others are served`,
    async t => {
      const upstream = await startRawUpstream(t)
      upstream.answer(json(CHAT_ANSWER))
      const limits = 'limits: { headers: 1s, upload: 1s, in_flight: 100 }\n'
      const yaml = oneUpstream(upstream.origin, limits).replace(
        'keys: {',
        'keys: { attacker: { secret: { env: ATTACKER } },',
      )
      const gateway = await startTestGateway(t, yaml, { env: { ATTACKER: ATTACKER_KEY } })
      const body = { ...CHAT, padding: 'x'.repeat(10_000) }
      const bytes = requestBytes(gateway.origin, '/v1/chat/completions', { key: ATTACKER_KEY, body })
      const from = part === 'head' ? 10 : bytes.indexOf('\r\n\r\n') + 6
      const cut = Promise.all(Array.from({ length: ATTACKERS }, () => drip(gateway, bytes, from)))
      for (let asked = 0; asked < 20; asked++) t.equal((await gateway.chat()).status, 200)
      await cut
      t.equal(upstream.requests.items.length, 20, 'nothing of the attackers reached the upstream')
      t.equal((await gateway.chat()).status, 200)
    },
  )
}

t.test('F-C7 a client whose process is stopped, and which never closes, is cut and its upstream ended', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(async peer => {
    await startStream(peer)
    const event = chunk(chatEvent('word '.repeat(4000)))
    while (!peer.socket.destroyed && !peer.socket.readableEnded) {
      if (!peer.socket.write(event)) {
        await new Promise(resolve => peer.socket.once('drain', resolve).once('close', resolve).once('end', resolve))
      }
    }
  })
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, 'limits: { stall: 500ms }\n'))
  const bytes = requestBytes(gateway.origin, '/v1/chat/completions', {
    key: gateway.key,
    body: { ...CHAT, stream: true },
  })
  const script = `
    const socket = require('node:net').connect(${new URL(gateway.origin).port}, '127.0.0.1')
    socket.write(Buffer.from('${bytes.toString('base64')}', 'base64'))
    socket.once('data', () => console.log('reads'))`
  const client = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => client.kill('SIGKILL'))
  await once(client.stdout, 'data')
  client.kill('SIGSTOP')
  t.match(await gateway.log.find(line => line.msg === 'request'), { phase: 'client_stall' })
  await upstream.aborts.count(1)
})
