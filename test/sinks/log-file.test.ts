import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { LogFile } from '../../src/core/log-config.js'
import { LineWriter, type Place } from '../../src/sinks/line-writer.js'
import { openLog } from '../../src/sinks/log.js'
import { RotatedFile } from '../../src/sinks/log-file.js'
import { failLinks } from './failing-link.js'

const HOUR_MS = 3_600_000
const fileIn = (folder: string, more: Partial<LogFile> = {}): LogFile => ({
  ...{ file: join(folder, 'deep', 'gateway.log'), size: 1_000_000, age: HOUR_MS, keep: 5 },
  ...more,
})
const filesOf = ({ file }: LogFile): readonly string[] => readdirSync(join(file, '..')).sort()
const linesIn = (path: string): readonly string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1)
const allLines = (config: LogFile): readonly string[] =>
  filesOf(config).flatMap(name => linesIn(join(config.file, '..', name)))

/** Waits for a condition; the test's own time-out is its bound. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 5))
}

const FORMER = /^gateway\.\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z-[0-9a-z]+\.log$/

t.test('a full file gets another name, and a new one is begun; the oldest are removed', async t => {
  const config = fileIn(t.testdir(), { size: 10_000, keep: 3 })
  const writer = new LineWriter(new RotatedFile(config), 4096)
  let count = 0
  for (let batch = 0; batch < 30; batch++) {
    for (let i = 0; i < 30; i++) writer.write(`${String(count++).padStart(6, '0')} ${'x'.repeat(92)}\n`)
    await until(
      () =>
        linesIn(config.file)
          .at(-1)
          ?.startsWith(String(count - 1).padStart(6, '0')) === true,
    )
  }
  await writer.close()
  const names = filesOf(config)
  const former = names.filter(name => name !== 'gateway.log')
  t.equal(former.length, 3, names.join(' '))
  for (const name of former) t.match(name, FORMER)
  for (const name of names) t.ok(statSync(join(config.file, '..', name)).size <= 10_000, name)
  const left = former.concat('gateway.log').flatMap(name => linesIn(join(config.file, '..', name)))
  t.equal(left.at(-1)?.slice(0, 6), String(count - 1).padStart(6, '0'))
  for (const [at, line] of left.entries()) t.equal(Number(line.slice(0, 6)), count - left.length + at)
  t.equal(writer.dropped, 0)
  t.equal(statSync(config.file).mode & 0o007, 0, 'no one else reads it')
})

t.test('an old file is left, however small it is', async t => {
  const config = fileIn(t.testdir(), { age: 1 })
  const writer = new LineWriter(new RotatedFile(config))
  for (const word of ['one', 'two', 'three']) {
    await until(() => !existsSync(config.file) || Date.now() - statSync(config.file).birthtimeMs > 2)
    writer.write(`${word}\n`)
    await until(() => linesIn(config.file).at(-1) === word)
  }
  await writer.close()
  t.equal(filesOf(config).length, 3)
  t.same([...allLines(config)].sort(), ['one', 'three', 'two'])
})

t.test('a file that someone has moved or removed is made anew', async t => {
  const config = fileIn(t.testdir())
  const writer = new LineWriter(new RotatedFile(config))
  writer.write('before\n')
  await until(() => linesIn(config.file).length === 1)
  renameSync(config.file, `${config.file}.1`)
  writer.write('after\n')
  await until(() => existsSync(config.file) && linesIn(config.file).length === 1)
  await writer.close()
  t.same(linesIn(`${config.file}.1`), ['before'])
  t.same(linesIn(config.file), ['after'])
})

t.test('a folder that was removed is made anew, and if that cannot be, lines are counted as lost', async t => {
  const config = fileIn(t.testdir())
  const file = new RotatedFile(config)
  const faults: unknown[] = []
  file.onFault = fault => faults.push(fault)
  const writer = new LineWriter(file)
  const reported: number[] = []
  writer.onDropped = lines => reported.push(lines)
  const folder = join(config.file, '..')
  rmSync(folder, { recursive: true })
  writer.write('again\n')
  await until(() => existsSync(config.file) && linesIn(config.file).length === 1)
  t.equal(writer.dropped, 0)

  rmSync(folder, { recursive: true })
  writeFileSync(folder, 'a file is where the folder should be')
  for (const lost of [1, 2]) {
    writer.write('lost\n')
    await until(() => writer.dropped === lost)
  }
  t.same(faults, ['lost'], 'it is reported once')
  rmSync(folder)
  writer.write('back\n')
  await until(() => reported.length > 0)
  t.same(reported, [2])
  await writer.close()
  t.same(linesIn(config.file), ['back'])
})

t.test('the log says at another place that its file is lost', async t => {
  const config = fileIn(t.testdir())
  const aside = new PassThrough()
  const log = openLog({ level: 'info', format: 'json', to: config }, aside)
  const folder = join(config.file, '..')
  rmSync(folder, { recursive: true })
  writeFileSync(folder, 'a file is where the folder should be')
  log.info({}, 'lost')
  let text = ''
  aside.on('data', piece => {
    text += piece
  })
  await until(() => text.endsWith('\n'))
  t.match(JSON.parse(text), { level: 'warn', file: config.file, error: /EEXIST/, next: /folder of log.to/ })
  await until(() => log.dropped > 0)
  await log.close()
})

t.test('a file that cannot be changed for a new one stays in use, and one warning says so', async t => {
  const config = fileIn(t.testdir(), { size: 100 })
  const file = new RotatedFile(config)
  const faults: unknown[] = []
  file.onFault = (fault, error) => faults.push([fault, (error as NodeJS.ErrnoException).code])
  const writer = new LineWriter(file)
  const changed = failLinks('EACCES')
  t.teardown(changed)
  for (let count = 1; count <= 5; count++) {
    writer.write(`${'x'.repeat(60)}\n`)
    await until(() => linesIn(config.file).length === count)
  }
  t.same(faults, [['grows', 'EACCES']])
  changed()
  writer.write('after\n')
  await until(() => linesIn(config.file).at(0) === 'after')
  await writer.close()
  t.equal(filesOf(config).length, 2)
})

t.test('several processes write to one file and rotate it: every line is there once, and whole', async t => {
  for (const links of [[], ['EPERM']]) {
    const config = fileIn(join(t.testdir(), `links${links}`), { size: 20_000, keep: 1000 })
    const child = fileURLToPath(new URL('log-file-child.js', import.meta.url))
    const COUNT = 1500
    const processes = [1, 2, 3].map(number =>
      fork(child, [JSON.stringify(config), String(number), String(COUNT), ...links], { stdio: 'inherit' }),
    )
    t.teardown(() => processes.forEach(one => void one.kill()))
    const ends = await Promise.all(processes.map(one => once(one, 'exit')))
    for (const [code] of ends) t.equal(code, 0)
    const lines = allLines(config)
    t.equal(lines.length, 3 * COUNT)
    t.equal(new Set(lines).size, lines.length, 'none is there twice')
    t.ok(
      lines.every(line => /^[123] \d+ x{80}$/.test(line)),
      'all are whole',
    )
    t.ok(filesOf(config).length > 5, `${filesOf(config).length} files`)
    t.ok(
      filesOf(config).every(name => name === 'gateway.log' || FORMER.test(name)),
      filesOf(config).join(' '),
    )
  }
})

t.test('a folder that cannot be used is an error of the start', async t => {
  const folder = t.testdir({ file: 'not a folder' })
  t.throws(() => new RotatedFile(fileIn(join(folder, 'file'))), { code: /ENOTDIR|EEXIST/ })
})

t.test('a full disk costs lines, which are counted and reported once there is room', async t => {
  if (!existsSync('/dev/full')) {
    t.comment('SKIPPED: there is no /dev/full')
    t.not(process.env.CI, 'true')
    return
  }
  const path = join(t.testdir(), 'log')
  const place: Place & { descriptor: number } = { descriptor: openSync('/dev/full', 'w') }
  const writer = new LineWriter(place, 256)
  const reported: number[] = []
  writer.onDropped = lines => reported.push(lines)
  for (let i = 0; i < 10; i++) writer.write(`${i} ${'x'.repeat(97)}\n`)
  await until(() => writer.dropped > 0)
  t.same(reported, [], 'not while nothing can be written')
  const full = writer.dropped
  place.descriptor = openSync(path, 'a')
  await until(() => {
    writer.write(`more ${'y'.repeat(95)}\n`)
    return existsSync(path) && linesIn(path).length > 2 && reported.length > 0
  })
  await writer.close()
  t.ok((reported[0] ?? 0) >= full, `${reported} of ${full}`)
  t.ok(
    linesIn(path).every(line => /^(\d x{97}|more y{95})$/.test(line)),
    'all lines are whole',
  )
})
