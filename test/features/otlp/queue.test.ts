import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Secret } from '../../../src/core/secret.js'
import { MetricsPush } from '../../../src/features/metrics/push.js'
import { writeAttributes } from '../../../src/features/otlp/attributes.js'
import { ExportQueue } from '../../../src/features/otlp/queue.js'
import { rejectedOf } from '../../../src/features/otlp/sender.js'
import { Egress } from '../../../src/net/egress.js'
import { OtlpClient, type Posted } from '../../../src/net/otlp-client.js'
import { fieldsOf, ProtobufWriter } from '../../../src/wire/protobuf.js'
import { json } from '../../helpers/answers.js'
import { startOtlpReceiver } from '../../helpers/otlp-receiver.js'
import { startRawUpstream } from '../../helpers/raw-upstream.js'

/** Records that wait are bounded by their number and by their bytes, however long the collector is away. */

function awayQueue(): { readonly queue: ExportQueue; readonly dropped: Map<string, number> } {
  const client = { post: () => new Promise<Posted>(() => undefined), close: () => undefined }
  const queue = new ExportQueue(client as unknown as OtlpClient, '/v1/traces', Buffer.alloc(0))
  const dropped = new Map<string, number>()
  queue.onDropped = (reason, records) => void dropped.set(reason, (dropped.get(reason) ?? 0) + records)
  return { queue, dropped }
}

t.test('by number', async t => {
  const { queue, dropped } = awayQueue()
  for (let count = 0; count < 10_000; count++) queue.add(Buffer.alloc(10), 2)
  t.equal(dropped.get('queue_full'), 20_000 - 16_384)
})

t.test('by bytes', async t => {
  const { queue, dropped } = awayQueue()
  for (let count = 0; count < 20; count++) queue.add(Buffer.alloc(1024 * 1024), 1)
  t.equal(dropped.get('queue_full'), 4)
})

t.test('what is left at the end, and what comes after it, is counted', async t => {
  const { queue, dropped } = awayQueue()
  for (let count = 0; count < 3000; count++) queue.add(Buffer.alloc(10), 1)
  await queue.close(1)
  t.ok((dropped.get('shutdown') ?? 0) >= 3000 - 1024)
  const before = dropped.get('shutdown') ?? 0
  queue.add(Buffer.alloc(10), 5)
  t.equal(dropped.get('shutdown'), before + 5)
})

t.test('of a batch that the end cuts off all records are counted, and once', async t => {
  let fail = (_: Posted): void => undefined
  const post = (): Promise<Posted> =>
    new Promise(resolve => {
      fail = resolve
    })
  const client = { post, close: () => fail({ outcome: 'again' }) }
  const queue = new ExportQueue(client as unknown as OtlpClient, '/v1/traces', Buffer.alloc(0))
  const [sent, dropped]: [number[], [string, number][]] = [[], []]
  queue.onSent = (_, records) => void sent.push(records)
  queue.onDropped = (reason, records) => void dropped.push([reason, records])
  for (let count = 0; count < 3000; count++) queue.add(Buffer.alloc(10), 1)
  await queue.close(1)
  for (let turns = 0; turns < 5; turns++) await turn()
  t.same(dropped, [['shutdown', 3000]])
  t.same(sent, [])
})

/** Timers end at once; gives how long they were to take. */
function hurried(t: Test): number[] {
  const pauses: number[] = []
  const real = globalThis.setTimeout
  const quick = (run: () => void, pause: number): NodeJS.Timeout => {
    pauses.push(pause)
    const timer = real(run, 0)
    timer.unref = () => timer
    return timer
  }
  globalThis.setTimeout = quick as unknown as typeof setTimeout
  t.teardown(() => {
    globalThis.setTimeout = real
  })
  return pauses
}

t.test('a collector that wants no wait is asked again after a pause', async t => {
  const pauses = hurried(t)
  const client = { post: async (): Promise<Posted> => ({ outcome: 'again', waitMs: 0 }), close: () => undefined }
  const queue = new ExportQueue(client as unknown as OtlpClient, '/v1/traces', Buffer.alloc(0))
  const dropped = new Promise(resolve => {
    queue.onDropped = resolve
  })
  queue.add(Buffer.alloc(10), 1)
  t.equal(await dropped, 'refused')
  t.equal(pauses.length, 10)
  t.ok(pauses.every(pause => pause >= 500))
})

