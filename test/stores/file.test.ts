import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { open } from 'lmdb'
import t from 'tap'
import { chunks } from '../../src/contracts/store-blobs.js'
import { type StoredRecord, StoreError } from '../../src/core/store.js'
import { FileStore } from '../../src/stores/file.js'
import { draft, storeContract, text } from '../contracts/store.js'
import { asRoot } from '../helpers/platform.js'
import { smallDisk, withoutSmallDisk } from '../helpers/small-disk.js'
import { wholeValue } from './values.js'

type Test = Pick<typeof t, 'teardown' | 'comment' | 'equal' | 'fail' | 'match' | 'ok'>

/** How often a process is killed in its writing; the long run sets more. */
const KILLS = Number(process.env.FILE_KILLS ?? 8)
t.setTimeout(120_000 + KILLS * 5000)
/** Of the file, bytes. */
const PAGE = 4096

const WRITER = fileURLToPath(new URL('./writer.js', import.meta.url))

storeContract(t, (test, clock) => {
  const folder = join(temporary(test), 'store')
  return async () => {
    const store = new FileStore(folder, () => clock.now)
    test.teardown(() => store.close())
    return store
  }
})

t.test('stored records survive reopening', async t => {
  const folder = join(temporary(t), 'store')
  const first = new FileStore(folder)
  await first.create(lasting('a'))
  await first.close()
  const second = new FileStore(folder)
  t.teardown(() => second.close())
  t.equal(text(await second.get('things', 'ann', 'a')), 'value of a')
  t.equal((await second.list('things', 'ann', { order: 'ascending', limit: 10 })).length, 1)
})

t.test('other users cannot read the folder', { skip: process.platform === 'win32' }, async t => {
  const folder = join(temporary(t), 'deep/store')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  t.equal(statSync(folder).mode & 0o077, 0)
})

t.test('two openings in one process see the same records', async t => {
  const folder = join(temporary(t), 'store')
  const [one, other] = [new FileStore(folder), new FileStore(folder)]
  t.teardown(() => other.close())
  await one.create(lasting('a'))
  t.equal(text(await other.get('things', 'ann', 'a')), 'value of a')
  await one.close()
  await other.create(lasting('b'))
  t.equal(text(await other.get('things', 'ann', 'b')), 'value of b')
})

t.test(`F-S7 what a killed process had committed is there, and whole, ${KILLS} times`, async t => {
  const folder = join(temporary(t), 'store')
  const said: string[] = []
  for (let round = 0; round < KILLS; round++) {
    const child = write(t, folder, 'create', `round${round}`)
    const wanted = 5 + (round % 8) * 7
    const before = said.length
    for await (const key of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      said.push(key)
      if (said.length === before + wanted) child.kill('SIGKILL')
    }
    const store = new FileStore(folder)
    t.same(await broken(store, said.slice(before)), [], `${said.length - before} records of round ${round}`)
    await store.create(lasting(`after${round}`, wholeValue(`after${round}`)))
    said.push(`after${round}`)
    await store.close()
  }
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  t.same(await broken(store, said), [], 'nothing of it was lost later')
  let listed = 0
  for (let page = await firstPage(store); page.length > 0; page = await firstPage(store, page.at(-1))) {
    listed += page.length
    t.ok(page.every(record => wholeValue(record.key).equals(record.value)))
  }
  t.ok(listed >= said.length, `${listed} records, of which ${said.length} were told of`)
})

