import t from 'tap'
import { ReasoningCache } from '../../../src/kernel/translate/reasoning-cache.js'
import { MemoryStore } from '../../../src/stores/memory.js'

const PARTS = [{ type: 'reasoning', text: '', seal: { by: 'messages', value: 'sig' } }]

t.test('what came with calls is found by any of them', async t => {
  const recall = new ReasoningCache(new MemoryStore())
  t.equal(await recall.remember('ann', ['call_1', 'call_2', 'call_3'], PARTS), true)
  for (const id of ['call_1', 'call_2', 'call_3']) t.same(await recall.find('ann', id), PARTS)
})

t.test('no one else finds it', async t => {
  const recall = new ReasoningCache(new MemoryStore())
  await recall.remember('ann', ['call_1'], PARTS)
  t.equal(await recall.find('bob', 'call_1'), undefined)
  t.equal(await recall.find('ann', 'call_2'), undefined)
})

t.test('an id that is used again finds the latest', async t => {
  const recall = new ReasoningCache(new MemoryStore())
  await recall.remember('ann', ['call_0'], PARTS)
  await recall.remember('ann', ['call_0'], [{ type: 'reasoning', text: 'later' }])
  t.same(await recall.find('ann', 'call_0'), [{ type: 'reasoning', text: 'later' }])
})

t.test('it is forgotten after a day', async t => {
  let now = 0
  const recall = new ReasoningCache(new MemoryStore(undefined, () => now), undefined, () => now)
  await recall.remember('ann', ['call_1', 'call_2'], PARTS)
  now = 24 * 3_600_000 - 1
  t.same(await recall.find('ann', 'call_2'), PARTS)
  now++
  t.equal(await recall.find('ann', 'call_1'), undefined)
})

t.test('what is too large, or has too many calls, or none, is not kept', async t => {
  const recall = new ReasoningCache(new MemoryStore())
  t.equal(await recall.remember('ann', ['call_1'], 'x'.repeat(1024 * 1024)), false)
  t.equal(
    await recall.remember(
      'ann',
      Array.from({ length: 65 }, (_, n) => `c${n}`),
      PARTS,
    ),
    false,
  )
  t.equal(await recall.remember('ann', [], PARTS), false)
  t.equal(await recall.find('ann', 'call_1'), undefined)
})

t.test('an id that no store can hold, and a store that fails, keep nothing and break nothing', async t => {
  const store = new MemoryStore()
  const recall = new ReasoningCache(store)
  t.equal(await recall.remember('ann', ['call é'], PARTS), false)
  t.equal(await recall.find('ann', 'call é'), undefined)
  await store.close()
  t.equal(await recall.remember('ann', ['call_1'], PARTS), false)
  await t.rejects(recall.find('ann', 'call_1'), { code: 'unavailable' })
})
