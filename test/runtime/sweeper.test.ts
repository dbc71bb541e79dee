import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { droppedUntil } from '../../src/runtime/ledger-retention.js'
import { StoreState } from '../../src/runtime/store-state.js'
import { Sweeper } from '../../src/runtime/sweeper.js'
import { openLog } from '../../src/sinks/log.js'
import { FileStore } from '../../src/stores/file.js'
import { MemoryStore } from '../../src/stores/memory.js'
import { clockAhead } from '../helpers/fast-clock.js'
import { oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { record, write } from '../helpers/ledger-entries.js'

const AGAIN = 'the store can be used again'

function stage(t: Test): { store: MemoryStore; state: StoreState; sweeper: Sweeper; messages: string[] } {
  const messages: string[] = []
  const stream = new Writable({
    write: (line: Buffer, _encoding, done) => {
      messages.push((JSON.parse(line.toString()) as { msg: string }).msg)
      done()
    },
  })
  const store = new MemoryStore({ records: 2 })
  const state = new StoreState()
  state.attach(openLog({ level: 'info', format: 'json' }, stream))
  const sweeper = new Sweeper(store, state)
  t.teardown(async () => {
    await sweeper.stop()
    await store.close()
  })
  return { store, state, sweeper, messages }
}

function draft(key: string): Parameters<MemoryStore['create']>[0] {
  const now = Date.now()
  const times = { created: now, expires: now + 60_000, due: now + 60_000 }
  return { namespace: 'tasks', owner: 'me', key, ...times, value: Buffer.alloc(1) }
}

t.test('F-S6 a store that is full is usable again when something was written, not when nothing had to be', async t => {
  const { store, state, sweeper, messages } = stage(t)
  const first = await store.create(draft('a'))
  await store.create(draft('b'))
  await store.create(draft('c')).catch(error => state.failed(error))
  await sweeper.sweepNow()
  await sweeper.sweepNow()
  t.same(messages, ['a record could not be stored'])
  t.match(state.reason, /is full/)

  t.ok(first && (await store.delete(first)))
  await sweeper.sweepNow()
  t.equal(messages.at(-1), AGAIN)
  t.equal(state.reason, undefined)
  t.ok(await store.create(draft('c')), 'nothing of the trial is left')
})

t.test('F-P10 a jump of the clock ends no lease of another process', async t => {
  const { store, sweeper } = stage(t)
  const now = Date.now()
  const [account, lasts] = ['key:a budget total', { expires: now + 600_000, until: now + 60_000 }]
  const lease = { account, lease: 'other', bound: 100, spend: 0, hold: 40, ...lasts }
  await store.accounts.commit({ writer: 'w', number: 1, remembered: now + 60_000, now, leases: [lease], entries: [] })
  clockAhead(t, Date, () => 3_600_000)
  await sweeper.sweepNow()
  t.same(await store.accounts.read([account], now), [{ spent: 0, held: 40 }])
})

t.test('the sweeper drops the days of the ledger whose time is over, whole, and remembers up to where', async t => {
  const { store, state } = stage(t)
  const DAY_MS = 86_400_000
  const now = Date.now()
  for (const [number, age] of [3, 2, 1, 0].entries()) {
    const at = now - age * DAY_MS
    await write(store.accounts, `w${number}`, [record(String(number), { at })])
  }
  const days = await store.accounts.days()
  let retention: number | undefined
  const sweeper = new Sweeper(store, state, () => retention)
  t.teardown(() => sweeper.stop())
  // Rows are not loaded.
  store.accounts.entries = () => Promise.reject(new Error('no row is read'))
  await sweeper.sweepNow()
  t.same(await store.accounts.days(), days)
  retention = DAY_MS
  await sweeper.sweepNow()
  t.same(await store.accounts.days(), days.slice(-2))
  t.equal(await droppedUntil(store), days[1])
  t.equal(state.reason, undefined)
})

t.test('days of the ledger are dropped in time also where the file has no limits any more', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-sweeper-'))
  const store = new FileStore(join(folder, 'store'))
  t.teardown(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const DAY_MS = 86_400_000
  const now = Date.now()
  for (const age of [91, 89]) await write(store.accounts, `w${age}`, [record(`${age}`, { at: now - age * DAY_MS })])
  const [, recent] = await store.accounts.days()
  // The sweeper looks at once, and not in ten seconds.
  const { setInterval } = globalThis
  globalThis.setInterval = ((run: () => void) => setInterval(run, 10)) as typeof setInterval
  t.teardown(() => {
    globalThis.setInterval = setInterval
  })
  await startTestGateway(t, oneUpstream('http://127.0.0.1:9', `store: { type: file, path: "${folder}" }`))
  for (;;) {
    const days = await store.accounts.days()
    if (days.length === 1) return t.same(days, [recent])
    await new Promise(resolve => setImmediate(resolve))
  }
})
