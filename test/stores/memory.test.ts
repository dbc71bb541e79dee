import t from 'tap'
import type { Commit } from '../../src/core/accounts.js'
import { NEVER_EXPIRES_MS, StoreError } from '../../src/core/store.js'
import { MemoryStore } from '../../src/stores/memory.js'
import { draft, storeContract } from '../contracts/store.js'

storeContract(t, (test, clock) => {
  const store = new MemoryStore(undefined, () => clock.now)
  test.teardown(() => store.close())
  return async () => store
})

const LATER = draft('x').created + 1000
const spends = (writer: string, account: string, expires = LATER, entries: Commit['entries'] = []): Commit => {
  const change = { account, lease: writer, bound: 100, spend: 1, hold: 0, until: LATER }
  return { writer, number: 1, remembered: LATER, now: now(), leases: [{ ...change, expires }], entries }
}

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

t.test(
  'records that never expire, such as keys, make no room for others, and are refused where they fill all',
  async t => {
    const store = new MemoryStore({ records: 3, bytes: 10_000 }, now)
    const expires = NEVER_EXPIRES_MS
    const key = await store.create(draft('key', { expires }))
    for (let n = 0; n < 50; n++) await store.create(draft(`answer-${n}`))
    t.not(await store.get('things', 'ann', 'key'), undefined)
    t.not(await store.get('things', 'ann', 'answer-49'), undefined)
    for (const name of ['key-2', 'key-3']) await store.create(draft(name, { expires }))
    await t.rejects(store.create(draft('key-4', { expires })), new StoreError('full', 'the memory store is full'))
    await t.rejects(store.create(draft('task', { due: LATER })), new StoreError('full', 'the memory store is full'))
    t.ok(key && (await store.replace(key, { value: Buffer.alloc(9000) })), 'they can change all the same')
    t.ok(await store.delete(draft('key-2')))
    t.ok(await store.delete(draft('key')))
    t.ok(await store.create(draft('key-4', { expires })))
    t.equal(store.size.records, 2)
  },
)

t.test('removed records leave nothing behind', async t => {
  const store = new MemoryStore(undefined, now)
  const made = await store.create(draft('a'))
  if (made !== undefined) await store.replace(made, { value: Buffer.alloc(5000) })
  await store.delete(draft('a'))
  t.same(store.size, { records: 0, bytes: 0 })
})

const spentIn = async ({ accounts }: MemoryStore, ...names: string[]): Promise<number[]> =>
  (await accounts.read(names, now())).map(({ spent }) => spent)

t.test('writers over their bound: those that are remembered least make room', async t => {
  const store = new MemoryStore({ writers: 3 }, now)
  const write = (writer: string, remembered: number): Promise<unknown> =>
    store.accounts.commit({ ...spends(writer, writer), remembered })
  for (const [n, writer] of ['a', 'b', 'c', 'd', 'e'].entries()) await write(writer, LATER + (writer === 'b' ? 99 : n))
  await write('b', LATER + 99)
  t.same(await spentIn(store, 'b'), [1], 'its number is remembered')
  await write('a', LATER + 100)
  t.same(await spentIn(store, 'a'), [2], 'that of the first one is not')
})

t.test('accounts over their bound: those that have expired make room, then those unused for longest', async t => {
  const store = new MemoryStore({ accounts: 3 }, now)
  let writer = 0
  const spend = (name: string, expires = LATER, later = 0): Promise<unknown> =>
    store.accounts.commit({ ...spends(`w${++writer}`, name, expires), now: now() + later })
  for (const name of ['a', 'b', 'c', 'a', 'd']) await spend(name)
  t.same(await spentIn(store, 'a', 'b', 'c', 'd'), [2, 0, 1, 1])
  await spend('short', now() + 5)
  t.same(await spentIn(store, 'a', 'c', 'd', 'short'), [2, 0, 1, 1])
  await spend('e', LATER, 10)
  t.same(await spentIn(store, 'a', 'd', 'short', 'e'), [2, 1, 0, 1])
})

t.test('windows that are over, and long kept, never push out one that holds', async t => {
  const store = new MemoryStore({ accounts: 1000 }, now)
  const days = Array.from({ length: 1000 }, (_, n) => spends('old', `k${n}`, LATER + 40 * 86_400_000).leases[0]!)
  await store.accounts.commit({ ...spends('old', 'x'), leases: days })
  const minutes = ['one', 'two', 'three']
  for (let n = 1; n <= 10; n++) for (const name of minutes) await store.accounts.commit(spends(`${name}${n}`, name))
  t.same(await spentIn(store, ...minutes), [10, 10, 10])
})

