import t, { type Test } from 'tap'
import type { Accounts } from '../../../src/core/accounts.js'
import type { Bound, Scope, ScopeLimits } from '../../../src/core/bounds.js'
import { Book } from '../../../src/features/limits/book.js'
import type { Reservation } from '../../../src/features/limits/reservation.js'
import { MemoryAccounts } from '../../../src/stores/memory-accounts.js'
import { VirtualTime } from './virtual-time.js'

function scopeOf(name: string, bounds: readonly Bound[], rest: Omit<ScopeLimits, 'bounds'> = {}): Scope {
  return { type: 'key', name, limits: { bounds, ...rest } }
}

function bookOf(t: Test, time: VirtualTime, store: Accounts, isShared = false): Book {
  return new Book(store, { clock: time.clock(), isShared, isDurable: false, onFault: error => t.fail(`${error}`) })
}

t.test('what is reserved and used never passes a bound, and comes back if it was not used', async t => {
  const time = new VirtualTime()
  const book = bookOf(t, time, new MemoryAccounts(() => {}))
  const scopes = [
    scopeOf('alice', [
      { unit: 'tokens', amount: 100, window: 'total' },
      { unit: 'budget', amount: 50, window: 'total' },
    ]),
  ]
  const claims = [{ scopes, amounts: { tokens: 60, budget: 10 } }]
  const first = (await time.until(book.reserve(claims))) as Reservation
  t.match(book.reserve(claims), { unit: 'tokens' })
  book.settle(first, { tokens: 40, budget: 50 })
  book.settle(first, { tokens: 40, budget: 50 })
  t.match(book.standing(scopes), [
    { unit: 'tokens', used: 40, reserved: 0, left: 60 },
    { unit: 'budget', used: 50, reserved: 0, left: 0 },
  ])
  t.match(book.reserve(claims), { unit: 'budget' })
  await book.close()
})

t.test('places are held and given back', async t => {
  const time = new VirtualTime()
  const book = bookOf(t, time, new MemoryAccounts(() => {}), true)
  const scopes = [scopeOf('alice', [], { in_flight: 2 })]
  const claims = [{ scopes, amounts: { in_flight: 1, streams: 1 } }]
  const first = (await time.until(book.reserve(claims))) as Reservation
  const second = (await time.until(book.reserve(claims))) as Reservation
  t.match(await time.until(book.reserve(claims)), { unit: 'in_flight', bound: 2 })
  book.settle(first)
  const third = await time.until(book.reserve(claims))
  t.notMatch(third, { unit: 'in_flight' })
  book.settle(second)
  await book.close()
})
