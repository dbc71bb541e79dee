import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { closeFrame, frame, textFrame } from '../../src/wire/frames.js'
import { kernelHolds, knowsQueues } from '../helpers/kernel-queues.js'
import { type End, open, startRealtime } from '../helpers/realtime.js'

/** F-W2: what a session holds of a side that sends faster than the other one takes. */

t.setTimeout(300_000)

const FRAMED = 'routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: framed } }\n'
const MOST = 1024 * 1024
/** More than all kernel buffers on the way. */
const FLOOD = 96 * 1024 * 1024
/** Who has not got rid of anything for so long is held up, milliseconds. Too short a time lets a test prove less, not fail. */
const QUIET = 700

const skip = knowsQueues ? false : 'what the kernel holds is known on Linux only'
if (skip !== false) console.error(`# SKIPPED: ${skip}`)

/** Writes until nothing more is taken; how many bytes were written, those that still wait at the sender among them. */
async function flood(socket: Socket, piece: Buffer): Promise<number> {
  let sent = 0
  while (sent < FLOOD) {
    sent += piece.length
    if (socket.write(piece)) continue
    const drained = once(socket, 'drain').then(() => true)
    if (!(await Promise.race([drained, setTimeout(QUIET, false)]))) break
  }
  return sent
}

for (const tunnel of ['raw', 'framed'] as const) {
  for (const slow of ['upstream', 'client'] as const) {
    t.test(`F-W2 a flood, and the ${slow} stops: at most 1 MiB waits (${tunnel})`, { skip }, async t => {
      const stage = await startRealtime(t, tunnel === 'framed' ? FRAMED : '')
      const { client, server } = await open(t, stage)
      const other = await open(t, stage)
      const [from, to] = slow === 'upstream' ? [client, server] : [server, client]
      const [sender, receiver] = [from.socket as Socket, to.socket as Socket]
      const legs: [Socket, number][] = [
        [sender, sender.remotePort as number],
        [receiver, receiver.remotePort as number],
      ]
      const [written, read] = [sender.bytesWritten, receiver.bytesRead]
      receiver.pause()
      const piece = frame(2, Buffer.alloc(32 * 1024, 7), slow === 'upstream')
      const sent = await flood(sender, piece)
      t.ok(sent < FLOOD, `held up after ${sent} bytes`)

      const left = sender.bytesWritten - sender.writableLength - written
      const arrived = receiver.bytesRead - read
      const inKernel = legs.reduce(
        (sum, [{ localPort = 0 }, port]) => sum + kernelHolds(localPort, port) + kernelHolds(port, localPort),
        0,
      )
      // What of the sender's first piece has left it is not known.
      const held = left - arrived - inKernel + piece.length
      t.ok(held <= MOST, `${held} bytes are held of ${left} that were sent`)

      await talks(t, other.client, other.server)
      receiver.resume()
      t.equal((await to.bytes(sent)).length, sent, 'and all of it arrives')
    })
  }
}

/** Another session is as quick as ever. */
async function talks(test: Pick<typeof t, 'same'>, client: End, server: End): Promise<void> {
  client.send(textFrame('still here', true))
  test.same(await server.texts.count(1), ['still here'])
  server.send(textFrame('so am I', false))
  test.same(await client.texts.count(1), ['so am I'])
}

const SESSIONS = 24
const TEXTS = 120

for (const tunnel of ['raw', 'framed'] as const) {
  for (const end of ['a close frame', 'the end of the connection'] as const) {
    t.test(
      `many upstreams say much at once, then ${end}: all of it passes in order, and the end last (${tunnel})`,
      async t => {
        const stage = await startRealtime(t, tunnel === 'framed' ? FRAMED : '')
        const sessions: { readonly client: End; readonly server: End }[] = []
        for (let at = 0; at < SESSIONS; at++) sessions.push(await open(t, stage))
        const said = sessions.map((_, at) => Array.from({ length: TEXTS }, (_, n) => `${at} ${n} ${'x'.repeat(8000)}`))
        for (const [at, { server }] of sessions.entries()) {
          for (const text of said[at] ?? []) server.send(textFrame(text, false))
          if (end === 'a close frame') server.send(closeFrame(1000, 'done', false))
          else server.socket.end()
        }
        for (const [at, { client }] of sessions.entries()) {
          const heard = await client.texts.count(TEXTS)
          t.ok(heard.join() === said[at]?.join(), `session ${at} hears every text in order`)
          const [close] = await client.closes.count(1)
          t.equal(close?.code, end === 'a close frame' ? 1000 : 1011)
        }
      },
    )
  }
}
