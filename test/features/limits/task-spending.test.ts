import t, { type Test } from 'tap'
import type { Demand } from '../../../src/core/amounts.js'
import type { Json } from '../../../src/core/json.js'
import { Book } from '../../../src/features/limits/book.js'
import { holdDebt, keepDebt, settleDebt, type TaskDebt } from '../../../src/features/limits/task-spending.js'
import type { AttemptView } from '../../../src/kernel/stages.js'
import type { TaskEnd } from '../../../src/kernel/task-end.js'
import { MemoryAccounts } from '../../../src/stores/memory-accounts.js'
import { VirtualTime } from './virtual-time.js'

const DEMAND = { images: 0, seconds: 0, saysSeconds: false } as Demand
const LIMITS = { bounds: [{ unit: 'budget', amount: 100, window: 'day' } as const] }
const TODAY = ['key:alice budget day 2026-11-24']

/** A task of alice's that costs 80, begun a second before midnight. */
function stage(t: Test) {
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
  const begin = () => keepDebt(attempt, [{ type: 'key', name: 'alice', limits: LIMITS }], 80, DEMAND)
  const of = {
    submit: '1',
    owner: 'alice',
    model: 'm',
    target: 'm',
    upstream: 'up',
    route: 'POST /v1/videos',
    generation: 1,
  }
  const end = (state: string) => settleDebt(book, { ...of, kept, state, fields: {} } as unknown as TaskEnd)
  return { time, store, book, begin, end, hold: (debt: TaskDebt) => time.until(holdDebt(book, attempt, debt)) }
}

t.test('a task whose submit takes past midnight is held in the new day, and nothing of it stays there', async t => {
  const { time, store, book, begin, end, hold } = stage(t)
  const debt = begin()
  await time.pass(2000)
  await hold(debt)
  t.match(await time.until(book.read(debt.scopes)), [{ reserved: 80 }])
  await end('cancelled')
  await time.until(book.close())
  t.same(await store.read(TODAY, time.now), [{ spent: 0, held: 0 }])
})

t.test('a task that was given up, and then accepted after all, is charged once when it succeeds', async t => {
  const { time, store, book, begin, end, hold } = stage(t)
  const debt = { ...begin(), price: { request: 80_000_000 }, units: { request: 1 } }
  await end('failed')
  await time.pass(2000)
  await hold(debt)
  for (let report = 0; report < 2; report++) await end('succeeded')
  await time.until(book.close())
  t.same(await store.read(TODAY, time.now), [{ spent: 80, held: 0 }])
})
