import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { dayOf } from '../../src/core/receipt-chain.js'
import { Folder } from '../../src/sinks/receipts/folder.js'
import { Journal, MAX_WAITING_CHARS } from '../../src/sinks/receipts/journal.js'
import type { Shelf } from '../../src/sinks/receipts/shelf.js'
import { Shelved } from '../../src/sinks/receipts/store.js'
import { type ReceiptReport, verifyReceipts } from '../../src/sinks/receipts/verify.js'
import { MemoryStore } from '../../src/stores/memory.js'
import { fc } from '../helpers/property.js'

const DAY_MS = 86_400_000
const NOON = Date.UTC(2026, 10, 23, 12)

/** The moment of the last receipt is the time of day. */
let clock = NOON
const real = Date.now
Date.now = () => clock
t.teardown(() => {
  Date.now = real
})

interface Written {
  readonly journal: Journal
  readonly counts: Record<string, number>
  readonly torn: number[]
  readonly faults: (string | undefined)[]
  readonly lost: number[]
}

function open(shelf: Shelf, keep = 30 * DAY_MS, slot = 'gateway'): Written {
  const lists = { torn: [] as number[], faults: [] as (string | undefined)[], lost: [] as number[] }
  const written = { counts: {} as Record<string, number>, ...lists }
  const journal = new Journal(shelf, {
    slot,
    keep: () => keep,
    onCount: (what, number) => {
      written.counts[what] = (written.counts[what] ?? 0) + number
    },
    onFault: error => written.faults.push(error?.message),
    onLost: count => written.lost.push(count),
    onLeft: error => written.faults.push(error.message),
    onFormer: ({ torn }) => written.torn.push(torn),
  })
  return { journal, ...written }
}

function add({ journal }: Written, id: string, at = NOON): void {
  clock = at
  journal.add(
    JSON.stringify({ kind: 'request', at, id, status: 200, cost: 12, attempts: [{ upstream: 'up', model: 'm' }] }),
    at,
  )
}

function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'gateway-receipts-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const verify = (path: string): Promise<ReceiptReport> => verifyReceipts(new Folder(path))
const files = (path: string, end = '.jsonl'): string[] =>
  readdirSync(path)
    .filter(name => name.endsWith(end))
    .toSorted()

/** Three processes, one after another, over three days. */
async function history(t: Test): Promise<string> {
  const path = folder(t)
  for (const [process, days] of [[0], [0, 1], [1, 2]].entries()) {
    const one = open(new Folder(path))
    for (const day of days) for (let n = 0; n < 4; n++) add(one, `${process}-${day}-${n}`, NOON + day * DAY_MS)
    await one.journal.close()
  }
  return path
}

/** The path of a copy of a folder. */
function copy(path: string): string {
  const made = mkdtempSync(join(tmpdir(), 'gateway-receipts-'))
  for (const name of readdirSync(path)) writeFileSync(join(made, name), readFileSync(join(path, name)))
  return made
}

t.test(
  'chains of several processes and days are whole, and one process continues the chain of the one before',
  async t => {
    const path = await history(t)
    const report = await verify(path)
    t.match(report, { receipts: 20, chains: 3, days: 3, faulty: 0, lost: 0, torn: 0 })
    t.equal(report.ends.length, 1, 'one chain is continued by no other')
    t.equal(files(path).length, 5)
  },
)

t.test('F-P14 any changed byte of any line is found', async t => {
  const path = await history(t)
  const names = [...files(path), ...files(path, '.end')]
  const byte = fc.record({
    file: fc.nat(names.length - 1),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    by: fc.integer({ min: 1, max: 255 }),
  })
  const changes = async ({ file, at, by }: { file: number; at: number; by: number }): Promise<boolean> => {
    const made = copy(path)
    const name = join(made, names[file] ?? '')
    const bytes = readFileSync(name)
    const text = bytes.toString('latin1').trimEnd()
    const place = Math.floor(at * text.length)
    bytes[place] = ((bytes[place] ?? 0) + by) % 256
    writeFileSync(name, bytes)
    const { faulty } = await verify(made)
    rmSync(made, { recursive: true })
    return faulty > 0
  }
  await fc.assert(fc.asyncProperty(byte, changes), { numRuns: 150 })
})

