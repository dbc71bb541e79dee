import t from 'tap'
import { Recent } from '../../src/plan/recent.js'

t.test('what was set can be got', async t => {
  const recent = new Recent<number>(2)
  recent.set('a', 1)
  t.equal(recent.get('a'), 1)
  t.equal(recent.get('b'), undefined)
})

t.test('what was not asked for while two halves filled up is gone', async t => {
  const recent = new Recent<number>(2)
  for (const [index, key] of [...'abcde'].entries()) recent.set(key, index)
  t.equal(recent.get('a'), undefined)
  t.equal(recent.get('e'), 4)
})

t.test('what is asked for stays, however many others come', async t => {
  const recent = new Recent<number>(2)
  recent.set('kept', 1)
  for (let index = 0; index < 100; index++) {
    recent.set(`other-${index}`, index)
    t.equal(recent.get('kept'), 1)
  }
})
