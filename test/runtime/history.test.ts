import t from 'tap'
import type { SourceFile } from '../../src/config/files.js'
import { History } from '../../src/runtime/history.js'

const MIB = 1024 * 1024

function generation(number: number): Parameters<History['add']>[0] {
  return { number, digest: `d${number}`, at: number, origin: 'files', changes: {} }
}

function file(path: string, bytes: string | Buffer): SourceFile {
  return { path, bytes: Buffer.from(bytes) }
}

function returnable(history: History): readonly number[] {
  return history
    .list()
    .filter(one => one.returnable)
    .map(({ number }) => number)
}

t.test('all files of a generation are kept, and what it says of one that is not known is nothing', async t => {
  const history = new History()
  history.add(generation(1), [file('/a.yaml', 'version: 1'), file('/b.yaml', 'models: {}')])
  t.same(history.documents(1), [
    { path: '/a.yaml', text: 'version: 1' },
    { path: '/b.yaml', text: 'models: {}' },
  ])
  t.equal(history.find(2), undefined)
  t.equal(history.documents(2), undefined)
})

t.test('files that were too large to be kept are a generation to which no one returns', async t => {
  const history = new History()
  history.add(generation(1), undefined)
  t.match(history.list(), [{ number: 1, returnable: false }])
  t.equal(history.find(1), undefined)
})

t.test('at most 50 generations and 8 MiB of text are remembered', async t => {
  const history = new History()
  for (let number = 1; number <= 60; number++) history.add(generation(number), [file('/a', Buffer.alloc(MIB, number))])
  const listed = history.list()
  t.equal(listed.length, 50)
  t.same([listed[0]?.number, listed.at(-1)?.number], [60, 11])
  t.same(returnable(history), [60, 59, 58, 57, 56, 55, 54, 53])
})

t.test('a file that has not changed counts once', async t => {
  const history = new History()
  const large = Buffer.alloc(6 * MIB, 'x')
  for (let number = 1; number <= 10; number++) {
    history.add(generation(number), [file('/main', `# ${number}`), file('/large', large)])
  }
  t.equal(returnable(history).length, 10)
  history.add(generation(11), [file('/main', '# 11'), file('/large', Buffer.alloc(6 * MIB, 'y'))])
  t.same(returnable(history), [11])
})
