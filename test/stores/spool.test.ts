import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { StoreError } from '../../src/core/store.js'
import { type Spool, Spooler } from '../../src/stores/spool.js'
import { TempFile } from '../../src/stores/temp-file.js'
import { asRoot } from '../helpers/platform.js'
import { fc } from '../helpers/property.js'

type Test = Pick<typeof t, 'teardown'>

const CHILD = fileURLToPath(new URL('./spool-child.js', import.meta.url))
const KIB = 1024
const MIB = 1024 * KIB
const BLOCK = 64 * KIB
const NOTHING = { bodies: 0, memory: 0, disk: 0, files: 0 }

function temporary(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'spool-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'spool')
}

function spooler(
  t: Test,
  options: Partial<ConstructorParameters<typeof Spooler>[0]> = {},
): { spooler: Spooler; folder: string } {
  const folder = temporary(t)
  const made = new Spooler({ folder, body: MIB, memory: 16 * MIB, disk: 64 * MIB, ...options })
  t.teardown(() => made.close())
  return { spooler: made, folder }
}

/** Bytes that differ from place to place. */
function pattern(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 8) * seed) & 0xff
  return bytes
}

async function all(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const chunk of chunks) pieces.push(chunk)
  return Buffer.concat(pieces)
}

async function fill(spool: Spool, bytes: Buffer, size = 16 * KIB): Promise<void> {
  for (let at = 0; at < bytes.length; at += size) await spool.write(bytes.subarray(at, at + size))
  spool.end()
}

for (const [name, length] of Object.entries({
  'an empty body': 0,
  'a body in memory': 100 * KIB,
  'a body that just fits': MIB,
  'a body that is one byte too long': MIB + 1,
  'a body on the disk': 3 * MIB + 5,
}))
  t.test(`${name} is read back, any number of times`, async t => {
    const { spooler: spools } = spooler(t)
    const spool = spools.open('a')
    const bytes = pattern(length)
    await fill(spool, bytes)
    t.equal(spool.length, length)
    t.equal(spools.use.disk > 0, length > MIB)
    for (let i = 0; i < 3; i++) t.ok((await all(spool.read())).equals(bytes))
    t.ok((await all(spool.read(length >> 1))).equals(bytes.subarray(length >> 1)))
    t.ok((await all(spool.read(7, 70_000))).equals(bytes.subarray(7, 70_000)))
    await spool.dispose()
    t.same(spools.use, NOTHING)
  })

t.test('a body is read back from any chunks and at any position', async t => {
  const { spooler: spools } = spooler(t, { body: 100 * KIB })
  const sizes = fc.array(fc.oneof(fc.nat(10), fc.nat(300 * KIB), fc.constantFrom(BLOCK, 100 * KIB)), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat(400 * KIB), fc.nat(400 * KIB), async (sizes, start, length) => {
      const bytes = pattern(sizes.reduce((sum, size) => sum + size, 0))
      const spool = spools.open('a')
      let at = 0
      for (const size of sizes) {
        await spool.write(bytes.subarray(at, at + size))
        at += size
      }
      spool.end()
      if (!(await all(spool.read())).equals(bytes)) throw new Error('not the same bytes')
      const part = await all(spool.read(start, start + length))
      if (!part.equals(bytes.subarray(start, start + length))) throw new Error('not that part of the bytes')
      await spool.dispose()
      if (spools.use.memory !== 0 || spools.use.disk !== 0) throw new Error('something is left')
    }),
    { numRuns: 60 },
  )
})

t.test('written bytes are copied: the writer may reuse its buffer', async t => {
  const { spooler: spools } = spooler(t)
  const spool = spools.open('a')
  const chunk = Buffer.from('abc')
  await spool.write(chunk)
  chunk.fill(0)
  spool.end()
  t.equal((await all(spool.read())).toString(), 'abc')
})

t.test('readers follow a body that is still being written', async t => {
  const { spooler: spools } = spooler(t, { body: 100 * KIB })
  const spool = spools.open('a')
  const bytes = pattern(MIB)
  const readers = [all(spool.read()), all(Readable.from(spool.read(10))), all(spool.read(5, 200 * KIB))]
  await fill(spool, bytes, 10_000)
  const [one, two, three] = await Promise.all(readers)
  t.ok(one?.equals(bytes))
  t.ok(two?.equals(bytes.subarray(10)))
  t.ok(three?.equals(bytes.subarray(5, 200 * KIB)))
})

