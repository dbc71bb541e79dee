import t from 'tap'
import type { ResourceKind } from '../../../src/core/resources.js'
import { type Range, StoreError } from '../../../src/core/store.js'
import { idIn, OwnershipStore } from '../../../src/features/resources/ownership-store.js'
import { MemoryStore } from '../../../src/stores/memory.js'

const LIST = { pages: 'ids', member: 'data', pageSize: 20, maxPageSize: 100, filter: [] } as const
const FILE: ResourceKind = {
  title: 'file',
  name: 'file',
  id: ['id'],
  prefix: '',
  wrapped: undefined,
  expires: ['expires_at'],
  produces: [],
  links: [],
  list: LIST,
}
const BATCH: ResourceKind = { ...FILE, name: 'batch', expires: undefined, produces: [{ kind: FILE, path: ['output'] }] }
const NATIVE: ResourceKind = { ...FILE, name: 'native-file', prefix: 'files/' }

function setUp(start = 1000) {
  const clock = { now: start }
  const store = new MemoryStore(undefined, () => clock.now)
  return { clock, store: new OwnershipStore(store, () => clock.now) }
}

t.test('a thing is found by its owner alone, and where it was last', async t => {
  const { store } = setUp()
  await store.note('ann', FILE, 'a', 'file-1', { id: 'file-1', status: 'new' })
  t.match(await store.find('ann', FILE, 'file-1'), { upstream: 'a', object: { status: 'new' } })
  t.equal(await store.find('bob', FILE, 'file-1'), undefined)
  t.equal(await store.find('ann', BATCH, 'file-1'), undefined)
  await store.note('ann', FILE, 'b', 'file-1', { id: 'file-1', status: 'done' })
  t.match(await store.find('ann', FILE, 'file-1'), { upstream: 'b', object: { status: 'done' } })
  await store.forget('ann', FILE, 'file-1')
  t.equal(await store.find('ann', FILE, 'file-1'), undefined)
})

t.test('what is forgotten keeps its place in lists for an hour, for its owner alone', async t => {
  const { store, clock } = setUp()
  await store.note('ann', FILE, 'a', 'file-1', { id: 'file-1' })
  const place = await store.cursorOf('ann', FILE, 'file-1')
  for (let times = 0; times < 2; times++) await store.forget('ann', FILE, 'file-1')
  t.same(await store.cursorOf('ann', FILE, 'file-1'), place)
  t.equal(await store.cursorOf('bob', FILE, 'file-1'), undefined)
  t.same((await store.page('ann', FILE, { order: 'ascending', limit: 9 }, () => true)).items, [])
  clock.now += 3_600_000
  t.equal(await store.cursorOf('ann', FILE, 'file-1'), undefined)
})

t.test('what its upstream does not have is forgotten after a week, unless it is seen again', async t => {
  const { store, clock } = setUp()
  for (const id of ['file-1', 'file-2']) await store.note('ann', FILE, 'a', id, { id })
  for (const id of ['file-0', 'file-1', 'file-2']) await store.missing('ann', FILE, id)
  const listed = async () =>
    (await store.page('ann', FILE, { order: 'ascending', limit: 9 }, () => true)).items.map(({ id }) => id)
  t.same(await listed(), [])
  clock.now += 6 * 86_400_000
  await store.missing('ann', FILE, 'file-1')
  await store.note('ann', FILE, 'a', 'file-2', { id: 'file-2' })
  t.same(await listed(), ['file-2'])
  t.ok(await store.find('ann', FILE, 'file-1'))
  clock.now += 86_400_000
  t.equal(await store.find('ann', FILE, 'file-1'), undefined)
  t.ok(await store.find('ann', FILE, 'file-2'))
})

t.test('a full store still forgets', async t => {
  const memory = new MemoryStore()
  const store = new OwnershipStore(memory)
  await store.note('ann', FILE, 'a', 'file-1', { id: 'file-1' })
  memory.create = () => Promise.reject(new StoreError('full', 'there is no room'))
  await store.forget('ann', FILE, 'file-1')
  t.equal(await store.find('ann', FILE, 'file-1'), undefined)
})

