import t from 'tap'
import { isNamespace, type ScanRange, type StoredRecord } from '../../../src/core/store.js'
import { encodeTask, newTaskId, type Task } from '../../../src/features/tasks/record.js'
import { namespaceOf, TaskRepository } from '../../../src/features/tasks/repository.js'
import { MemoryStore } from '../../../src/stores/memory.js'

const HOUR_MS = 3_600_000

/** Counts the records that are read. */
class CountingStore extends MemoryStore {
  read = 0

  override async get(namespace: string, owner: string, key: string): Promise<StoredRecord | undefined> {
    this.read++
    return await super.get(namespace, owner, key)
  }

  override async scan(namespace: string, range: ScanRange): Promise<readonly StoredRecord[]> {
    const found = await super.scan(namespace, range)
    this.read += found.length
    return found
  }
}

t.test('a task is found by its id alone, and what is read for it are owners, not tasks', async t => {
  const store = new CountingStore()
  t.teardown(() => store.close())
  const book = new TaskRepository(store)
  const created = Date.now()
  const namespace = namespaceOf('video')
  const last = { created, expires: created + HOUR_MS }
  const ids: string[] = []
  const owners = ['ann', 'bob', 'cleo', 'dan']
  for (const owner of owners) {
    for (let n = 0; n < 300; n++) {
      const id = newTaskId()
      ids.push(id)
      const task = { id, kind: 'video', owner, phase: 'open' } as unknown as Task
      await store.create({ namespace, owner, key: id, ...last, created: created + n, value: encodeTask(task) })
    }
  }
  for (const id of [ids[0], ids[450], ids.at(-1)]) {
    store.read = 0
    t.equal((await book.findForAnyOwner('video', id ?? ''))?.task.id, id)
    t.ok(store.read <= 2 * owners.length, `${store.read} read`)
  }
  store.read = 0
  t.equal(await book.findForAnyOwner('video', newTaskId()), undefined)
  t.ok(store.read <= 2 * owners.length, `${store.read} read`)
  store.read = 0
  t.equal(await book.findForAnyOwner('video', 'task_0'), undefined)
  t.equal(store.read, 0, 'what is not an id is not looked for')
  t.equal(await book.findForAnyOwner('image', ids[0] ?? ''), undefined)
})

t.test('each kind has a namespace of its own that stores take', async t => {
  const kinds = ['video', 'model3d', 'Model3d', 'my_kind', 'gone', 'x'.repeat(26), 'x'.repeat(27), 'x'.repeat(32)]
  const namespaces = kinds.map(namespaceOf)
  for (const namespace of namespaces) t.ok(isNamespace(namespace), namespace)
  t.equal(new Set([...namespaces, 'tasks-gone']).size, kinds.length + 1)
  t.equal(namespaceOf('video'), 'tasks-video')
  t.equal(namespaceOf('model3d'), 'task-kind-nhcgeinjlagoaaheppnk', 'the same in every version')
})

t.test('a client’s own key leads to its task for 24 hours, and is free then', async t => {
  const clock = { now: Date.now() }
  const store = new MemoryStore(undefined, () => clock.now)
  t.teardown(() => store.close())
  const book = new TaskRepository(store)
  const claim = { id: newTaskId(), digest: 'one' }
  const later = { id: newTaskId(), digest: 'two' }
  t.equal(await book.claimKey('ann', 'order-1', claim), true)
  clock.now += 24 * HOUR_MS - 60_000
  t.same(await book.claimed('ann', 'order-1'), claim)
  t.equal(await book.claimKey('ann', 'order-1', later), false)
  t.equal(await book.claimed('bob', 'order-1'), undefined)
  clock.now += 120_000
  t.equal(await book.claimed('ann', 'order-1'), undefined)
  t.equal(await book.claimKey('ann', 'order-1', later), true)
})
