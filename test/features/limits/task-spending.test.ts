import t from 'tap'
import type { Demand } from '../../../src/core/amounts.js'
import type { Json } from '../../../src/core/json.js'
import { Book } from '../../../src/features/limits/book.js'
import { holdDebt, keepDebt, settleDebt } from '../../../src/features/limits/task-spending.js'
import type { AttemptView } from '../../../src/kernel/stages.js'
import type { TaskEnd } from '../../../src/kernel/task-end.js'
import { MemoryAccounts } from '../../../src/stores/memory-accounts.js'
import { VirtualTime } from './virtual-time.js'

t.test('a task whose submit takes past midnight is held in the new day, and nothing of it stays there', async t => {
  const time = new VirtualTime(Date.UTC(2026, 10, 23, 23, 59, 59))
  const { now } = Date
  Date.now = () => time.now
  t.teardown(() => {
    Date.now = now
  })
  const store = new MemoryAccounts(() => {})
  const onFault = (error: unknown) => void t.fail(`${error}`)
  const book = new Book(store, { clock: time.clock(), isShared: true, isDurable: false, onFault })
  let kept: Json = null
  const attempt = {
    ...{ call: {}, exchange: {} },
    keep(_feature: string, value: Json) {
      kept = value
    },
  } as unknown as AttemptView
  const limits = { bounds: [{ unit: 'budget', amount: 100, window: 'day' } as const] }
  const demand = { images: 0, seconds: 0, saysSeconds: false } as Demand
  const debt = keepDebt(attempt, [{ type: 'key', name: 'alice', limits }], 80, demand)
  await time.pass(2000)
  await time.until(holdDebt(book, attempt, debt))
  const today = ['key:alice budget day 2026-11-24']
  t.match(await time.until(book.read(debt.scopes)), [{ reserved: 80 }])
  await settleDebt(book, { kept, state: 'cancelled', fields: {} } as unknown as TaskEnd)
  await time.until(book.close())
  t.same(await store.read(today, time.now), [{ spent: 0, held: 0 }])
})
