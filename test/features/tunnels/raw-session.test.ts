import { once } from 'node:events'
import { Duplex } from 'node:stream'
import t from 'tap'
import type { SessionContext } from '../../../src/features/tunnels/context.js'
import { RawSession } from '../../../src/features/tunnels/raw-session.js'

/** A connection that takes what is written to it, or never does. */
function connection(takes: boolean): Duplex {
  return new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => takes && done() })
}

t.test('what a client that has left never reads does not keep its connection', async t => {
  const [client, upstream] = [connection(false), connection(true)]
  let isSettled = false
  const call = {
    kernel: { need: () => new Set(), turns: { tryRun: () => true }, draining: false },
    tally: { bytesIn: 0, bytesOut: 0, events: 0 },
    get: () => undefined,
    set: () => undefined,
  }
  const context = {
    call,
    route: { members: { of: () => ({ rules: [] }) } },
    exchange: { upstream: { name: 'up' } },
    gated: {},
    client: { socket: client, rest: Buffer.alloc(0), settle: () => (isSettled = true) },
  }
  new RawSession(context as unknown as SessionContext, upstream)
  upstream.push(Buffer.from([0x82, 1, 0]))
  client.push(null)
  upstream.push(null)
  // Its own timer does not keep a process alive.
  const alive = setInterval(() => undefined, 1000)
  await once(client, 'close')
  clearInterval(alive)
  t.ok(isSettled)
  t.ok(client.writableLength > 0, 'it was never read')
})
