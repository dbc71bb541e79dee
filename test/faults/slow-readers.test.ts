import type { Socket } from 'node:net'
import t from 'tap'
import { chunk, startStream } from '../helpers/answers.js'
import { endOf } from '../helpers/event-loop.js'
import { withResolvers } from '../helpers/journal.js'
import type { Peer } from '../helpers/raw-upstream.js'
import { CLIENTS, clientOf, EACH_CLIENT, type TextClient } from '../helpers/text-clients.js'
import { EACH_UPSTREAM, type TextUpstream, upstreamOf } from '../helpers/text-upstreams.js'
import { type Stage, startStage } from '../helpers/translation-stage.js'

/**
 * Clients that do not read, before an upstream that pushes as fast as it is let: what waits for them in the gateway is
 * bounded by what the client takes, and not by what one read of the upstream becomes. ALL_PAIRS=1 tries every pair.
 */

t.setTimeout(300_000)

/** Bytes that may wait to be written to one client beside what its socket holds before it asks for a pause. */
const MOST_WAITING = 16 * 1024
/** More than all kernel buffers on the way take. */
const FLOOD = 64 * 1024 * 1024
/** Turns of the event loop without any move after which nothing moves. */
const TURNS = 500
const READ = 64 * 1024
/** Bytes of one upstream that may be read in one turn of the event loop: as much as one look of the runtime brings is 2 MiB. */
const MOST_AT_ONCE = 512 * 1024
/** Bytes that wait in the kernel when the gateway looks. */
const PUSHED = 4 * 1024 * 1024

/** Pushes one piece again and again, many in each chunk, as long as it is taken. */
function flood({ socket }: Peer, piece: Buffer): void {
  const block = chunk(Buffer.concat(Array.from({ length: Math.ceil(READ / piece.length) }, () => piece)))
  const more = (): void => {
    while (!socket.destroyed && socket.bytesWritten < FLOOD) if (!socket.write(block)) return
  }
  socket.on('drain', more)
  more()
}

interface Stalled {
  /** Bytes that the upstream got rid of. */
  readonly sent: number
  /** Bytes that waited in the gateway's socket at most, beside its high-water mark. */
  readonly waiting: number
  leave(): Promise<void>
}

/** Lets an upstream push events that say `said` to a client that does not read, until all stop. */
async function stall(stage: Stage, client: TextClient, upstream: TextUpstream, said: string): Promise<Stalled> {
  const at = upstream.pieces.findIndex(piece => piece.includes('two '))
  const model = stage.play(upstream.protocol, async peer => {
    await startStream(peer, { headers: { 'content-type': upstream.contentType } })
    for (const piece of upstream.pieces.slice(0, at)) await peer.send(chunk(upstream.bytes(piece)))
    flood(peer, upstream.bytes((upstream.pieces[at] ?? '').replace('two ', said)))
    await peer.gone()
  })
  const raw = await stage.open(client, model, true)
  await raw.head()
  raw.socket.pause()
  const { connection } = await stage.upstream.requests.find(one => stage.asked(model).includes(one))
  const [pushing, sending] = [stage.upstream.connections.items[connection], endOf(raw.socket)]
  if (pushing === undefined || sending === undefined) throw new Error('both connections are open')
  const most = await standsStill(pushing, sending)
  return {
    sent: pushing.bytesWritten - pushing.writableLength,
    waiting: most - sending.writableHighWaterMark,
    leave: async () => {
      raw.socket.resetAndDestroy()
      await stage.upstream.closes.find(one => one === connection)
      await stage.gateway.log.find(one => one.msg === 'request' && one.model === model)
    },
  }
}

