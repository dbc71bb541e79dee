import type { Counter, Store, Tally } from '../../src/core/store.js'
import { type Check, HOUR, START } from './store-stage.js'

const COUNTER: Counter = { namespace: 'budgets', owner: 'ann', key: 'day-1', expires: START + 24 * HOUR }
const MINUTE = 60_000

/** What every driver does with amounts that have a ceiling. */
export function counterContract(check: Check): void {
  check('what nobody has counted is nothing', async (t, store) => {
    t.same(await store.counters.read(COUNTER, START), { spent: 0, reserved: 0 })
  })

  check('an amount is held back, and spent in the end', async (t, store) => {
    t.same(await reserve(store, 'a', 30), { spent: 0, reserved: 30 })
    t.same(await reserve(store, 'b', 20), { spent: 0, reserved: 50 })
    t.same(await settle(store, 'a', 25), { spent: 25, reserved: 20 })
    t.same(await settle(store, 'b', 0), { spent: 25, reserved: 0 })
    t.same(await store.counters.read(COUNTER, START), { spent: 25, reserved: 0 })
  })

  check('nothing is held over the ceiling, up to it all is', async (t, store) => {
    t.not(await reserve(store, 'a', 60), undefined)
    t.equal(await reserve(store, 'b', 41), undefined)
    t.not(await reserve(store, 'c', 40), undefined)
    t.equal(await reserve(store, 'd', 1), undefined)
    t.same(await store.counters.read(COUNTER, START), { spent: 0, reserved: 100 })
    await settle(store, 'a', 10)
    t.not(await reserve(store, 'e', 50), undefined)
  })

  check('an id holds once', async (t, store) => {
    t.same(await reserve(store, 'a', 30), { spent: 0, reserved: 30 })
    t.same(await reserve(store, 'a', 30), { spent: 0, reserved: 30 })
    t.same(await reserve(store, 'a', 30, { ceiling: 1 }), { spent: 0, reserved: 30 })
  })

  check('an id is settled once', async (t, store) => {
    await reserve(store, 'a', 30)
    t.same(await settle(store, 'a', 12), { spent: 12, reserved: 0 })
    t.equal(await settle(store, 'a', 12), undefined)
    t.equal(await settle(store, 'a', 99), undefined)
    t.same(await store.counters.read(COUNTER, START), { spent: 12, reserved: 0 })
  })

  check('of many settlements of one id at once one counts', async (t, store) => {
    await reserve(store, 'a', 30)
    const done = await Promise.all(Array.from({ length: 20 }, () => settle(store, 'a', 7)))
    t.equal(done.filter(one => one !== undefined).length, 1)
    t.same(await store.counters.read(COUNTER, START), { spent: 7, reserved: 0 })
  })

  check('what was spent counts without a reservation, over the ceiling too, and once', async (t, store) => {
    t.same(await settle(store, 'late', 500), { spent: 500, reserved: 0 })
    t.equal(await settle(store, 'late', 500), undefined)
    t.equal(await reserve(store, 'a', 0), undefined)
  })

  check('what nobody settles falls back when its time is over', async (t, store) => {
    await reserve(store, 'a', 70, { expires: START + MINUTE })
    t.equal(await reserve(store, 'b', 70, { now: START + MINUTE - 1 }), undefined)
    t.same(await store.counters.read(COUNTER, START + MINUTE), { spent: 0, reserved: 0 })
    t.same(await reserve(store, 'b', 70, { now: START + MINUTE }), { spent: 0, reserved: 70 })
    t.same(await settle(store, 'a', 65, START + MINUTE), { spent: 65, reserved: 70 }, 'late spend is spend')
    t.equal(await settle(store, 'a', 65, START + MINUTE), undefined)
  })

  check('what fell back stays so, whatever is asked first after that', async (t, store) => {
    const now = START + MINUTE
    const asked: readonly ((store: Store, counter: Counter) => Promise<unknown>)[] = [
      (store, counter) => store.counters.settle(counter, { id: 'done', amount: 5, now, until: now + HOUR }),
      (store, counter) => store.counters.settle(counter, { id: 'new', amount: 0, now, until: now + HOUR }),
      (store, counter) =>
        store.counters.reserve(counter, { id: 'held', amount: 1, ceiling: 100, now, expires: now + HOUR }),
      (store, counter) =>
        store.counters.reserve(counter, { id: 'large', amount: 101, ceiling: 100, now, expires: now + HOUR }),
    ]
    for (const [n, ask] of asked.entries()) {
      const counter = { ...COUNTER, key: `day-${n}` }
      const held = { ceiling: 100, now: START, expires: now }
      await store.counters.settle(counter, { id: 'done', amount: 5, now: START, until: START + HOUR })
      await store.counters.reserve(counter, { id: 'held', amount: 1, ...held, expires: now + HOUR })
      await store.counters.reserve(counter, { id: 'lost', amount: 40, ...held })
      await ask(store, counter)
      t.same(await store.counters.read(counter, now), { spent: 5, reserved: 1 }, `${n}`)
      await ask(store, counter)
      t.same(await store.counters.read(counter, now), { spent: 5, reserved: 1 }, `${n}, again`)
    }
  })

  check('owners, keys and ids are any visible ASCII, the last ones too', async (t, store) => {
    const counter = { ...COUNTER, owner: '~', key: '~' }
    for (const id of ['~', '~~', '!', 'a~']) {
      await store.counters.reserve(counter, { id, amount: 1, ceiling: 9, now: START, expires: START + MINUTE })
    }
    t.same(await store.counters.read(counter, START), { spent: 0, reserved: 4 })
    t.same(await store.counters.read(counter, START + MINUTE), { spent: 0, reserved: 0 })
    await store.counters.settle(counter, { id: 'b', amount: 2, now: START + MINUTE, until: START + HOUR })
    t.same(await store.counters.read(counter, START + MINUTE), { spent: 2, reserved: 0 })
  })

  check('a counter is forgotten at its end, and the latest end holds', async (t, store, clock) => {
    await reserve(store, 'a', 30)
    const longer = { ...COUNTER, expires: START + 48 * HOUR }
    await store.counters.settle(longer, { id: 'a', amount: 30, now: START, until: START + HOUR })
    t.same(await store.counters.read(COUNTER, START + 47 * HOUR), { spent: 30, reserved: 0 })
    t.same(await store.counters.read(COUNTER, START + 48 * HOUR), { spent: 0, reserved: 0 })
    clock.now = START + 48 * HOUR
    const next = { id: 'a', amount: 5, ceiling: 5, now: clock.now, expires: clock.now + 1 }
    t.same(await store.counters.reserve({ ...COUNTER, expires: clock.now + HOUR }, next), { spent: 0, reserved: 5 })
  })

  check('owners, keys and namespaces are counted apart', async (t, store) => {
    await reserve(store, 'a', 100)
    for (const other of [{ owner: 'bob' }, { key: 'day-2' }, { namespace: 'rates' }]) {
      t.same(await store.counters.read({ ...COUNTER, ...other }, START), { spent: 0, reserved: 0 })
    }
  })

  check('large amounts lose nothing', async (t, store) => {
    const amount = 2 ** 52 + 1
    await settle(store, 'a', amount)
    t.same(await settle(store, 'b', 2), { spent: amount + 2, reserved: 0 })
    t.same(await reserve(store, 'c', 4, { ceiling: Number.MAX_SAFE_INTEGER }), { spent: amount + 2, reserved: 4 })
  })

  check('an amount or an id that is none is refused', async (t, store) => {
    for (const amount of [-1, 0.5, Number.NaN, Infinity, 2 ** 53]) {
      await t.rejects(reserve(store, 'a', amount), { name: 'StoreError' }, `${amount}`)
      await t.rejects(settle(store, 'a', amount), { name: 'StoreError' }, `${amount}`)
    }
    for (const id of ['', 'a b', 'x'.repeat(257)]) await t.rejects(reserve(store, id, 1), { name: 'StoreError' })
  })

  check('F-A7 of 500 who reserve at once for 10, 10 get it', async (t, store) => {
    const held = await Promise.all(Array.from({ length: 500 }, (_, n) => reserve(store, `r${n}`, 1, { ceiling: 10 })))
    const ids = held.flatMap((tally, n) => (tally === undefined ? [] : [`r${n}`]))
    t.equal(ids.length, 10)
    t.same(await store.counters.read(COUNTER, START), { spent: 0, reserved: 10 })
    await Promise.all(ids.map(id => settle(store, id, 1)))
    t.same(await store.counters.read(COUNTER, START), { spent: 10, reserved: 0 })
  })
}

function reserve(
  store: Store,
  id: string,
  amount: number,
  parts: { readonly ceiling?: number; readonly now?: number; readonly expires?: number } = {},
): Promise<Tally | undefined> {
  return store.counters.reserve(COUNTER, { id, amount, ceiling: 100, now: START, expires: START + HOUR, ...parts })
}

function settle(store: Store, id: string, amount: number, now = START): Promise<Tally | undefined> {
  return store.counters.settle(COUNTER, { id, amount, now, until: now + HOUR })
}
