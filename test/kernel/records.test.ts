import t from 'tap'
import { Records } from '../../src/kernel/records.js'

t.test('what has ended is recorded at the end of the turn, in order', async t => {
  const records = new Records()
  const seen: string[] = []
  const one = (name: string): { record(): void } => ({ record: () => void seen.push(name) })
  records.add(one('a'))
  records.add(one('b'))
  t.same(seen, [])
  await records.done()
  t.same(seen, ['a', 'b'])
  await records.done()
  records.add({
    record: () => {
      seen.push('c')
      records.add(one('d'))
    },
  })
  await records.done()
  t.same(seen, ['a', 'b', 'c', 'd'], 'also what a record ends')
})

t.test('a record that throws loses no other', async t => {
  const records = new Records()
  const seen: string[] = []
  const faults: unknown[] = []
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', fault => faults.push(fault))
  t.teardown(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
  })
  for (const name of ['a', 'b', 'c', 'd'])
    records.add({
      record: () => {
        seen.push(name)
        if (name !== 'b') return
        records.add({ record: () => void seen.push('of b') })
        throw new Error('of b')
      },
    })
  await records.done()
  t.same(seen, ['a', 'b', 'c', 'd', 'of b'])
  t.match(faults, [{ message: 'of b' }])
})
