import t from 'tap'
import { Holders, type ModelLists } from '../../src/cli/linting/callers.js'
import { overlap } from '../../src/core/glob.js'
import { fc } from '../helpers/property.js'

/** Which holders of lists of models may use a model. */

t.test('a holder may use a model that is on each of its lists, in the order of holders of one kind', async t => {
  const pattern = fc.constantFrom('a', 'b', 'ab', 'a*', '*b', '*')
  const lists: fc.Arbitrary<ModelLists> = fc.array(fc.array(pattern, { maxLength: 3 }), { maxLength: 3 })
  fc.assert(
    fc.property(fc.array(lists, { maxLength: 6 }), pattern, (all, model) => {
      const holders = all.map((one, at) => ({ at, lists: one }))
      const allowed = holders.filter(one => one.lists.every(list => list.some(name => overlap(name, model))))
      const found = new Holders(holders)
      t.same(
        [...found.of(model)].map(({ at }) => at).toSorted(),
        allowed.map(({ at }) => at),
      )
      t.equal(found.has(model), allowed.length > 0)
    }),
  )
})

t.test('no model is compared with 30,000 lists that do not name it', async t => {
  const names = Array.from({ length: 30_000 }, (_, at) => `m${at}`)
  const holders = new Holders(names.map(name => ({ lists: [[name, 'shared']] })))
  t.ok(names.every(name => [...holders.of(name)].length === 1))
  t.equal([...holders.of('shared')].length, names.length)
  t.notOk(holders.has('unknown'))
})