t.test(
  'F-M2 a folder of spooled bodies shows no file, and no one else can look in',
  { skip: process.platform === 'win32' },
  async t => {
    const { spooler: spools, folder } = spooler(t, { body: 0 })
    const spool = spools.open('a')
    await spool.write(pattern(MIB))
    t.ok(spools.use.disk > 0)
    t.same(readdirSync(folder), [])
    t.equal(statSync(folder).mode & 0o077, 0)
  },
)

t.test('F-M2 a process that is killed leaves nothing', { skip: process.platform === 'win32' }, async t => {
  const folder = temporary(t)
  const child = spawn(process.execPath, [CHILD, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [said] = await once(child.stdout, 'data')
  t.equal(String(said), `${MIB}\n`)
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.same(readdirSync(folder), [])
})

t.test('F-M2 files that a crash left are removed, and nothing else', async t => {
  const { spooler: spools, folder } = spooler(t)
  mkdirSync(folder)
  const names = [`gateway-spool-${'0a'.repeat(16)}`, 'gateway-spool-mine', 'other']
  for (const name of names) writeFileSync(join(folder, name), 'x')
  await spools.prepare()
  t.same(readdirSync(folder).sort(), ['gateway-spool-mine', 'other'])
})

t.test('a file has no rights for others', { skip: process.platform === 'win32' }, async t => {
  const folder = temporary(t)
  mkdirSync(folder)
  const opened = TempFile.create(folder)
  // The name stands for a moment; whether it was seen or not, the file is gone afterwards.
  const seen = await Promise.race([opened.then(() => []), turn().then(() => readdirSync(folder))])
  for (const name of seen) t.equal((statSync(join(folder, name), { throwIfNoEntry: false })?.mode ?? 0) & 0o077, 0)
  const file = await opened
  t.same(readdirSync(folder), [])
  await file.close()
})

t.test('F-M2 a body that is given up at any moment leaves nothing', async t => {
  const { spooler: spools, folder } = spooler(t, { body: 20 * KIB, disk: 1000 * MIB })
  const bytes = pattern(300 * KIB)
  for (let moment = 0; moment < 60; moment++) {
    const spool = spools.open('a')
    const writing = fill(spool, bytes, 30 * KIB).then(
      () => 'whole',
      error => error,
    )
    const reading = all(spool.read()).catch(error => error)
    for (let i = 0; i < moment; i++) await turn()
    await spool.dispose()
    t.same(spools.use, NOTHING)
    const written = await writing
    t.ok(written === 'whole' || written instanceof StoreError)
    const read = await reading
    t.ok(read instanceof StoreError || read.equals(bytes))
    await spool.dispose()
  }
  t.same(readdirSync(folder), [])
})

t.test('F-M2 a reader that stops half-way leaves nothing', async t => {
  const { spooler: spools } = spooler(t, { body: 0 })
  const spool = spools.open('a')
  await fill(spool, pattern(MIB))
  const { memory } = spools.use
  for await (const chunk of spool.read()) {
    t.equal(spools.use.memory, memory + chunk.length, 'the buffer is counted')
    break
  }
  t.equal(spools.use.memory, memory)
  const forgotten = spool.read()
  await forgotten.next()
  await spool.dispose()
  t.same(spools.use, NOTHING)
  await forgotten.return()
  t.same(spools.use, NOTHING)
})

t.test('a body that was given up cannot be read, written or ended', async t => {
  const { spooler: spools } = spooler(t)
  const spool = spools.open('a')
  const waiting = spool.read().next()
  await spool.dispose()
  await t.rejects(waiting, { name: 'StoreError', fault: 'unavailable' })
  await t.rejects(spool.write(Buffer.from('x')), StoreError)
  await t.rejects(all(spool.read()), StoreError)
  t.throws(() => spool.end(), StoreError)
})

t.test('chunks are written one after the other, and none behind the end', async t => {
  const { spooler: spools } = spooler(t, { body: 0 })
  const spool = spools.open('a')
  const first = spool.write(Buffer.from('a'))
  await t.rejects(spool.write(Buffer.from('b')), StoreError)
  t.throws(() => spool.end(), StoreError)
  await first
  spool.end()
  await t.rejects(spool.write(Buffer.from('c')), StoreError)
  t.equal((await all(spool.read())).toString(), 'a')
})

t.test('all bodies on the disk share one bound, and refused bodies free their space', async t => {
  const { spooler: spools } = spooler(t, { body: 0, disk: MIB })
  const first = spools.open('a')
  await fill(first, pattern(700 * KIB))
  const second = spools.open('a')
  await t.rejects(fill(second, pattern(700 * KIB)), { name: 'StoreError', fault: 'full' })
  await second.dispose()
  t.ok((await all(first.read())).equals(pattern(700 * KIB)), 'the other body is whole')
  await first.dispose()
  t.same(spools.use, NOTHING)
  const third = spools.open('a')
  await fill(third, pattern(700 * KIB))
})

t.test('all bodies in memory share one bound: the rest is written to the disk', async t => {
  const { spooler: spools } = spooler(t, { body: MIB, memory: 2 * MIB, disk: 100 * MIB })
  const bodies = await Promise.all(
    Array.from({ length: 10 }, async (_, seed) => {
      const spool = spools.open('a')
      await fill(spool, pattern(MIB, seed))
      t.ok(spools.use.memory <= 2 * MIB + 10 * BLOCK, `${spools.use.memory} bytes`)
      return spool
    }),
  )
  t.equal(spools.use.bodies, 10)
  t.ok(spools.use.disk > 6 * MIB)
  for (const [seed, spool] of bodies.entries()) t.ok((await all(spool.read())).equals(pattern(MIB, seed)))
  await spools.close()
  t.same(spools.use, NOTHING)
})

t.test('many bodies at once, some of them abandoned', async t => {
  const { spooler: spools, folder } = spooler(t, { body: 50 * KIB, memory: 200 * KIB, disk: 100 * MIB })
  await Promise.all(
    Array.from({ length: 40 }, async (_, seed) => {
      const spool = spools.open('a')
      const bytes = pattern(200 * KIB + seed, seed)
      if (seed % 3 === 0) {
        await spool.write(bytes)
        await spool.dispose()
        return
      }
      const following = all(spool.read())
      await fill(spool, bytes, 1000 * (seed + 1))
      t.ok((await following).equals(bytes))
      t.ok((await all(spool.read())).equals(bytes))
      await spool.dispose()
    }),
  )
  t.same(spools.use, NOTHING)
  t.same(readdirSync(folder), [])
})

t.test('a body of 200 MiB needs little memory, at every step', async t => {
  const { spooler: spools } = spooler(t, { disk: 300 * MIB })
  const spool = spools.open('a')
  const chunk = pattern(MIB)
  let most = 0
  for (let i = 0; i < 200; i++) {
    const writing = spool.write(chunk)
    most = Math.max(most, spools.use.memory)
    await writing
    most = Math.max(most, spools.use.memory)
  }
  spool.end()
  let length = 0
  for await (const piece of spool.read()) {
    most = Math.max(most, spools.use.memory)
    if (!piece.equals(chunk.subarray(length % MIB, (length % MIB) + piece.length))) t.fail(`other bytes at ${length}`)
    length += piece.length
  }
  t.equal(length, 200 * MIB)
  t.ok(most <= MIB + 2 * BLOCK, `${most} bytes at most`)
  await spool.dispose()
  t.same(spools.use, NOTHING)
})

t.test('a folder that cannot be used is reported', { skip: asRoot }, async t => {
  const folder = temporary(t)
  mkdirSync(folder, { mode: 0o700 })
  chmodSync(folder, 0o500)
  const spools = new Spooler({ folder: join(folder, 'inner'), body: 0, memory: 0, disk: MIB })
  await t.rejects(spools.prepare(), { name: 'StoreError', fault: 'refused' })
})

t.test('an unusable folder is reported, and used as soon as possible', async t => {
  const folder = temporary(t)
  writeFileSync(folder, 'x')
  const spools = new Spooler({ folder, body: 0, memory: 0, disk: MIB })
  await t.rejects(spools.prepare(), { name: 'StoreError', fault: 'refused' })
  const lost = spools.open('a')
  await t.rejects(lost.write(Buffer.from('x')), { name: 'StoreError', fault: 'refused' })
  await lost.dispose()
  t.same(spools.use, NOTHING)
  rmSync(folder)
  const spool = spools.open('a')
  await fill(spool, Buffer.from('x'))
  rmSync(folder, { recursive: true })
  const unlucky = spools.open('a')
  await t.rejects(unlucky.write(Buffer.from('x')), { name: 'StoreError', fault: 'unavailable' })
  const lucky = spools.open('a')
  await fill(lucky, Buffer.from('y'))
  t.equal((await all(lucky.read())).toString(), 'y')
  await spools.close()
})
