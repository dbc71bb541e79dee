import { once } from 'node:events'
import t from 'tap'
import { textFrame } from '../../src/wire/frames.js'
import { chatEvent, chunk, hang, startStream } from '../helpers/answers.js'
import { endOf, mostAtOnce, slowClock } from '../helpers/event-loop.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { inTime, withResolvers } from '../helpers/journal.js'
import { withStage } from '../helpers/metered.js'
import { connectRaw, type RawClient } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/**
 * Many clients of response sockets connect and send at once, and one client's answer has many events. What counts is
 * the work between two turns of the event loop: every other request waits for it.
 */

const CLIENTS = 100
/** Of one turn: those that begin before the clock is read, and those that begin while its time lasts. */
const MOST_AT_ONCE = 16

const SPEAK = textFrame(JSON.stringify({ type: 'response.create', model: 'm', input: 'hi' }), true)

function handshake({ origin, key }: TestGateway): string {
  const lines = [
    'connection: Upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    `authorization: Bearer ${key}`,
  ]
  const head = `GET /v1/responses HTTP/1.1\r\nhost: ${new URL(origin).host}\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==`
  return `${head}\r\n${lines.join('\r\n')}\r\n\r\n`
}

t.test('handshakes and requests of sockets take turns with all other work', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(hang)
  let requests = 0
  const counting = { name: 'counting', onRequest: () => void requests++ }
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin), { features: withStage(counting) })
  const clients: RawClient[] = []
  for (let at = 0; at < CLIENTS; at++) clients.push(await connectRaw(t, gateway.origin))
  let opened = 0
  for (const { socket } of clients) socket.once('data', () => opened++)

  slowClock(t)
  for (const { socket } of clients) socket.write(handshake(gateway))
  const handshakes = await inTime(
    mostAtOnce(() => opened, CLIENTS),
    () => `${opened} sockets are open`,
  )
  t.ok(handshakes <= MOST_AT_ONCE, `${handshakes} handshakes in one turn of the event loop`)

  for (const { socket } of clients) socket.write(SPEAK)
  const begun = await inTime(
    mostAtOnce(() => requests, CLIENTS),
    () => `${requests} requests have begun`,
  )
  t.ok(begun <= MOST_AT_ONCE, `${begun} requests begin in one turn of the event loop`)
})

t.test('the events of one read of an upstream go to a socket in few writes', async t => {
  const upstream = await startRawUpstream(t)
  const { promise: asked, resolve: ask } = withResolvers<void>()
  const { promise: ready, resolve: push } = withResolvers<void>()
  const events = Array.from({ length: 100 }, (_, at) => chatEvent(`word ${at} `))
  upstream.answer(async peer => {
    await startStream(peer)
    ask()
    await ready
    await peer.send(chunk(events.join('')))
    await peer.gone()
  })
  const speaks = '{ chat: POST /v1/chat/completions }'
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}", speaks: ${speaks} } }\nmodels: { m: up }\n`
  const gateway = await startTestGateway(t, yaml)
  const client = await connectRaw(t, gateway.origin)
  await client.send(handshake(gateway))
  await once(client.socket, 'data')
  client.socket.write(SPEAK)
  await asked
  const sending = endOf(client.socket)
  if (sending === undefined) throw new Error('the connection is open')
  let writes = 0
  const write = sending.write.bind(sending) as (bytes: Buffer, done?: () => void) => boolean
  Object.assign(sending, {
    write: (bytes: Buffer, done?: () => void) => {
      writes++
      return write(bytes, done)
    },
  })
  let heard = ''
  const whole = withResolvers<void>()
  client.socket.on('data', bytes => {
    heard += bytes.toString('latin1')
    if (heard.includes('word 99 ')) whole.resolve()
  })
  push()
  await inTime(whole.promise, () => `the client has heard ${heard.length} bytes`)
  t.ok(writes <= 10, `${writes} writes for ${events.length} events`)
})
