import t from 'tap'
import { ExportQueue } from '../../../src/features/otlp/queue.js'
import type { OtlpClient, Posted } from '../../../src/net/otlp-client.js'

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