t.test('what a lease holds is not forgotten for other accounts', async t => {
  const store = new MemoryStore({ accounts: 1000 }, now)
  const [change] = spends('x', 'held').leases
  const hold = { ...change!, spend: 0, hold: 7 }
  await store.accounts.commit({ ...spends('holder', 'held'), leases: [hold] })
  for (let n = 0; n < 3000; n++) await store.accounts.commit(spends(`w${n}`, `k${n}`))
  t.same(await store.accounts.read(['held', 'k0', 'k2999'], now()), [
    { spent: 0, held: 7 },
    { spent: 0, held: 0 },
    { spent: 1, held: 0 },
  ])
})

t.test('over the bytes of the ledger the oldest days make room, then the oldest entries of the last day', async t => {
  const { accounts } = new MemoryStore({ ledger: 20_000 }, now)
  const write = (n: number, day: string): Promise<unknown> =>
    accounts.commit(spends(`w${n}`, 'a', LATER, [{ day, value: Buffer.from(`${n}`.padEnd(872)) }]))
  for (let n = 1; n <= 10; n++) await write(n, '2027-01-14')
  for (let n = 11; n <= 20; n++) await write(n, '2027-01-15')
  t.same(await accounts.days(), ['2027-01-14', '2027-01-15'])
  await write(21, '2027-01-15')
  t.same(await accounts.days(), ['2027-01-15'])
  for (let n = 22; n <= 60; n++) await write(n, '2027-01-15')
  const entries = await accounts.entries('2027-01-15', { after: 0, limit: 100 })
  t.ok(entries.length > 10 && entries.length <= 20, `${entries.length} are kept`)
  for (const { sequence, value } of entries) t.equal(Number(Buffer.from(value).toString()), sequence + 10)
  t.equal(entries.at(-1)?.sequence, 50)
  const [first] = entries
  t.same(await accounts.entries('2027-01-15', { after: (first?.sequence ?? 0) + 1, limit: 1 }), [entries[2]])
})

t.test('late entries of an old day make no room twice: the newest day keeps what fits', async t => {
  const { accounts } = new MemoryStore({ ledger: 20_000 }, now)
  let number = 0
  const write = (...days: string[]): Promise<unknown> => {
    const entries = days.map(day => ({ day, value: Buffer.alloc(872) }))
    return accounts.commit(spends(`w${++number}`, 'a', LATER, entries))
  }
  for (let n = 1; n <= 19; n++) await write('2027-01-15')
  for (let n = 1; n <= 5; n++) await write('2027-01-14', '2027-01-14', '2027-01-15')
  const kept = async (day: string): Promise<number> => (await accounts.entries(day, { after: 0, limit: 100 })).length
  const sizes = [await kept('2027-01-14'), await kept('2027-01-15')] as const
  t.ok(sizes[0] + sizes[1] <= 20, `${sizes} are kept`)
  t.ok(sizes[1] >= 15, `${sizes[1]} of the newest day`)
})

t.test('entries that lie one behind the other stay where they are, between others that are copied', async t => {
  const { accounts } = new MemoryStore({ ledger: 20_000 }, now)
  const [day, bytes] = ['2027-01-15', Buffer.from('zero,one,two,three,four,')]
  let number = 0
  const adopt = async (start: number, ...ends: number[]): Promise<void> => {
    const commit = spends(`w${++number}`, 'a', LATER)
    const runs = [{ day, bytes, start, ends }]
    await accounts.commit({ ...commit, runs, entries: undefined as never })
    await accounts.commit({ ...commit, runs, entries: undefined as never })
  }
  await adopt(5, 9, 13)
  await adopt(13, 19)
  const copied = { day, value: Buffer.from('copied') }
  await accounts.commit(spends('other', 'a', LATER, [copied, copied]))
  await adopt(19, 24)
  const texts = async (after: number, limit = 9): Promise<string[]> =>
    (await accounts.entries(day, { after, limit })).map(({ sequence, value }) => `${sequence} ${Buffer.from(value)}`)
  t.same(await texts(0), ['1 one,', '2 two,', '3 three,', '4 copied', '5 copied', '6 four,'])
  t.same(await texts(1, 3), ['2 two,', '3 three,', '4 copied'])
  const [first] = await accounts.entries(day, { after: 0, limit: 1 })
  t.equal(first?.value.buffer, bytes.buffer, 'nothing is copied')
})

t.test('entries that stay where they are make room, too', async t => {
  const { accounts } = new MemoryStore({ ledger: 20_000 }, now)
  for (let n = 1; n <= 60; n++) {
    const run = { day: '2027-01-15', bytes: Buffer.alloc(872), start: 0, ends: [872] }
    await accounts.commit({ ...spends(`w${n}`, 'a', LATER), runs: [run] })
  }
  const kept = await accounts.entries('2027-01-15', { after: 0, limit: 100 })
  t.same(
    kept.map(({ sequence }) => sequence),
    Array.from({ length: 20 }, (_, at) => at + 41),
  )
})
