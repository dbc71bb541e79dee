import t from 'tap'
import { type Store, StoreError } from '../../../src/core/store.js'
import { ChargedTasks } from '../../../src/features/limits/charged-tasks.js'
import { MemoryStore } from '../../../src/stores/memory.js'

/** One process reports what a task has cost, and once. */

const END = { submit: 'task_1', owner: 'alice' }

t.test('of two processes the first one reports, and of two ends at once one', async t => {
  const store = new MemoryStore()
  const [first, second] = [new ChargedTasks(store), new ChargedTasks(store)]
  t.same((await Promise.all([first.take(END), first.take(END)])).toSorted(), [false, true])
  t.equal(await second.take(END), false)
  t.equal(await first.take(END), false)
  t.equal(await second.take({ ...END, submit: 'task_2' }), true)
})

t.test("a mark whose answer was lost is this process's own", async t => {
  const store = new MemoryStore()
  let isLost = true
  const create: Store['create'] = async draft => {
    const made = await store.create(draft)
    if (isLost) throw new StoreError('unavailable', 'no answer')
    return made
  }
  const get: Store['get'] = (...place) => store.get(...place)
  const charged = new ChargedTasks({ create, get } as Store)
  await t.rejects(charged.take(END), StoreError)
  isLost = false
  t.equal(await charged.take(END), true)
  t.equal(await new ChargedTasks(store).take(END), false)
})

t.test('where no other process can report, this one does without a store', async t => {
  const charged = new ChargedTasks(undefined)
  t.equal(await charged.take(END), true)
  t.equal(await charged.take(END), false)
})
