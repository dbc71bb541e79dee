import { once } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import { textFrame } from '../../src/wire/frames.js'
import { endOf, mostAtOnce, slowClock } from '../helpers/event-loop.js'
import { inTime } from '../helpers/journal.js'
import { connectRaw } from '../helpers/raw-client.js'
import { open, startRealtime } from '../helpers/realtime.js'

/**
 * Many sessions whose senders say more than can be worked on, in tiny messages: they share the event loop with all other
 * work. The runtime accepts one new connection per turn of the event loop, so the longer its turns, the longer the line of
 * connections, although no turn is long enough to be noticed.
 */

t.setTimeout(300_000)

const SESSIONS = 16
const TEXT = 'x'.repeat(100)
/** What each session says, bytes. */
const SAID = 256 * 1024
/** Bytes that may pass in one turn of the event loop: one look of the runtime at all sessions brings 4 MiB. */
const MOST_AT_ONCE = 640 * 1024
/** Bytes that may pass while a new connection waits for its answer: some turns. */
const MOST_BEFORE_ANSWER = (SESSIONS * SAID) / 4

for (const tunnel of ['raw', 'framed'] as const) {
  for (const from of ['upstream', 'client'] as const) {
    t.test(`sessions whose ${from}s say much at once take turns with new connections (${tunnel})`, async t => {
      const stage = await startRealtime(
        t,
        `routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: ${tunnel} } }\n`,
      )
      const sessions = []
      for (let at = 0; at < SESSIONS; at++) sessions.push(await open(t, stage))
      const senders = sessions.map(({ client, server }) => (from === 'client' ? client : server).socket as Socket)
      const receivers = sessions.map(({ client, server }) => (from === 'client' ? server : client))
      const written = receivers.map(({ socket }) => endOf(socket as Socket))
      const before = passed()
      const frame = textFrame(TEXT, from === 'client')
      const texts = Math.ceil(SAID / frame.length)
      const said = Buffer.concat(Array.from({ length: texts }, () => frame))

      slowClock(t)
      for (const sender of senders) sender.write(said)
      const probe = await connectRaw(t, stage.gateway.origin)
      const answered = once(probe.socket, 'data').then(() => passed() - before)
      void probe.send('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n')
      const all = SESSIONS * said.length
      const most = await inTime(
        mostAtOnce(() => passed() - before, all),
        () => `${passed() - before} of ${all} bytes have passed`,
      )
      t.ok(most <= MOST_AT_ONCE, `${most} bytes in one turn of the event loop`)
      const meanwhile = await answered
      t.ok(meanwhile <= MOST_BEFORE_ANSWER, `${meanwhile} of ${all} bytes pass before a new connection is answered`)
      for (const { texts: heard } of receivers) t.equal((await heard.count(texts)).length, texts, 'every text arrives')

      function passed(): number {
        return written.reduce((sum, one) => sum + (one?.bytesWritten ?? 0), 0)
      }
    })
  }
}