t.test('F-S7 a partly written commit, even with half pages, is rolled back', async t => {
  const folder = join(temporary(t), 'store')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  const keys = Array.from({ length: 40 }, (_, n) => `kept${n}`)
  for (const key of keys) await store.create(lasting(key, wholeValue(key)))
  await store.delete(lasting('kept7'))
  const file = join(folder, 'data.mdb')
  const before = readFileSync(file)
  await store.create(lasting('torn', wholeValue('torn')))
  const after = readFileSync(file)
  // Pages are written first, and last of all one of the two that say where to begin: those are still the old ones.
  const changed = Array.from({ length: Math.ceil(after.length / PAGE) }, (_, page) => page).filter(page => {
    return page > 1 && !pageOf(before, page).equals(pageOf(after, page))
  })
  t.ok(changed.length > 1, `${changed.length} pages changed`)
  for (let part = 0; part <= changed.length; part++) {
    const torn = Buffer.from(after)
    before.copy(torn, 0, 0, 2 * PAGE)
    for (const [at, page] of changed.entries()) {
      const from = page * PAGE
      if (at === part) pageOf(before, page).copy(torn, from + PAGE / 2, PAGE / 2)
      else if (at > part) torn.fill(pageOf(before, page), from, from + PAGE)
    }
    const other = temporary(t)
    writeFileSync(join(other, 'data.mdb'), torn)
    const found = new FileStore(other)
    t.same(await broken(found, keys), ['kept7'], `${part} pages and a half`)
    t.equal(await found.get('things', 'ann', 'torn'), undefined)
    t.not(await found.create(lasting('torn', wholeValue('torn'))), undefined)
    t.same(await broken(found, ['torn']), [])
    await found.close()
  }
})

t.test('several processes count one record up together and lose no step', async t => {
  const folder = join(temporary(t), 'store')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  await store.create(lasting('shared', Buffer.from('0')))
  const children = [1, 2, 3, 4, 5, 6].map(n => write(t, folder, 'count', `${n}`))
  const codes = await Promise.all(children.map(child => once(child, 'exit')))
  t.same(
    codes.map(([code]) => code),
    [0, 0, 0, 0, 0, 0],
  )
  t.equal(text(await store.get('things', 'ann', 'shared')), '1200')
})

t.test('processes that open the store while others write take no write away', async t => {
  const folder = join(temporary(t), 'store')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  await store.create(lasting('shared', Buffer.from('0')))
  const children = ['count', 'open', 'count', 'open', 'count', 'open'].map((what, n) => write(t, folder, what, `${n}`))
  const codes = await Promise.all(children.map(child => once(child, 'exit')))
  t.same(
    codes.map(([code]) => code),
    [0, 0, 0, 0, 0, 0],
  )
  t.equal(text(await store.get('things', 'ann', 'shared')), '600')
  t.notOk(existsSync(join(folder, 'openings')), 'nothing is left of the openings')
})

t.test('a write waits while another process opens the store, and for none that is gone', async t => {
  const folder = join(temporary(t), 'store')
  const { machine, host } = await machineOf(folder)
  const [store, other] = [new FileStore(folder), new FileStore(join(temporary(t), 'other'))]
  t.teardown(() => Promise.all([store.close(), other.close()]))
  const openings = join(folder, 'openings')
  const [own = ''] = readdirSync(join(folder, 'holders'))
  const opening = (pid: number): string => join(openings, `0_${pid}_token_${machine}_${host}`)
  mkdirSync(openings)
  writeFileSync(opening(process.ppid), '')
  const writes = ['a', 'b', 'c'].map(key => store.create(lasting(key)))
  for (const key of ['x', 'y', 'z']) await other.create(lasting(key))
  t.equal(await store.get('things', 'ann', 'a'), undefined)
  t.equal(statSync(join(folder, 'holders', own)).size, 0, 'the other process can see that this one does not write')
  rmSync(opening(process.ppid))
  t.ok((await Promise.all(writes)).every(record => record !== undefined))
  const child = write(t, folder, 'open', 'gone')
  await once(child, 'exit')
  mkdirSync(openings, { recursive: true })
  writeFileSync(opening(child.pid as number), '')
  t.not(await store.create(lasting('d')), undefined)
  t.notOk(existsSync(openings))
})

