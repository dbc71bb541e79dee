import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { LedgerRecord } from '../../../src/core/ledger.js'
import type { Store } from '../../../src/core/store.js'
import type { StoreConfig } from '../../../src/core/store-config.js'
import { openStore } from '../../../src/runtime/stores.js'
import { DURABLE } from '../../helpers/store-kinds.js'

const CHILD = fileURLToPath(new URL('./book-child.js', import.meta.url))
const BOUND = 1_000_000
const ACCOUNT = 'group:racers budget total'

interface Totals {
  readonly passed: number
  readonly refused: number
  readonly used: number
  readonly most: number
}

/** Another prefix or schema of the same server: an empty store. */
function another(config: StoreConfig, name: string): StoreConfig {
  return (config.type === 'postgres' ? { ...config, schema: name } : { ...config, prefix: name }) as StoreConfig
}

async function start(t: Test, config: StoreConfig): Promise<ChildProcess> {
  const child = fork(CHILD, [JSON.stringify(config)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'message')
  return child
}

async function run(child: ChildProcess, way: 'equal' | 'mixed', count: number, lanes: number): Promise<Totals> {
  child.send({ way, count, lanes })
  const [totals] = await once(child, 'message')
  return totals as Totals
}

async function close(child: ChildProcess): Promise<void> {
  child.send('close')
  await once(child, 'message')
}

async function ledgerSum(
  store: Store,
): Promise<{ readonly sum: number; readonly ids: number; readonly entries: number }> {
  const ids = new Set<string>()
  let [sum, entries] = [0, 0]
  for (const day of await store.accounts.days())
    for (const { value } of await store.accounts.entries(day, { after: 0, limit: 100_000 })) {
      const { id, charges } = JSON.parse(Buffer.from(value).toString()) as LedgerRecord
      ids.add(id)
      entries++
      sum += charges[ACCOUNT] ?? 0
    }
  return { sum, ids: ids.size, entries }
}

for (const kind of DURABLE.filter(({ type }) => type !== 'file')) {
  t.test(`two processes on ${kind.type}`, { skip: kind.skip }, async t => {
    const config = await kind.make(t)

    t.test('F-A7 500 requests race for what 100 of them may spend: 100 pass, and overshoot is 0', async t => {
      const own = another(config, 'equal')
      const store = await openStore(own)
      const children = await Promise.all([start(t, own), start(t, own)])
      const totals = await Promise.all(children.map(child => run(child, 'equal', 250, 250)))
      await Promise.all(children.map(close))
      const [tally] = await store.accounts.read([ACCOUNT], Date.now())
      console.log(
        `# MEASURED: ${kind.type}: ${totals.map(({ passed }) => passed)} of 500 passed, ${tally?.spent} of ${BOUND}`,
      )
      t.equal(
        totals.reduce((sum, { passed }) => sum + passed, 0),
        100,
      )
      t.same(tally, { spent: BOUND, held: 0 })
      t.same(await ledgerSum(store), { sum: BOUND, ids: 100, entries: 100 })
      await store.close()
    })

    t.test('mixed requests, aborts and extensions overshoot by 0, and one of them killed loses no entry', async t => {
      const own = another(config, 'mixed')
      const store = await openStore(own)
      const children = await Promise.all([start(t, own), start(t, own), start(t, own)])
      const [first, second, killed] = children as [ChildProcess, ChildProcess, ChildProcess]
      killed.send({ way: 'mixed', count: 10_000, lanes: 10 })
      const running = [first, second].map(child => run(child, 'mixed', 250, 25))
      while ((await ledgerSum(store)).entries < 50) await new Promise(resolve => setTimeout(resolve, 5))
      killed.kill('SIGKILL')
      const totals = await Promise.all(running)
      await Promise.all([first, second].map(close))
      const [tally] = await store.accounts.read([ACCOUNT], Date.now())
      const { sum, ids, entries } = await ledgerSum(store)
      const used = totals.reduce((sum, { used }) => sum + used, 0)
      console.log(
        `# MEASURED: ${kind.type}: ${totals.map(({ passed }) => passed)} passed, ${totals.map(({ refused }) => refused)} refused; overshoot ${Math.max(0, sum - BOUND)} of ${BOUND}`,
      )
      t.equal(tally?.spent, sum, 'the ledger explains the account')
      t.ok(sum <= BOUND && sum >= used, `${sum}, of which ${used} is not of the killed one`)
      t.ok((tally?.spent ?? 0) + (tally?.held ?? 0) <= BOUND)
      t.equal(ids, entries, 'no entry is written twice')
      t.ok(totals.every(({ most }) => most <= 40))
      await store.close()
    })
  })
}
