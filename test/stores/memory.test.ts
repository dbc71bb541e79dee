import t from 'tap'
import { MemoryStore } from '../../src/stores/memory.js'
import { draft, storeContract } from '../contracts/store.js'

storeContract(t, (test, clock) => {
  const store = new MemoryStore(undefined, () => clock.now)
  test.teardown(() => store.close())
  return async () => store
})

const now = (): number => draft('x').created

t.test('over the limit of records, the least recently used one is evicted', async t => {
  const store = new MemoryStore({ records: 3, bytes: 1e9 }, now)
  for (const key of ['a', 'b', 'c']) await store.create(draft(key))
  await store.get('things', 'ann', 'a')
  await store.create(draft('d'))
  t.equal(await store.get('things', 'ann', 'b'), undefined)
  t.not(await store.get('things', 'ann', 'a'), undefined)
  t.equal(store.size.records, 3)
})

t.test('over its bytes, as many go as have to', async t => {
  const store = new MemoryStore({ records: 1000, bytes: 10_000 }, now)
  for (let n = 0; n < 50; n++) await store.create(draft(`k${n}`, { value: Buffer.alloc(1000) }))
  t.ok(store.size.bytes <= 10_000)
  t.not(await store.get('things', 'ann', 'k49'), undefined)
  t.equal((await store.list('things', 'ann', { order: 'ascending', limit: 100 })).length, store.size.records)
})

t.test('removed records leave nothing behind', async t => {
  const store = new MemoryStore(undefined, now)
  const made = await store.create(draft('a'))
  if (made !== undefined) await store.replace(made, { value: Buffer.alloc(5000) })
  await store.delete(draft('a'))
  t.same(store.size, { records: 0, bytes: 0 })
})