t.test('what waits for an opening is written before the store is closed', async t => {
  const folder = join(temporary(t), 'store')
  const { machine, host } = await machineOf(folder)
  const store = new FileStore(folder)
  mkdirSync(join(folder, 'openings'))
  const opening = join(folder, 'openings', `0_${process.ppid}_token_${machine}_${host}`)
  writeFileSync(opening, '')
  const write = store.create(lasting('a'))
  const closed = store.close()
  rmSync(opening)
  t.not(await write, undefined)
  await closed
  const again = new FileStore(folder)
  t.teardown(() => again.close())
  t.equal(text(await again.get('things', 'ann', 'a')), 'value of a')
})

t.test('in another container only age tells that a process is gone', async t => {
  const folder = join(temporary(t), 'store')
  const { machine, host } = await machineOf(folder)
  const mark = join(folder, 'holders', `2_${process.pid}_token-1_${machine}_${host}`)
  writeFileSync(mark, '')
  await new FileStore(folder).close()
  t.ok(existsSync(mark), 'its number is that of another process here')
  const longAgo = new Date(Date.now() - 60_000)
  utimesSync(mark, longAgo, longAgo)
  await new FileStore(folder).close()
  t.notOk(existsSync(mark))
})

t.test('a process that is stopped while it writes keeps no other from opening the store', async t => {
  const folder = join(temporary(t), 'store')
  await new FileStore(folder).close()
  const { machine, host } = await machineOf(folder)
  const mark = join(folder, 'holders', `2_${process.ppid}_token_${machine}_${host}`)
  writeFileSync(mark, '-')
  const longAgo = new Date(Date.now() - 60_000)
  utimesSync(mark, longAgo, longAgo)
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  t.not(await store.create(lasting('a')), undefined)
})

t.test('a store that is opened twice and looked at keeps its lock', { skip: process.platform !== 'linux' }, async t => {
  const folder = join(temporary(t), 'store')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  const { ino } = statSync(join(folder, 'lock.mdb'))
  const isLocked = (): boolean =>
    new RegExp(` READ +${process.pid} \\S+:${ino} 0 0`).test(readFileSync('/proc/locks', 'utf8'))
  t.ok(isLocked())
  const second = new FileStore(folder)
  t.ok(isLocked(), 'opened twice')
  t.equal((await FileStore.inspect(folder)).written, 2)
  t.ok(isLocked(), 'looked at')
  await second.close()
  t.ok(isLocked(), 'closed once')
})

t.test('a process that is killed while writing blocks no other', async t => {
  const folder = join(temporary(t), 'store')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  const children = [1, 2].map(n => write(t, folder, 'create', `w${n}`))
  await Promise.all(children.map(child => once(child.stdout as NodeJS.ReadableStream, 'data')))
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map(child => once(child, 'exit')))
  t.not(await store.create(lasting('mine')), undefined)
})

t.test('F-S7 another machine cannot open a store that this one has open, and can afterwards', async t => {
  const folder = join(temporary(t), 'store')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  const mark = join(folder, 'holders', `2_1_token_other-boot_${encodeURIComponent('other.host')}`)
  writeFileSync(mark, '')
  refuses(t, folder, 'refused', /in use by another machine \(other\.host\), which cannot share it/)
  const longAgo = new Date(Date.now() - 60_000)
  utimesSync(mark, longAgo, longAgo)
  await new FileStore(folder).close()
  t.equal(readdirSync(join(folder, 'holders')).length, 1, 'the mark of this one alone is left')
})

t.test('F-S8 a stopped process keeps its mark, and a process that lost its mark writes it again', async t => {
  const folder = join(temporary(t), 'store')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  const holders = join(folder, 'holders')
  const [own = ''] = readdirSync(holders)
  const [, , , machine, host] = own.split('_')
  const mark = join(holders, `9_${process.ppid}_t_${machine}_${host}`)
  writeFileSync(mark, '')
  const longAgo = new Date(Date.now() - 60_000)
  utimesSync(mark, longAgo, longAgo)
  refuses(t, folder, 'newer', /in use by a newer version/)
  t.ok(readdirSync(holders).includes(`9_${process.ppid}_t_${machine}_${host}`))
  rmSync(mark)
  const changes = watch(holders)
  t.teardown(() => changes.close())
  rmSync(join(holders, own))
  while (!readdirSync(holders).includes(own)) await once(changes, 'change')
  t.ok(readdirSync(holders).includes(own))
})

