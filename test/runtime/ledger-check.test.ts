import t, { type Test } from 'tap'
import type { Accounts } from '../../src/core/accounts.js'
import { checkLedger } from '../../src/runtime/ledger-check.js'
import { dropOldDays } from '../../src/runtime/ledger-retention.js'
import { LedgerStore } from '../../src/runtime/ledger-store.js'
import { MemoryStore } from '../../src/stores/memory.js'
import { NOON, record, write } from '../helpers/ledger-entries.js'

const DAY_MS = 86_400_000
const UTC = { timeZone: 'UTC' }
const TOTAL = 'key:alice budget total'

function stage(t: Test): { store: MemoryStore; accounts: Accounts; ledger: LedgerStore } {
  const store = new MemoryStore()
  t.teardown(() => store.close())
  return { store, accounts: store.accounts, ledger: new LedgerStore(store) }
}

t.test('a ledger that explains every account agrees', async t => {
  const { accounts, ledger } = stage(t)
  const month = 'group:research budget month 2026-11'
  await write(accounts, 'w', [
    record('a', { charges: { [TOTAL]: 2500, [month]: 2500 } }),
    record('b', { charges: { [TOTAL]: 1, [month]: 1 }, cost: 1 }),
    record('c', { charges: {} }),
  ])
  const report = await checkLedger(ledger, UTC)
  t.match(report, { entries: 3, days: 1, accounts: 2, differing: 0, moving: 0, uncovered: 0, forgotten: 0 })
})

t.test('one millionth too little, too much, and an account that no entry names are differences', async t => {
  const { accounts, ledger } = stage(t)
  await write(accounts, 'a', [record('a', { charges: { [TOTAL]: 2500 } })])
  await write(accounts, 'b', [record('b', { charges: { [TOTAL]: 1 } })], { lost: [TOTAL] })
  t.same((await checkLedger(ledger, UTC)).differences, [{ account: TOTAL, entries: 2501, spent: 2500 }])

  const spend = { account: TOTAL, expires: Date.now() + DAY_MS, bound: 9e9, lease: 'c', spend: 2, hold: 0, until: 0 }
  const unnamed = { ...spend, account: 'key:bob budget total' }
  const now = Date.now()
  await accounts.commit({ writer: 'c', number: 1, remembered: now, now, leases: [spend, unnamed], entries: [] })
  t.same((await checkLedger(ledger, UTC)).differences, [{ account: TOTAL, entries: 2501, spent: 2502 }])
  const { differences, accounts: compared } = await checkLedger(ledger, { ...UTC, expected: [unnamed.account] })
  t.equal(compared, 2)
  t.same(differences, [
    { account: TOTAL, entries: 2501, spent: 2502 },
    { account: unnamed.account, entries: 0, spent: 2 },
  ])
})

t.test('more accounts than fit are compared in passes', async t => {
  const { accounts, ledger } = stage(t)
  const names = Array.from({ length: 50 }, (_, n) => `key:k${n} budget total`)
  await write(
    accounts,
    'w',
    names.map((name, n) => record(String(n), { charges: { [name]: n + 1 } })),
  )
  await write(accounts, 'v', [record('x', { charges: { 'key:k7 budget total': 5 } })], {
    lost: ['key:k7 budget total'],
  })
  const report = await checkLedger(ledger, { ...UTC, maxAccounts: 4 })
  t.match(report, { entries: 51, accounts: 50, differing: 1 })
  t.same(report.differences, [{ account: 'key:k7 budget total', entries: 13, spent: 8 }])
})

t.test('what requests charge meanwhile does not count as a difference', async t => {
  const { accounts, ledger } = stage(t)
  await write(accounts, 'first', [record('a', { charges: { [TOTAL]: 10 } })])
  let writers = 0
  const { entries } = accounts
  // Something is charged behind each page that is read.
  accounts.entries = async (day, range) => {
    const page = await entries.call(accounts, day, range)
    await write(accounts, `w${++writers}`, [record(`r${writers}`, { charges: { [TOTAL]: 3 } })])
    return page
  }
  t.match(await checkLedger(ledger, UTC), { moving: 1, differing: 0, accounts: 0 })
  accounts.entries = entries
  t.match(await checkLedger(ledger, UTC), { moving: 0, differing: 0, accounts: 1 }, 'once it is quiet')
})

t.test('windows whose days were dropped are not covered, unless their entries alone are too much', async t => {
  const { store, accounts, ledger } = stage(t)
  const [november, second, third] = ['month 2026-11', 'day 2026-11-02', 'day 2026-11-03'].map(
    window => `key:alice budget ${window}`,
  ) as [string, string, string]
  await write(accounts, 'a', [record('a', { at: NOON - DAY_MS, charges: { [november]: 5, [second]: 5 } })])
  await write(accounts, 'b', [record('b', { charges: { [november]: 7, [third]: 7, [TOTAL]: 7 } })])
  t.match(await checkLedger(ledger, UTC), { accounts: 4, differing: 0, uncovered: 0 })

  t.equal(await dropOldDays(store, DAY_MS, NOON), 0, 'a day is kept while any of it is')
  t.equal(await dropOldDays(store, DAY_MS / 2 - 1, NOON), 1)
  t.same(await accounts.days(), ['2026-11-03'])
  const report = await checkLedger(ledger, UTC)
  t.match(report, { entries: 1, accounts: 2, differing: 0, uncovered: 1, droppedUntil: '2026-11-02' })
  t.same(report.uncoveredWindows, { 'month 2026-11': 1 })

  await write(accounts, 'c', [record('c', { charges: { [november]: 100 } })], { lost: [november] })
  t.same((await checkLedger(ledger, UTC)).differences, [{ account: november, entries: 107, spent: 12 }])
})

t.test('a window of another time zone begins up to a day before that of the ledger', async t => {
  const { store, accounts, ledger } = stage(t)
  const third = 'key:alice budget day 2026-11-03'
  await write(accounts, 'a', [record('a', { at: NOON - DAY_MS / 2 - 1, charges: { [third]: 5 } })])
  await write(accounts, 'b', [record('b', { charges: { [third]: 7 } })])
  t.equal(await dropOldDays(store, 0, NOON), 1)
  t.match(await checkLedger(ledger, { timeZone: 'Asia/Tokyo' }), { accounts: 0, uncovered: 1, differing: 0 })
  t.match(await checkLedger(ledger, UTC), { accounts: 1, uncovered: 0, differing: 1 })
})

t.test('accounts of windows that have ended are not kept for ever', async t => {
  const { accounts, ledger } = stage(t)
  const long = 'key:alice budget minute 2026-11-03T12:00'
  const open = `key:alice budget month ${new Date(Date.now() + 40 * DAY_MS).toISOString().slice(0, 7)}`
  await write(accounts, 'a', [record('a', { charges: { [long]: 5 } })], { lost: [long] })
  t.match(await checkLedger(ledger, UTC), { accounts: 0, forgotten: 1, differing: 0 })
  await write(accounts, 'b', [record('b', { charges: { [open]: 5 } })], { lost: [open] })
  t.match(await checkLedger(ledger, UTC), { forgotten: 1, differing: 1 })
})

t.test('an entry that cannot be read is reported with its place', async t => {
  const { accounts, ledger } = stage(t)
  await write(accounts, 'a', [record('a')])
  const now = Date.now()
  const entries = [{ day: '2026-11-03', value: Buffer.from('{') }]
  await accounts.commit({ writer: 'b', number: 1, remembered: now, now, leases: [], entries })
  await t.rejects(checkLedger(ledger, UTC), { message: 'entry 2 of 2026-11-03 in the ledger cannot be read' })
})
