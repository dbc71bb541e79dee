import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FileChange, UnwrittenError } from '../../src/runtime/file-change.js'
import { fillDisk, smallDisk, withoutSmallDisk } from '../helpers/small-disk.js'

const PAGE_BYTES = 4096
const AT_ONCE = 8
const ROUNDS = 100
const CHANGED = /a\.yaml has changed meanwhile$/

function filesIn(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(folder).map(name => [name, readFileSync(join(folder, name), 'utf8').slice(0, 20)]),
  )
}

async function unwritten(t: Test, work: Promise<unknown>, said: RegExp): Promise<void> {
  await t.rejects(work, { name: UnwrittenError.name, message: said })
}

t.test('files change together, and back', async t => {
  const folder = t.testdir({ 'a.yaml': 'a', 'gone.yaml': 'gone', 'same.yaml': 'same', real: { 'b.yaml': 'b' } })
  symlinkSync('real/b.yaml', join(folder, 'b.yaml'))
  const at = (name: string): string => join(folder, name)
  const change = await FileChange.stage([
    { path: at('a.yaml'), text: 'A' },
    { path: at('b.yaml'), text: 'B' },
    { path: at('gone.yaml'), text: undefined },
    { path: at('same.yaml'), text: 'same' },
    { path: at('new/c.yaml'), text: 'C' },
  ])
  const said = () => ['a.yaml', 'real/b.yaml', 'same.yaml'].map(name => readFileSync(at(name), 'utf8'))
  t.same(said(), ['a', 'b', 'same'], 'nothing has changed so far')
  await change.make()
  t.same(said(), ['A', 'B', 'same'])
  t.throws(() => statSync(at('gone.yaml')))
  t.equal(readFileSync(at('new/c.yaml'), 'utf8'), 'C')
  t.equal(statSync(at('new/c.yaml')).mode & 0o777, 0o600)
  t.same(await change.undo(), [])
  await change.end()
  t.same(said(), ['a', 'b', 'same'])
  t.equal(readFileSync(at('gone.yaml'), 'utf8'), 'gone')
  t.same(readdirSync(folder).sort(), ['a.yaml', 'b.yaml', 'gone.yaml', 'new', 'real', 'same.yaml'])
  t.same([readdirSync(at('real')), readdirSync(at('new'))], [['b.yaml'], []])
})

t.test('a file keeps its rights and its owner', async t => {
  const path = join(t.testdir({ 'a.yaml': 'a' }), 'a.yaml')
  const isRoot = process.getuid?.() === 0
  execFileSync('chmod', ['640', path])
  if (isRoot) execFileSync('chown', ['65534:65534', path])
  const rights = (): readonly number[] => [statSync(path).mode & 0o777, statSync(path).uid, statSync(path).gid]
  const before = rights()
  const change = await FileChange.stage([{ path, text: 'A' }])
  await change.make()
  t.same(rights(), before)
  await change.undo()
  t.same([rights(), readFileSync(path, 'utf8')], [before, 'a'])
  await change.end()
})

t.test('what someone else writes meanwhile stays', async t => {
  const folder = t.testdir({ 'a.yaml': 'a' })
  const path = join(folder, 'a.yaml')
  const said = (): string => readFileSync(path, 'utf8')
  await unwritten(t, FileChange.stage([{ path, text: 'A', before: 'other' }]), CHANGED)

  const late = await FileChange.stage([{ path, text: 'A', before: 'a' }])
  // Also where another process stages it.
  await unwritten(t, FileChange.stage([{ path, text: 'B' }]), CHANGED)
  writeFileSync(path, 'edited')
  await unwritten(t, late.make(), CHANGED)
  await late.end()
  t.same([said(), readdirSync(folder)], ['edited', ['a.yaml']])

  const first = await FileChange.stage([{ path, text: 'A' }])
  await first.make()
  const second = await FileChange.stage([{ path, text: 'B' }])
  await first.end()
  await second.make()
  await second.end()
  t.equal(said(), 'B', 'the end of one takes nothing from the next')

  const undone = await FileChange.stage([{ path, text: 'C' }])
  await undone.make()
  writeFileSync(path, 'edited again')
  t.match(await undone.undo(), [/a\.yaml \(it has changed meanwhile; its former text is in \S+\)$/])
  await undone.end()
  t.equal(said(), 'edited again')
})

t.test('what a process that was killed has left beside a file is in no one’s way for long', async t => {
  const folder = t.testdir({ 'a.yaml': 'a', 'a.yaml.being-written': 'half of' })
  const path = join(folder, 'a.yaml')
  await unwritten(t, FileChange.apply([{ path, text: 'A' }]), CHANGED)
  utimesSync(`${path}.being-written`, 0, 0)
  await FileChange.apply([{ path, text: 'A' }])
  t.same([readFileSync(path, 'utf8'), readdirSync(folder)], ['A', ['a.yaml']])
})

t.test('of those who find it at the same time one writes the file, and what it says is theirs', async t => {
  const path = join(t.testdir({ 'a.yaml': 'a' }), 'a.yaml')
  const texts = Array.from({ length: AT_ONCE }, (_, n) => `A${n}`)
  for (let round = 0; round < ROUNDS; round++) {
    writeFileSync(path, 'a')
    writeFileSync(`${path}.being-written`, 'half of')
    utimesSync(`${path}.being-written`, 0, 0)
    const done = await Promise.allSettled(texts.map(text => FileChange.apply([{ path, text, before: 'a' }])))
    const written = texts.filter((_, n) => done[n]?.status === 'fulfilled')
    t.same([readFileSync(path, 'utf8')], written.length === 0 ? ['a'] : written, `round ${round}`)
  }
})

t.test('what cannot be put back is named, with the place of its former text', async t => {
  const folder = t.testdir({ 'a.yaml': 'a', 'b.yaml': 'b' })
  const [a, b] = [join(folder, 'a.yaml'), join(folder, 'b.yaml')]
  const change = await FileChange.stage([
    { path: a, text: 'A' },
    { path: b, text: 'B' },
  ])
  await change.make()
  rmSync(b)
  mkdirSync(b)
  const [lost = '', ...more] = await change.undo()
  await change.end()
  const [, former = ''] = /its former text is in (\S+)\)$/.exec(lost) ?? []
  t.match(lost, `${b} (E`)
  t.same(more, [])
  t.same([readFileSync(a, 'utf8'), readFileSync(former, 'utf8')], ['a', 'b'])
  t.equal(readdirSync(folder).length, 3, 'nothing else remains')
})

t.test('a full disk: none has changed; and all are put back without room', { skip: withoutSmallDisk }, async t => {
  const folder = smallDisk(t, '64k')
  const [a, b] = [join(folder, 'a.yaml'), join(folder, 'b.yaml')]
  writeFileSync(a, 'a')
  writeFileSync(b, 'b')
  const files = (size: number) => [
    { path: a, text: 'A'.repeat(PAGE_BYTES) },
    { path: b, text: 'B'.repeat(size) },
  ]
  await unwritten(t, FileChange.stage(files(40 * PAGE_BYTES)), /b\.yaml cannot be written \(ENOSPC\)$/)
  t.same(filesIn(folder), { 'a.yaml': 'a', 'b.yaml': 'b' })

  const change = await FileChange.stage(files(PAGE_BYTES))
  fillDisk(folder)
  await change.make()
  t.match(filesIn(folder), { 'a.yaml': /^A/, 'b.yaml': /^B/ })
  t.same(await change.undo(), [])
  await change.end()
  t.match(filesIn(folder), { 'a.yaml': /^a$/, 'b.yaml': /^b$/ })
})