t.test('metrics are not sent again when the last sending was too slow', async t => {
  hurried(t)
  let posts = 0
  let end = (_: Posted): void => undefined
  const client = {
    post: () => {
      posts++
      return new Promise<Posted>(resolve => {
        end = resolve
      })
    },
    close: () => end({ outcome: 'again' }),
  }
  const spec = { name: 'a_total', kind: 'counter', labels: [], help: '' } as const
  const shown = [{ spec, series: [{ labels: [], numbers: Float64Array.of(1) }] }]
  const metrics = async () => ({ resource: Buffer.alloc(0), shown, since: 0 })
  const push = new MetricsPush(client as unknown as OtlpClient, { metrics }, 1)
  while (posts === 0) await turn()
  await push.close()
  for (let turns = 0; turns < 5; turns++) await turn()
  t.equal(posts, 1)
})

t.test('of a part that the collector refuses the number is read, and after the end nothing is sent', async t => {
  const collector = await startOtlpReceiver(t)
  const place = { endpoint: collector.origin, headers: {}, timeout: 60_000 }
  const client = new OtlpClient(place, new Egress({ pool: {} }), rejectedOf)
  const writer = new ProtobufWriter()
  writer.message(1, () => {
    writer.integer(1, 300)
    writer.string(2, 'too old')
  })
  const body = writer.take()
  collector.answer = { status: 200, body }
  t.same(await client.post('/v1/other', []), { outcome: 'ok', status: 200, rejected: 300 })
  collector.answer = { status: 200, body: body.subarray(0, 2) }
  t.same(await client.post('/v1/other', []), { outcome: 'ok', status: 200 })
  collector.answer = { status: 200, body: Buffer.alloc(100_000, 255) }
  t.same(await client.post('/v1/other', []), { outcome: 'ok', status: 200 })
  client.close()
  t.match(await client.post('/v1/other', []), { outcome: 'again' })
  t.equal(collector.requests.items.length, 3)
})

t.test('a connection that the collector has closed while it was idle does not fail a sending', async t => {
  const collector = await startRawUpstream(t)
  const used = new Set<number>()
  collector.answer(peer => {
    const isUsed = used.has(peer.request.connection)
    used.add(peer.request.connection)
    return isUsed ? peer.reset() : json({})(peer)
  })
  const place = { endpoint: collector.origin, headers: {}, timeout: 60_000 }
  const client = new OtlpClient(place, new Egress({ pool: {} }), rejectedOf)
  const posts = [1, 2, 3].map(length => Buffer.alloc(length))
  for (const body of posts) t.same(await client.post('/v1/traces', [body]), { outcome: 'ok', status: 200 })
  t.same(
    collector.requests.items.map(({ body, connection }) => [body.length, connection]),
    [1, 2, 2, 3, 3].map((length, at) => [length, at >> 1]),
  )
  // A new one that is closed is a failure.
  collector.answer(peer => peer.reset())
  t.same(await client.post('/v1/traces', []), { outcome: 'again', why: 'ECONNRESET' })
  client.close()
})

t.test('what may be a fraction has the type of one', async t => {
  const writer = new ProtobufWriter()
  writeAttributes(writer, 1, { 'gateway.cost_usd': 2, 'gateway.attempt': 2 })
  const values = Array.from(fieldsOf(writer.take()), ([, pair]) => [...fieldsOf(pair as Uint8Array)][1]?.[1])
  // The type is in the last bits of the tag.
  t.same(
    values.map(value => (value as Uint8Array)[0]),
    [(4 << 3) | 1, 3 << 3],
  )
})

t.test('a header that no request may have is a sending that is refused', async t => {
  const headers = { authorization: new Secret('Bearer of two\nlines') }
  const place = { endpoint: 'http://127.0.0.1:9', headers, timeout: 60_000 }
  const client = new OtlpClient(place, new Egress({ pool: {} }), rejectedOf)
  t.same(await client.post('/v1/other', []), { outcome: 'refused', why: 'ERR_INVALID_CHAR' })
  client.close()
})

t.test('metrics that cannot be gathered are sent later', async t => {
  hurried(t)
  let asked = 0
  const sent: Posted[] = []
  const metrics = async (): Promise<undefined> => {
    if (++asked <= 2) throw new Error('a worker has ended')
  }
  const client = { close: () => undefined } as unknown as OtlpClient
  const push = new MetricsPush(client, { metrics }, 1)
  push.onSent = posted => void sent.push(posted)
  while (asked < 3) await turn()
  await push.close()
  const failed = { outcome: 'again', why: 'a worker has ended' }
  t.same(sent, [failed, failed])
})
