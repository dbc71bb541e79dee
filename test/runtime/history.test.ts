import { join } from 'node:path'
import t from 'tap'
import { History } from '../../src/runtime/history.js'

const MIB = 1024 * 1024

function generation(number: number): Parameters<History['add']>[0] {
  return { number, digest: `d${number}`, at: number, origin: 'files', changes: {} }
}

t.test('the text of the file is read when a generation begins, and stays', async t => {
  const folder = t.testdir({ 'gateway.yaml': 'version: 1' })
  const history = new History(join(folder, 'gateway.yaml'))
  await history.add(generation(1))
  t.equal(history.find(1)?.text.toString(), 'version: 1')
  t.equal(history.find(2), undefined)
})

t.test('a file that cannot be read is a generation to which no one returns', async t => {
  const history = new History(join(t.testdir({}), 'none.yaml'))
  await history.add(generation(1))
  t.match(history.list(), [{ number: 1, returnable: false }])
  t.equal(history.find(1), undefined)
})

t.test('at most 50 generations and 8 MiB of text are remembered', async t => {
  const history = new History('unused')
  for (let number = 1; number <= 60; number++) await history.add(generation(number), Buffer.alloc(MIB))
  const listed = history.list()
  t.equal(listed.length, 50)
  t.same([listed[0]?.number, listed.at(-1)?.number], [60, 11])
  t.same(
    listed.filter(({ returnable }) => returnable).map(({ number }) => number),
    [60, 59, 58, 57, 56, 55, 54, 53],
  )
})