t.test('F-S8 a process of another version that still runs keeps a store from being changed below it', async t => {
  const folder = join(temporary(t), 'store')
  await new FileStore(folder).close()
  const { machine } = await machineOf(folder)
  const mark = (schema: number): string => join(folder, 'holders', `${schema}_${process.ppid}_t_${machine}_here`)
  writeFileSync(mark(1), '')
  refuses(t, folder, 'refused', new RegExp(`in use by an older version \\(process ${process.ppid}\\)`))
  rmSync(mark(1))
  writeFileSync(mark(9), '')
  refuses(t, folder, 'newer', /in use by a newer version/)
})

t.test('F-S8 a store of the first schema is brought forward, and nothing of it is lost', async t => {
  const folder = join(temporary(t), 'store')
  await new FileStore(folder).close()
  const raw = open({ path: folder, maxDbs: 24, cache: false })
  const head = Buffer.alloc(16)
  const { namespace, owner, key, created, expires, value } = lasting('old')
  head.writeDoubleLE(created, 0)
  head.writeDoubleLE(expires, 8)
  await raw
    .openDB({ name: 'records', encoding: 'binary', useVersions: true })
    .put([namespace, owner, key], Buffer.concat([head, value]), 3)
  await raw.openDB({ name: 'order', encoding: 'binary' }).put([namespace, owner, created, key], Buffer.alloc(0))
  await raw.openDB({ name: 'expiry', encoding: 'binary' }).put([expires, namespace, owner, key], Buffer.alloc(0))
  raw.openDB({ name: 'meta', encoding: 'json' }).putSync('schema', 1)
  await raw.close()
  t.same(await FileStore.inspect(folder), { written: 1, known: 2 })
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  const found = await store.get(namespace, owner, key)
  t.match(found, { created, expires, version: 3, fence: 0 })
  t.equal(text(found), 'value of old')
  t.ok(found && (await store.replace(found, { value: Buffer.from('new'), due: 5 })))
  t.equal(await store.nextDue(namespace), 5)
  t.same(await FileStore.inspect(folder), { written: 2, known: 2 })
})

t.test('a blob leaves no file behind: replaced, deleted, expired, or cut off by a crash', async t => {
  const folder = join(temporary(t), 'store')
  let now = Date.now()
  const store = new FileStore(folder, () => now)
  const files = (): number => readdirSync(join(folder, 'blobs')).length
  const place = { namespace: 'films', owner: 'ann', key: 'a' }
  const keep = { expires: now + 60_000, limit: 1e6 }
  await store.blobs.put(place, chunks(10, 10), keep)
  await store.blobs.put(place, chunks(20, 10), keep)
  t.equal(files(), 1)
  await store.blobs.delete(place)
  t.equal(files(), 0)
  await store.blobs.put(place, chunks(10, 10), keep)
  now += 60_000
  await store.sweep(now, 10)
  t.equal(files(), 0)
  await store.close()

  const child = write(t, folder, 'blob', 'b')
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  now = Date.now()
  const again = new FileStore(folder, () => now)
  t.teardown(() => again.close())
  t.equal(files(), 1, 'the killed one was in the middle')
  t.equal(await again.blobs.get({ ...place, key: 'b' }), undefined)
  await again.sweep(now, 10)
  t.equal(files(), 1, 'it may still be at work')
  now += 2 * 3_600_000
  await again.sweep(now, 10)
  t.equal(files(), 0)
})