t.test('each changed member of each receipt is found', async t => {
  const path = await history(t)
  for (const name of files(path)) {
    const lines = readFileSync(join(path, name), 'utf8').trimEnd().split('\n')
    for (const [at, line] of lines.entries()) {
      const record = JSON.parse(line) as Record<string, unknown>
      for (const member of Object.keys(record)) {
        const made = copy(path)
        const value = record[member]
        const changed = typeof value === 'number' ? value + 1 : typeof value === 'string' ? `${value}x` : null
        const other = lines.with(at, JSON.stringify({ ...record, [member]: changed }))
        writeFileSync(join(made, name), `${other.join('\n')}\n`)
        t.not((await verify(made)).faulty, 0, `${name}:${at + 1} ${member}`)
        rmSync(made, { recursive: true })
      }
    }
  }
})

t.test('F-P14 missing, moved and repeated lines, missing files and cut ends are found, each by its name', async t => {
  const path = await history(t)
  const edit = async (name: string, change: (lines: string[]) => string[]): Promise<readonly string[]> => {
    const made = copy(path)
    const lines = readFileSync(join(made, name), 'utf8').trimEnd().split('\n')
    const left = change(lines)
    writeFileSync(join(made, name), left.length === 0 ? '' : `${left.join('\n')}\n`)
    const { faults } = await verify(made)
    rmSync(made, { recursive: true })
    return faults.map(({ fault }) => fault)
  }
  for (const name of files(path)) {
    t.ok((await edit(name, lines => lines.toSpliced(2, 1))).includes('missing'), `${name}: a line is missing`)
    t.ok((await edit(name, lines => lines.toSpliced(0, 1))).includes('missing'), `${name}: the first line is missing`)
    t.ok(
      (await edit(name, ([a = '', b = '', c = '', ...rest]) => [a, c, b, ...rest])).includes('reordered'),
      `${name}: moved`,
    )
    t.ok((await edit(name, lines => lines.toSpliced(2, 0, lines[1] ?? ''))).includes('reordered'), `${name}: repeated`)
    t.not((await edit(name, lines => lines.slice(0, -1))).length, 0, `${name}: the last line is missing`)
    t.not((await edit(name, lines => lines.slice(0, 1))).length, 0, `${name}: cut off`)
    t.not((await edit(name, () => [])).length, 0, `${name}: emptied`)
  }
  for (const name of [...files(path), ...files(path, '.end')]) {
    const made = copy(path)
    rmSync(join(made, name))
    t.not((await verify(made)).faulty, 0, `${name} is missing`)
    rmSync(made, { recursive: true })
  }
  const made = copy(path)
  t.teardown(() => rmSync(made, { recursive: true }))
  const [first = '', second = ''] = files(made)
  appendFileSync(join(made, first), readFileSync(join(made, second)))
  t.match((await verify(made)).faults, [{ fault: 'foreign' }], 'lines of another chain')
})

t.test('an unfinished last line is reported, and the next process continues behind the last whole one', async t => {
  const path = folder(t)
  const killed = open(new Folder(path))
  for (let n = 0; n < 4; n++) add(killed, String(n))
  await killed.journal.close()
  const [name = ''] = files(path)
  const text = readFileSync(join(path, name), 'utf8')
  const whole = text.trimEnd().split('\n').slice(0, -1).join('\n')
  writeFileSync(join(path, name), `${whole}\n{"chain":"gateway-`)
  // A process that is killed has not said yet that the line is there.
  const [end = ''] = files(path, '.end')
  writeFileSync(join(path, end), JSON.stringify({ ...JSON.parse(readFileSync(join(path, end), 'utf8')), seq: 0 }))
  t.match(await verify(path), { receipts: 4, torn: 1, faulty: 0 })

  const next = open(new Folder(path))
  add(next, 'after')
  await next.journal.close()
  t.same(next.torn, [18])
  t.match(await verify(path), { receipts: 5, chains: 2, torn: 1, faulty: 0 })
  const opening = JSON.parse(
    readFileSync(join(path, files(path).find(one => one !== name) ?? ''), 'utf8').split('\n')[0] ?? '',
  )
  t.match(opening, { kind: 'open', seq: 1, torn: 18, after: { seq: 5 } })
})

