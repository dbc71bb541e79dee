import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { dropOldDays } from '../../src/runtime/ledger-retention.js'
import { FileStore } from '../../src/stores/file.js'
import { NOON, record, write } from '../helpers/ledger-entries.js'
import { run } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'

t.setTimeout(60_000)

const TOTAL = 'key:local budget total'

t.test('gateway ledger verify says which accounts the ledger does not explain', async t => {
  const cwd = mkdtempSync(join(tmpdir(), 'gateway-ledger-'))
  t.teardown(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'gateway.yaml'), GOOD)
  const store = new FileStore(join(cwd, 'data', 'store'))
  t.teardown(() => store.close())
  const verify = (...args: readonly string[]) =>
    run(['ledger', 'verify', ...args], { cwd, env: { TEST_KEY, NORTH_KEY: 'n' } })

  t.match(await verify(), { code: 0, stdout: '0 entries of 0 days, 0 accounts of budgets compared: all agree\n' })
  const charges = { [TOTAL]: 2500, 'group:research budget month 2026-11': 2500 }
  await write(store.accounts, 'a', [record('a', { charges }), record('b', { charges })])
  t.match(await verify('gateway.yaml'), {
    code: 0,
    stdout: '2 entries of 1 day, 2 accounts of budgets compared: all agree\n',
  })

  await write(store.accounts, 'b', [record('c', { charges: { [TOTAL]: 1 } })], { lost: [TOTAL] })
  const differs = await verify()
  t.equal(differs.code, 1)
  t.same(differs.stdout.split('\n'), [
    '3 entries of 1 day, 2 accounts of budgets compared: 1 differs',
    'ACCOUNT                 USD OF ENTRIES  USD SPENT  DIFFERENCE',
    'key:local budget total  0.005001        0.005000   -0.000001',
    '',
  ])
  const json = await verify('--json')
  t.equal(json.code, 1)
  t.match(JSON.parse(json.stdout), {
    agrees: false,
    entries: 3,
    differences: [{ account: TOTAL, entries: 5001, spent: 5000 }],
  })
})

t.test('gateway ledger verify names the windows whose days were dropped', async t => {
  const cwd = mkdtempSync(join(tmpdir(), 'gateway-ledger-'))
  t.teardown(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'gateway.yaml'), GOOD)
  const store = new FileStore(join(cwd, 'data', 'store'))
  const month = 'group:research budget month 2026-11'
  const charges = { [TOTAL]: 5, [month]: 5 }
  await write(store.accounts, 'a', [
    record('a', { at: NOON - 86_400_000, charges }),
    record('b', { charges: { ...charges, 'key:local budget day 2026-11-03': 5 } }),
  ])
  t.equal(await dropOldDays(store, 0, NOON), 1)
  await store.close()
  t.match(await run(['ledger', 'verify'], { cwd, env: { TEST_KEY, NORTH_KEY: 'n' } }), {
    code: 0,
    stdout: `1 entry of 1 day, 1 account of budgets compared: all agree
not covered, because days up to 2026-11-02 were dropped: total (1 account), month 2026-11 (1 account)
`,
  })
})