t.test('a blob whose name is written late is there then, whole, until it expires', async t => {
  const folder = join(temporary(t), 'store')
  let now = Date.now()
  const store = new FileStore(folder, () => now)
  t.teardown(() => store.close())
  const { machine, host } = await machineOf(folder)
  const opening = join(folder, 'openings', `0_${process.ppid}_token_${machine}_${host}`)
  // While another process opens the store, nothing is written. Its mark never gets old.
  const source = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('whole')
    mkdirSync(join(folder, 'openings'))
    writeFileSync(opening, '')
    utimesSync(opening, now + 3_600_000, now + 3_600_000)
  }
  const place = { namespace: 'films', owner: 'ann', key: 'a' }
  const put = store.blobs.put(place, source(), { expires: now + 60_000, limit: 1e6 })
  const error = await put.catch((cause: unknown) => cause)
  t.match(error, { fault: 'unavailable', message: /did not write in time/ })
  rmSync(opening)
  await store.create(lasting('next'))
  const blob = await store.blobs.get(place)
  const pieces: Uint8Array[] = []
  for await (const piece of blob?.pieces ?? []) pieces.push(piece)
  t.equal(Buffer.concat(pieces).toString(), 'whole')
  now += 2 * 3_600_000
  await store.sweep(now, 10)
  t.same(readdirSync(join(folder, 'blobs')), [])
})

t.test(
  'F-S6 a blob that does not match is reported as that, and leaves nothing',
  { skip: withoutSmallDisk },
  async t => {
    const disk = smallDisk(t, '2m')
    const store = new FileStore(join(disk, 'store'))
    t.teardown(() => store.close())
    const place = { namespace: 'films', owner: 'ann', key: 'a' }
    const put = store.blobs.put(place, chunks(4_000_000, 65_536), { expires: Date.now() + 60_000, limit: 1e9 })
    const error = await put.catch((cause: unknown) => cause)
    t.ok(error instanceof StoreError && error.fault === 'full', String(error))
    t.equal(readdirSync(join(disk, 'store', 'blobs')).length, 0)
    t.not(await store.create(lasting('a')), undefined)
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(join(disk, 'other'), Buffer.alloc(bavail * bsize - 131_072))
    const last = await store.blobs
      .put(place, chunks(200_000, 200_000), { expires: Date.now() + 60_000, limit: 1e9 })
      .catch((cause: unknown) => cause)
    t.ok(last instanceof StoreError && last.fault === 'full', `there is room for a part of the piece: ${last}`)
  },
)

t.test('a store of a later version is left alone', async t => {
  const folder = join(temporary(t), 'store')
  await new FileStore(folder).close()
  const raw = open({ path: folder, maxDbs: 8, cache: false })
  raw.openDB({ name: 'meta', encoding: 'json' }).putSync('schema', 3)
  await raw.close()
  refuses(t, folder, 'newer', /written by a newer version \(schema 3; this one supports 2\)/)
})

t.test('a file that is not a store is named, and stays as it is', async t => {
  for (const content of [Buffer.from('hello'), Buffer.alloc(20_000, 7), Buffer.alloc(8192)]) {
    const folder = temporary(t)
    writeFileSync(join(folder, 'data.mdb'), content)
    refuses(t, folder, 'corrupt', /data\.mdb is not a store/)
    t.equal(statSync(join(folder, 'data.mdb')).size, content.length)
  }
})

t.test(
  'a file that was cut short is refused in words, by the start and by inspection, and no process ends',
  async t => {
    const whole = await wholeStore(t)
    const pages = whole.length / PAGE
    for (const left of [0, 1, 100, PAGE, 2 * PAGE - 1, 2 * PAGE, Math.floor(pages / 2) * PAGE, whole.length - 1]) {
      const folder = await cutStore(t, whole, left)
      const words = left === 0 ? /is empty, but there was a store/ : /is not a store|is truncated/
      refuses(t, folder, 'corrupt', words)
      refuses(t, folder, 'corrupt', /restore it from a backup, or move the whole folder away/)
      await t.rejects(FileStore.inspect(folder), { name: 'StoreError', fault: 'corrupt' }, `${left} bytes`)
      t.equal(statSync(join(folder, 'data.mdb')).size, left, 'it stays as it is')
    }
  },
)