t.test('a new file begins at the turn of the day in UTC, and whole days are removed', async t => {
  const path = folder(t)
  const written = open(new Folder(path), 2 * DAY_MS)
  const last = Date.UTC(2026, 10, 23, 23, 59, 59, 999)
  add(written, 'last', last)
  add(written, 'first', last + 1)
  add(written, 'clock set back', last)
  for (let day = 1; day < 5; day++) add(written, `day ${day}`, last + 1 + day * DAY_MS)
  await written.journal.close()
  const days = files(path).map(name => name.slice(0, 10))
  t.same(days, ['2026-11-26', '2026-11-27', '2026-11-28'])
  t.match(await verify(path), { faulty: 0 })

  rmSync(join(path, files(path)[0] ?? ''))
  t.match((await verify(path)).faults, [{ fault: 'missing' }], 'a day that was not due to be removed')
})

t.test('what cannot be written waits, and is written when that is possible again', async t => {
  const path = join(folder(t), 'receipts')
  writeFileSync(path, 'a file is where the folder should be')
  const written = open(new Folder(path))
  const sleep = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  add(written, '1')
  while (written.faults.length === 0) await sleep()
  add(written, '2')
  t.equal(written.counts.written, undefined)
  renameSync(path, `${path}.away`)
  while (written.counts.written !== 2) await sleep()
  t.equal(written.faults.at(-1), undefined, 'that it works again is reported')
  await written.journal.close()
  t.match(await verify(path), { receipts: 2, faulty: 0, lost: 0 })
})

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test(
  'files that are removed or moved away under a process are begun anew, and the check says what is missing',
  async t => {
    for (const kind of ['folder', 'file', 'note'] as const) {
      const path = join(folder(t), 'deep', 'receipts')
      const written = open(new Folder(path))
      const until = async (count: number): Promise<void> => {
        while (written.counts.written !== count) await turn()
      }
      add(written, 'before')
      await until(1)
      const [name = '', end = ''] = [...files(path), ...files(path, '.end')]
      if (kind === 'folder') rmSync(join(path, '..'), { recursive: true })
      else if (kind === 'file') renameSync(join(path, name), `${path}.away`)
      else rmSync(join(path, end))
      add(written, 'after')
      await until(2)
      const isWhole = kind === 'note'
      t.equal(written.faults.length, isWhole ? 0 : 2, 'it is reported once, and so is that it works again')
      if (!isWhole) t.match(written.faults, [/was removed or moved away/, undefined])
      add(written, 'next day', NOON + DAY_MS)
      await until(3)
      await written.journal.close()
      const next = open(new Folder(path))
      add(next, 'next process', NOON + DAY_MS)
      await next.journal.close()
      const report = await verify(path)
      t.match(report, { receipts: isWhole ? 4 : 3, chains: 2, torn: 0, lost: 0 }, kind)
      t.match(
        report.faults,
        isWhole ? [] : [{ fault: 'missing', line: 1, message: /this one is number 3 of its chain/ }],
        'nothing else is wrong',
      )
      t.equal(report.faults.length, isWhole ? 0 : 1)
    }
  },
)

t.test('a folder that was removed is made anew on the next day, also for content', async t => {
  const path = join(folder(t), 'receipts')
  const written = open(new Folder(path))
  add(written, 'before')
  while ((written.counts.written ?? 0) < 1) await turn()
  rmSync(path, { recursive: true })
  const at = NOON + DAY_MS
  const content = { until: '2026-12-01', line: '{"sha256":"x"}\n' }
  written.journal.add(JSON.stringify({ kind: 'request', at, id: 'after' }), at, content)
  while ((written.counts.written ?? 0) < 2) await turn()
  await written.journal.close()
  t.equal(files(path).length, 2)
  t.match((await verify(path)).faults, [{ fault: 'missing', message: /which it continues, is missing with its file/ }])
})

t.test('content goes when its day is over, also if no further receipt is written', async t => {
  const path = folder(t)
  const content = (until: string): string => `until-${until}.gateway-1a2b.jsonl`
  clock = NOON
  // A folder is not removed, and keeps nothing else.
  mkdirSync(join(path, content('2019-01-01')))
  for (const until of ['2020-01-01', dayOf(NOON)]) writeFileSync(join(path, content(until)), '{}\n')
  const written = open(new Folder(path))
  while (files(path).length > 2 || written.faults.length === 0) await turn()
  t.same(files(path), [content('2019-01-01'), content(dayOf(NOON))])
  t.match(written.faults, [/2019-01-01/])
  await written.journal.close()
})

