import t from 'tap'
import { Records } from '../../src/kernel/records.js'

t.test('what has ended is recorded at the end of the turn, in order', async t => {
  const records = new Records()
  const seen: string[] = []
  const one = (name: string): { record(): void } => ({ record: () => void seen.push(name) })
  records.addCall(one('a'))
  records.addCall(one('b'))
  t.same(seen, [])
  await records.done()
  t.same(seen, ['a', 'b'])
  await records.done()
  records.addCall({
    record: () => {
      seen.push('c')
      records.addCall(one('d'))
    },
  })
  await records.done()
  t.same(seen, ['a', 'b', 'c', 'd'], 'also what a record ends')
})

t.test('the attempts of a turn are recorded before its calls', async t => {
  const records = new Records()
  const seen: string[] = []
  const one = (name: string): { record(): void } => ({ record: () => void seen.push(name) })
  records.addAttempt(one('attempt a'))
  records.addCall(one('call a'))
  records.addAttempt(one('attempt b'))
  records.addCall(one('call b'))
  await records.done()
  t.same(seen, ['attempt a', 'attempt b', 'call a', 'call b'])
  records.addAttempt(one('attempt c'))
  await records.done()
  t.equal(seen.at(-1), 'attempt c')
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
    records.addCall({
      record: () => {
        seen.push(name)
        if (name !== 'b') return
        records.addCall({ record: () => void seen.push('of b') })
        throw new Error('of b')
      },
    })
  await records.done()
  t.same(seen, ['a', 'b', 'c', 'd', 'of b'])
  t.match(faults, [{ message: 'of b' }])
})