t.test('pages at the end that nothing refers to may be missing', async t => {
  const whole = await wholeStore(t)
  for (const meta of [whole, whole.subarray(PAGE)]) meta.writeBigUInt64LE(meta.readBigUInt64LE(144) + 50n, 144)
  const store = new FileStore(await cutStore(t, whole, whole.length))
  t.teardown(() => store.close())
  t.equal((await store.get('things', 'ann', 'k3'))?.value.length, 20_000)
  t.not(await store.create(lasting('more', Buffer.alloc(400_000))), undefined)
})

t.test('both pages that the file begins with have to be right, and of a format that is known', async t => {
  const whole = await wholeStore(t)
  for (const from of [0, PAGE]) {
    for (const [at, value, fault, words] of [
      [24, 0xbadbad, 'corrupt', /is not a store/],
      [28, 0, 'corrupt', /is not a store/],
      [28, 3, 'newer', /has a newer format \(3; this version supports 2\)/],
      [48, 4095, 'corrupt', /is not a store/],
      [48, 8192, 'corrupt', /is not a store/],
    ] as const) {
      const changed = Buffer.from(whole)
      changed.writeUInt32LE(value, from + at)
      const folder = await cutStore(t, changed, changed.length)
      refuses(t, folder, fault, words)
      await t.rejects(FileStore.inspect(folder), { name: 'StoreError', fault }, `${from + at}: ${value}`)
    }
  }
})

t.test(
  'a lock file that is something else is named, and stays as it is; one without contents is made anew',
  async t => {
    const foreign = Buffer.from('the notes of somebody')
    const newer = Buffer.alloc(64)
    newer.writeUInt32LE(0xbeefc0de, 0)
    newer.writeUInt32LE(0xfff, 4)
    for (const [content, fault, words] of [
      [foreign, 'corrupt', /lock\.mdb is not the lock file of a store; move it away/],
      [newer, 'newer', /lock\.mdb has a newer format/],
    ] as const) {
      const folder = temporary(t)
      writeFileSync(join(folder, 'lock.mdb'), content)
      refuses(t, folder, fault, words)
      await t.rejects(FileStore.inspect(folder), { name: 'StoreError', fault })
      t.same(readFileSync(join(folder, 'lock.mdb')), content)
    }
    for (const content of [Buffer.alloc(0), Buffer.alloc(8192)]) {
      const folder = temporary(t)
      writeFileSync(join(folder, 'lock.mdb'), content)
      await new FileStore(folder).close()
    }
  },
)

t.test('an empty file, as a crash in the first moment leaves it, becomes a store', async t => {
  const folder = temporary(t)
  writeFileSync(join(folder, 'data.mdb'), '')
  const store = new FileStore(folder)
  t.teardown(() => store.close())
  t.not(await store.create(lasting('a')), undefined)
})

t.test('a folder where a file should be is named', async t => {
  for (const name of ['data.mdb', 'lock.mdb']) {
    const folder = temporary(t)
    mkdirSync(join(folder, name))
    refuses(t, folder, 'corrupt', /is not a file; move it away/)
  }
  const folder = temporary(t)
  writeFileSync(join(folder, 'blobs'), '')
  refuses(t, folder, 'corrupt', /blobs is not a folder; move it away/)
})

t.test('a folder that cannot be made is named', async t => {
  const folder = temporary(t)
  writeFileSync(join(folder, 'taken'), '')
  refuses(t, join(folder, 'taken/store'), 'refused', /taken\/store cannot be used \((ENOTDIR|EEXIST)\)/)
})

t.test('a folder without permission is named', { skip: asRoot }, async t => {
  const folder = temporary(t)
  chmodSync(folder, 0o500)
  refuses(t, folder, 'refused', /cannot be used \(EACCES\)/)
})