t.test('what still waits when the process ends is counted as lost and reported', async t => {
  const path = join(folder(t), 'receipts')
  writeFileSync(path, 'a file is where the folder should be')
  const written = open(new Folder(path))
  add(written, '1')
  while (written.faults.length === 0) await turn()
  add(written, '2')
  await written.journal.close()
  t.same(written.lost, [2])
  t.equal(written.counts.dropped, 2)
})

t.test('only receipts are counted as written', async t => {
  const written = open(new Folder(folder(t)))
  for (const id of ['1', '2', '3']) add(written, id)
  await written.journal.close()
  t.same(written.counts, { written: 3 })
  t.same(written.lost, [])
})

t.test(
  'F-P14 what is behind the end of a chain is found without a line break, and so is a file that no chain has',
  async t => {
    const path = await history(t)
    for (const name of files(path).filter(one => readFileSync(join(path, one), 'utf8').includes('"kind":"end"'))) {
      const made = copy(path)
      appendFileSync(join(made, name), 'garbage')
      t.match(await verify(made), { faulty: 1, torn: 0, faults: [{ fault: 'foreign' }] })
      rmSync(made, { recursive: true })
    }
    for (const text of ['', 'garbage']) {
      const made = copy(path)
      writeFileSync(join(made, '2026-11-24.gateway-0123456789ab.jsonl'), text)
      const faults = [{ fault: 'foreign', chain: 'gateway-0123456789ab', day: '2026-11-24' }]
      t.match(await verify(made), { faulty: 1, faults })
      rmSync(made, { recursive: true })
    }
  },
)

t.test('F-P15 beyond its bound receipts are dropped and counted, and the next one says so', async t => {
  const path = join(folder(t), 'receipts')
  writeFileSync(path, 'a file is where the folder should be')
  const written = open(new Folder(path))
  const large = 'x'.repeat(64 * 1024)
  const addLarge = (): void => written.journal.add(JSON.stringify({ kind: 'request', at: NOON, large }), NOON)
  const count = Math.ceil(MAX_WAITING_CHARS / large.length) + 3
  for (let n = 0; n < count; n++) addLarge()
  const dropped = written.counts.dropped ?? 0
  t.ok(dropped >= 3, `${dropped} were dropped`)
  t.ok(written.journal.isFull)
  const sleep = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  while (written.faults.length === 0) await sleep()
  renameSync(path, `${path}.away`)
  while (written.counts.written !== count - dropped) await sleep()
  t.notOk(written.journal.isFull)
  addLarge()
  await written.journal.close()
  t.match(await verify(path), { receipts: count - dropped + 1, lost: dropped, faulty: 0 })
})

t.test('a store keeps receipts as a folder does', async t => {
  const store = new MemoryStore()
  t.teardown(() => store.close())
  for (const days of [[0], [0, 1]]) {
    const one = open(new Shelved(store), DAY_MS)
    for (const day of days) for (let n = 0; n < 4; n++) add(one, `${day}-${n}`, NOON + day * DAY_MS)
    await one.journal.close()
  }
  t.match(await verifyReceipts(new Shelved(store)), { receipts: 12, chains: 2, faulty: 0 })
  const [part] = await new Shelved(store).parts()
  const [record] = await store.list('receipts', `${part?.day}.${part?.chain}`, { order: 'ascending', limit: 1 })
  if (record === undefined) throw new Error('nothing was written')
  const text = Buffer.from(record.value).toString().replace('"cost":12', '"cost":13')
  await store.replace(record, { value: Buffer.from(text) })
  t.not((await verifyReceipts(new Shelved(store))).faulty, 0, 'a changed line')
  await store.delete({ namespace: 'receipts', owner: record.owner, key: record.key })
  t.not((await verifyReceipts(new Shelved(store))).faulty, 0, 'missing lines')
})

t.test('there is no folder before the first receipt', async t => {
  const path = join(folder(t), 'receipts')
  await open(new Folder(path)).journal.close()
  t.notOk(existsSync(path))
})