/** Until neither of two sockets that have something to write gets rid of any of it; how much the second one had at most. */
async function standsStill(pushing: Socket, sending: Socket): Promise<number> {
  const sockets = [pushing, sending]
  const look = (): string => sockets.map(one => `${one.bytesWritten} ${one.writableLength}`).join(' ')
  let most = 0
  for (let still = 0, last = ''; still < TURNS; ) {
    await new Promise(resolve => setImmediate(resolve))
    const now = look()
    still = now === last && sockets.every(one => one.writableLength > 0) ? still + 1 : 0
    last = now
    most = Math.max(most, sending.writableLength)
  }
  return most
}

const MOST = EACH_UPSTREAM.length
const pairs = EACH_CLIENT.flatMap(client => EACH_UPSTREAM.map(upstream => [client, upstream] as const)).filter(
  ([client, upstream], index) =>
    client.protocol !== upstream.protocol &&
    (process.env.ALL_PAIRS === '1' || index % MOST === (Math.floor(index / MOST) + 1) % MOST),
)
const reframed = CLIENTS.filter(({ name }) => name === 'generate, ndjson').map(
  client => [client, upstreamOf('generate')] as const,
)

t.test('short events: a read of the upstream is decoded no further than the client takes it', async t => {
  const stage = await startStage(t)
  for (const [client, upstream] of [...pairs, ...reframed]) {
    await t.test(`${client.name} < ${upstream.name}`, async t => {
      const { sent, waiting, leave } = await stall(stage, client, upstream, 'a')
      t.ok(sent < FLOOD, `held up after ${sent} bytes`)
      t.ok(waiting <= MOST_WAITING, `${waiting} bytes wait`)
      await leave()
    })
  }
})

t.test('long events: text that the last events repeat waits on the disk, and is given back', async t => {
  const stage = await startStage(t)
  for (const client of [clientOf('responses'), clientOf('messages')]) {
    await t.test(client.name, async t => {
      const { sent, waiting, leave } = await stall(stage, client, upstreamOf('chat'), 'word '.repeat(400))
      t.ok(sent < FLOOD, `held up after ${sent} bytes`)
      t.ok(waiting <= MOST_WAITING, `${waiting} bytes wait`)
      const { disk } = stage.gateway.gateway.held
      // What has left the upstream is in kernels, in one read of it, or has been said.
      t.ok(disk > 0, `${disk} bytes of text are on the disk`)
      await leave()
      t.equal(stage.gateway.gateway.held.disk, 0)
    })
  }
})

t.test('an upstream that pushes more than can be worked on gives others their turn after a few reads', async t => {
  const stage = await startStage(t)
  for (const upstream of [upstreamOf('chat'), upstreamOf('messages')]) {
    await t.test(upstream.name, async t => {
      const most = await readAtOnce(stage, clientOf('generate'), upstream)
      t.ok(most <= MOST_AT_ONCE, `${most} bytes in one turn of the event loop`)
    })
  }
})

/** Bytes of the upstream that the gateway reads in one turn of the event loop at most, for a client that reads. */
async function readAtOnce(stage: Stage, client: TextClient, upstream: TextUpstream): Promise<number> {
  const at = upstream.pieces.findIndex(piece => piece.includes('two '))
  const piece = upstream.pieces[at] ?? ''
  const pushed = withResolvers<Socket>()
  const model = stage.play(upstream.protocol, async peer => {
    await startStream(peer, { headers: { 'content-type': upstream.contentType } })
    for (const first of upstream.pieces.slice(0, at)) await peer.send(chunk(first))
    peer.socket.write(chunk(piece.repeat(Math.ceil(PUSHED / piece.length))))
    pushed.resolve(peer.socket)
    await peer.gone()
  })
  const raw = await stage.open(client, model, true)
  raw.socket.resume()
  const receiving = endOf(await pushed.promise)
  if (receiving === undefined) throw new Error('the connection is open')
  let most = 0
  for (let last = receiving.bytesRead; receiving.bytesRead < PUSHED; ) {
    await new Promise(resolve => setImmediate(resolve))
    most = Math.max(most, receiving.bytesRead - last)
    last = receiving.bytesRead
  }
  raw.socket.resetAndDestroy()
  return most
}
