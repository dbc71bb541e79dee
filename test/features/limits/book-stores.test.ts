import t from 'tap'
import type { Scope } from '../../../src/core/bounds.js'
import type { LedgerRecord } from '../../../src/core/ledger.js'
import { Book } from '../../../src/features/limits/book.js'
import { claimOf, Reservation } from '../../../src/features/limits/reservation.js'
import { openStore } from '../../../src/runtime/stores.js'
import { DURABLE } from '../../helpers/store-kinds.js'

t.setTimeout(120_000)

const RACERS = 500
/** What a request reserves, and the budget: a tenth of what all want. Millionths of a USD. */
const WORST_CASE = 1000
const BUDGET = 50_000

const ALICE: Scope = {
  type: 'key',
  name: 'alice',
  limits: { bounds: [{ unit: 'budget', amount: BUDGET, window: 'total' }], in_flight: 40 },
}

// The books of two gateways, each with a client of its own, on a real store.
for (const { type, skip, make } of DURABLE) {
  t.test(`F-A7 ${RACERS} requests at two gateways on ${type} never spend more than one budget`, { skip }, async t => {
    // A gateway's listener keeps its process alive; timers of a book do not.
    const alive = setInterval(() => undefined, 1000)
    t.teardown(() => clearInterval(alive))
    const config = await make(t)
    const stores = [await openStore(config), await openStore(config)]
    const faults: unknown[] = []
    const books = stores.map(
      ({ accounts }) =>
        new Book(accounts, { isShared: true, isDurable: true, onFault: error => void faults.push(error) }),
    )
    let charged = 0
    let settled = 0
    const request = async (n: number): Promise<void> => {
      const book = books[n % 2] as Book
      const outcome = await book.reserve([claimOf([ALICE], { budget: WORST_CASE, in_flight: 1 })])
      if (!(outcome instanceof Reservation)) return
      await new Promise(resolve => setTimeout(resolve, n % 7))
      // Some cost all that was reserved, some less, some nothing at all.
      const cost = n % 5 === 0 ? 0 : n % 3 === 0 ? WORST_CASE : 137 + n
      const record: Omit<LedgerRecord, 'charges'> = {
        ...{ id: `${n}/1`, at: Date.now(), key: 'alice', model: 'm', upstream: 'u', route: 'r', units: {} },
        ...{ cost, outcome: 'ok', generation: 1 },
      }
      charged += cost
      settled++
      book.settle(outcome, { budget: cost, in_flight: 1 }, record)
      await book.flushed()
    }
    const wave = async (from: number, count: number): Promise<void> => {
      await Promise.all(Array.from({ length: count }, (_, n) => request(from + n)))
    }
    await wave(0, RACERS)
    // What requests reserved and did not use is there for others: until no request finds enough.
    for (let asked = RACERS, fruitless = 0; fruitless < 3 && asked < 10 * RACERS; asked += 50) {
      const before = settled
      await wave(asked, 50)
      fruitless = settled > before ? 0 : fruitless + 1
    }
    await Promise.all(books.map(book => book.close()))
    const [store] = stores
    const [budget, places] =
      (await store?.accounts.read(['key:alice budget total', 'key:alice in_flight'], Date.now())) ?? []
    const records: LedgerRecord[] = []
    for (const day of (await store?.accounts.days()) ?? []) {
      for (const { value } of (await store?.accounts.entries(day, { after: 0, limit: 10_000 })) ?? []) {
        records.push(JSON.parse(Buffer.from(value).toString()) as LedgerRecord)
      }
    }
    const sum = records.reduce((all, { charges }) => all + (charges['key:alice budget total'] ?? 0), 0)
    t.comment(`${settled} served, ${charged} of ${BUDGET} spent, overshoot ${Math.max(0, charged - BUDGET)}`)
    t.same(faults, [])
    t.same(budget, { spent: charged, held: 0 })
    t.same(places, { spent: 0, held: 0 })
    t.same([sum, records.length], [charged, settled], 'the ledger says the same')
    t.ok(charged <= BUDGET, 'overshoot 0')
    t.ok(charged > BUDGET - 2 * WORST_CASE, 'and less than two requests are left over')
    await Promise.all(stores.map(store => store.close()))
  })
}