t.test('what comes with a thing is in lists again, though its upstream did not have it before', async t => {
  const { store } = setUp()
  const note = (): Promise<void> => store.note('ann', BATCH, 'a', 'batch-1', { id: 'batch-1', output: 'file-1' })
  const files = async (): Promise<number> =>
    (await store.page('ann', FILE, { order: 'ascending', limit: 9 }, () => true)).items.length
  await note()
  await store.missing('ann', FILE, 'file-1')
  t.equal(await files(), 0)
  await note()
  t.equal(await files(), 1)
})

t.test('a thing is forgotten when it ends', async t => {
  const { store, clock } = setUp()
  await store.note('ann', FILE, 'a', 'file-1', { id: 'file-1', expires_at: 5 })
  clock.now = 4999
  t.ok(await store.find('ann', FILE, 'file-1'))
  clock.now = 5001
  t.equal(await store.find('ann', FILE, 'file-1'), undefined)
})

t.test('what comes with a thing has the same owner, and what was known of it stays', async t => {
  const { store } = setUp()
  await store.note('ann', BATCH, 'a', 'b-1', { id: 'b-1', output: 'file-2' })
  t.match(await store.find('ann', FILE, 'file-2'), { upstream: 'a', object: undefined })
  await store.note('ann', FILE, 'a', 'file-2', { id: 'file-2', bytes: 3 })
  await store.note('ann', BATCH, 'a', 'b-1', { id: 'b-1', output: 'file-2' })
  t.match(await store.find('ann', FILE, 'file-2'), { object: { bytes: 3 } })
})

t.test('pages hold what is wanted, in order, and tell whether there is more', async t => {
  const { store } = setUp()
  for (let at = 0; at < 250; at++)
    await store.note('ann', FILE, 'a', `file-${at}`, { id: `file-${at}`, odd: at % 2 === 1 })
  const wanted = (object: { odd?: unknown }): boolean => object.odd === true
  const first = await store.page('ann', FILE, { order: 'descending', limit: 3 }, wanted)
  t.same([first.items.map(item => item.id), first.more], [['file-249', 'file-247', 'file-245'], true])
  const after = await store.cursorOf('ann', FILE, 'file-5')
  if (after === undefined) throw new Error('the record is there')
  const last = await store.page('ann', FILE, { order: 'descending', limit: 3, after }, wanted)
  t.same([last.items.map(item => item.id), last.more], [['file-3', 'file-1'], false])
  const all = await store.page('ann', FILE, { order: 'ascending', limit: 1000 }, () => true)
  t.same([all.items.length, all.more], [250, false])
})

t.test('a page says where the next one begins, also where none of thousands was wanted', async t => {
  const { store } = setUp()
  for (let at = 0; at < 5100; at++) await store.note('ann', FILE, 'a', `file-${at}`, { id: `file-${at}`, at })
  const wanted = ({ at }: { at?: unknown }): boolean => at === 5060 || Number(at) < 3
  const range = { order: 'descending', limit: 2 } as const
  const ids = async (after?: Range['after']) => {
    const page = await store.page('ann', FILE, { ...range, ...(after === undefined ? {} : { after }) }, wanted)
    return [page.items.map(({ id }) => id), page.more, page.end] as const
  }
  const [some, more, end] = await ids()
  t.strictSame([some, more, end?.key], [['file-5060'], true, 'file-100'])
  const [next, isMore, last] = await ids(end)
  t.strictSame([next, isMore, last?.key], [['file-2', 'file-1'], true, 'file-1'])
  t.strictSame((await ids(last)).slice(0, 2), [['file-0'], false])
})

t.test('a name of another kind, or that cannot be a key, is not an id', async t => {
  t.equal(idIn('files/abc', NATIVE), 'abc')
  for (const name of [
    'abc',
    'batches/abc',
    'files/',
    'files/a b',
    'files/é',
    `files/${'x'.repeat(300)}`,
    'files/\u0000',
  ]) {
    t.equal(idIn(name, NATIVE), undefined, name.slice(0, 20))
  }
})