t.test(
  'F-S6 on a full disk reads work, writes report why, and both work once there is space',
  { skip: withoutSmallDisk },
  async t => {
    const disk = smallDisk(t, '2m')
    const store = new FileStore(join(disk, 'store'))
    t.teardown(() => store.close())
    const { kept, error } = await fill(store)
    t.ok(error instanceof StoreError && error.fault === 'full', String(error))
    t.ok(kept > 10, `${kept} records fit`)
    t.equal((await store.get('things', 'ann', 'k3'))?.value.length, 20_000)
    t.equal(await store.get('things', 'ann', `k${kept}`), undefined, 'nothing of the last one stayed')
    const again = await store.create(lasting('again', Buffer.alloc(100_000))).catch((cause: unknown) => cause)
    t.ok(again instanceof StoreError && again.fault === 'full')
    for (let n = 0; n < 10; n++) await store.delete(lasting(`k${n}`))
    t.not(await store.create(lasting('again', Buffer.alloc(20_000))), undefined)
  },
)

t.test('a disk that is full from the start is named', { skip: withoutSmallDisk }, async t => {
  const disk = smallDisk(t, '4k')
  refuses(t, join(disk, 'store'), 'full', /no space is left/)
})

/** The data file of a store with many pages in use, to its end. */
async function wholeStore(test: Test): Promise<Buffer> {
  const folder = join(temporary(test), 'store')
  const store = new FileStore(folder)
  for (let n = 0; n < 40; n++) await store.create(lasting(`k${n}`, Buffer.alloc(n % 2 ? 20_000 : 500)))
  await store.close()
  return readFileSync(join(folder, 'data.mdb'))
}

/** The folder of a store whose data file has those bytes alone, so many of them. */
async function cutStore(test: Test, data: Buffer, left: number): Promise<string> {
  const folder = join(temporary(test), 'store')
  await new FileStore(folder).close()
  writeFileSync(join(folder, 'data.mdb'), data.subarray(0, left))
  return folder
}

/** Which of the keys have no value, or not a whole one. */
async function broken(store: FileStore, keys: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(keys.map(key => store.get('things', 'ann', key)))
  return keys.filter((key, n) => !wholeValue(key).equals(found[n]?.value ?? Buffer.alloc(0)))
}

function firstPage(store: FileStore, after?: StoredRecord): Promise<readonly StoredRecord[]> {
  return store.list('things', 'ann', { order: 'ascending', limit: 500, ...(after && { after }) })
}

/** Zeros where the file is shorter. */
function pageOf(file: Buffer, page: number): Buffer {
  return Buffer.concat([file.subarray(page * PAGE, (page + 1) * PAGE), Buffer.alloc(PAGE)], PAGE)
}

/** How this machine is called in marks. */
async function machineOf(folder: string): Promise<{ readonly machine: string; readonly host: string }> {
  const store = new FileStore(folder)
  const [name = ''] = readdirSync(join(folder, 'holders'))
  await store.close()
  const [, , , machine = '', ...host] = name.split('_')
  return { machine, host: host.join('_') }
}

function lasting(key: string, value?: Buffer): ReturnType<typeof draft> {
  return draft(key, { expires: Date.now() + 3_600_000, ...(value && { value }) })
}

function refuses(t: Test, folder: string, fault: string, message: RegExp): void {
  try {
    new FileStore(folder)
    t.fail('it was opened')
  } catch (error) {
    t.ok(error instanceof StoreError, String(error))
    t.equal((error as StoreError).fault, fault)
    t.match((error as StoreError).message, message)
  }
}

async function fill(store: FileStore): Promise<{ kept: number; error: unknown }> {
  for (let n = 0; n < 10_000; n++) {
    try {
      await store.create(lasting(`k${n}`, Buffer.alloc(20_000)))
    } catch (error) {
      return { kept: n, error }
    }
  }
  return { kept: 10_000, error: undefined }
}

function write(test: Test, folder: string, what: string, name: string): ChildProcess {
  const child = spawn(process.execPath, [WRITER, folder, what, name], { stdio: ['ignore', 'pipe', 'inherit'] })
  test.teardown(() => void child.kill('SIGKILL'))
  return child
}

function temporary(test: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-store-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
