import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Store } from '../../src/core/store.js'
import { FileStore } from '../../src/stores/file.js'
import { ACCOUNTS, BOUND, DAY, LIFE_MS, type Spent, spendingOf } from './spending.js'

type Test = Pick<typeof t, 'same' | 'teardown'>

/** How often a process is killed in its commits; the long run sets more. */
const KILLS = Number(process.env.FILE_KILLS ?? 8)
t.setTimeout(120_000 + KILLS * 5000)
/** Commits, or changes of the file, after which a process is killed: 1, 2, 3, … and again from 1. */
const MAX_COMMITS = 40
const RACE_BOUND = 600
/** Of the file, bytes. */
const PAGE = 4096

const SPENDER = fileURLToPath(new URL('./spender.js', import.meta.url))

t.test(`F-S7 accounts and entries agree after a kill at each commit, and leases of the dead come back`, async t => {
  const folder = join(temporary(t), 'store')
  await new FileStore(folder).close()
  for (let round = 1; round <= KILLS; round++) {
    const writer = `life-${round}`
    const wanted = 1 + ((round - 1) % MAX_COMMITS)
    const child = spawn(process.execPath, [SPENDER, folder, writer], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => void child.kill('SIGKILL'))
    const done = await (round % 2 ? killAtAnswer(child, wanted) : killAtChange(child, folder, wanted))
    const store = new FileStore(folder)
    const { spent, held, sums, last } = await audit(store, writer)
    t.same(spent, sums, `killed after ${done} commits`)
    t.ok(last === done || last === done + 1, `${done} were reported, ${last} are there`)
    t.ok(
      held.every(amount => amount === (last === 0 ? 0 : 1000)),
      `it held ${held.join()}`,
    )
    await takeAll(t, store, `heir-${round}`)
    t.same((await audit(store, writer)).spent, sums, 'the next one finds the same')
    await store.close()
  }
})

t.test('F-S7 a commit that is written in part never happened, for each of its pages', async t => {
  const folder = join(temporary(t), 'store')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  const commit = (number: number): Promise<unknown> => {
    const now = Date.now()
    return store.accounts.commit({ ...spendingOf('a', number), remembered: now + LIFE_MS, now })
  }
  for (let number = 1; number <= 200; number++) await commit(number)
  const file = join(folder, 'data.mdb')
  const before = readFileSync(file)
  await commit(201)
  const after = readFileSync(file)
  // Pages are written first, and last of all one of the two that say where to begin: those are still the old ones.
  const changed = Array.from({ length: Math.ceil(after.length / PAGE) }, (_, page) => page).filter(page => {
    return page > 1 && !pageOf(before, page).equals(pageOf(after, page))
  })
  t.ok(changed.length > 4, `${changed.length} pages changed`)
  for (let part = 0; part <= changed.length; part++) {
    const torn = Buffer.from(after)
    before.copy(torn, 0, 0, 2 * PAGE)
    for (const page of changed.slice(part)) torn.fill(pageOf(before, page), page * PAGE, (page + 1) * PAGE)
    const other = join(temporary(t), 'store')
    mkdirSync(other)
    writeFileSync(join(other, 'data.mdb'), torn)
    const found = new FileStore(other)
    const { spent, sums, last } = await audit(found, 'a')
    t.same([spent, last], [sums, 200], `${part} of ${changed.length} pages`)
    const now = Date.now()
    await found.accounts.commit({ ...spendingOf('a', 201), remembered: now + LIFE_MS, now })
    t.equal((await audit(found, 'a')).last, 201, 'it is repeated')
    await found.close()
  }
})

t.test('several processes, of which one is killed, spend what the bound allows and no more', async t => {
  const folder = join(temporary(t), 'store')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  const children = Array.from({ length: 4 }, (_, n) => {
    const args = [SPENDER, folder, `racer-${n}`, `${RACE_BOUND}`]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => void child.kill('SIGKILL'))
    return child
  })
  const ends = children.map(child => once(child, 'exit'))
  const [victim] = children
  await once(createInterface({ input: victim?.stdout as NodeJS.ReadableStream }), 'line')
  victim?.kill('SIGKILL')
  for (const child of children.slice(1)) child.stdout?.resume()
  await Promise.all(ends)
  const [tally = { spent: -1, held: -1 }] = await store.accounts.read(ACCOUNTS, Date.now())
  t.comment(`4 processes spent ${tally.spent} of ${RACE_BOUND}, the killed one holds ${tally.held}: overshoot 0`)
  t.equal(tally.spent + tally.held, RACE_BOUND)
  t.ok(tally.held <= 3, `${tally.held} are held`)
  const now = Date.now() + LIFE_MS
  t.same(await store.accounts.read([ACCOUNTS[0]], now), [{ spent: tally.spent, held: 0 }])
})

/** What the accounts say, what their entries add up to, and the last commit of a writer that is there whole. */
async function audit(store: Store, writer: string) {
  const tallies = await store.accounts.read(ACCOUNTS, Date.now())
  const entries: Spent[] = []
  for (let after = 0; ; ) {
    const page = await store.accounts.entries(DAY, { after, limit: 500 })
    entries.push(...page.map(({ value }) => JSON.parse(Buffer.from(value).toString()) as Spent))
    const last = page.at(-1)
    if (last === undefined) break
    after = last.sequence
  }
  const own = entries.filter(entry => entry.writer === writer).map(({ number }) => number)
  if (own.some((number, at) => number !== 1 + Math.floor(at / 2)) || own.length % 2)
    throw new Error('entries are missing')
  return {
    spent: tallies.map(({ spent }) => spent),
    held: tallies.map(({ held }) => held),
    sums: ACCOUNTS.map(account => entries.reduce((sum, { charges }) => sum + (charges[account] ?? 0), 0)),
    last: own.length / 2,
  }
}

/** Once the leases of the dead have ended, another one gets all that is not spent, and gives it back. */
async function takeAll(test: Test, store: Store, writer: string): Promise<void> {
  const now = Date.now() + LIFE_MS
  const leases = spendingOf(writer, 1).leases.map(one => ({ ...one, spend: 0, hold: BOUND, until: now + LIFE_MS }))
  const commit = { writer, remembered: now + LIFE_MS, now, entries: [] }
  const taken = await store.accounts.commit({ ...commit, number: 1, leases })
  for (const { spent, held, lease } of taken) test.same([held, lease], [BOUND - spent, BOUND - spent])
  await store.accounts.commit({ ...commit, number: 2, leases: leases.map(one => ({ ...one, hold: 0 })) })
}

/** Kills it when it has said so many commits; returns how many it said in the end. */
async function killAtAnswer(child: ChildProcess, wanted: number): Promise<number> {
  let said = 0
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    said = Number(line)
    if (said === wanted) child.kill('SIGKILL')
  }
  return said
}

/** Kills it at the n-th change of the file since its first answer, so mostly within a commit. */
async function killAtChange(child: ChildProcess, folder: string, wanted: number): Promise<number> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  let said = 0
  lines.on('line', line => {
    said = Number(line)
  })
  const ended = once(lines, 'close')
  await once(lines, 'line')
  let changes = 0
  const watcher = watch(join(folder, 'data.mdb'), () => {
    if (++changes === wanted) child.kill('SIGKILL')
  })
  await ended
  watcher.close()
  return said
}

/** Zeros where the file is shorter. */
function pageOf(file: Buffer, page: number): Buffer {
  return Buffer.concat([file.subarray(page * PAGE, (page + 1) * PAGE), Buffer.alloc(PAGE)], PAGE)
}

function temporary(test: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-store-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
