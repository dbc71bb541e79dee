import t from 'tap'
import { type Position, SortedIndex } from '../../src/stores/sorted-index.js'
import { fc } from '../helpers/property.js'

const position = fc.record({ created: fc.integer({ min: 0, max: 5 }), key: fc.constantFrom('a', 'b', 'c', 'd') })
/** Of pieces so small that there are many. */
const most = fc.integer({ min: 2, max: 8 })
const steps = fc.array(fc.record({ add: fc.boolean(), position }), { maxLength: 60 })
const same = (a: Position, b: Position): boolean => a.created === b.created && a.key === b.key
const ascending = (a: Position, b: Position): number => a.created - b.created || a.key.localeCompare(b.key)

t.test('the index has what was added and not removed, in order, from any position', async t => {
  fc.assert(
    fc.property(most, steps, position, (most, steps, after) => {
      const index = new SortedIndex(most)
      let model: Position[] = []
      for (const { add, position } of steps) {
        const stands = model.some(one => same(one, position))
        if (add && !stands) {
          index.add(position)
          model = [...model, position].sort(ascending)
        } else if (!add) {
          index.remove(position)
          model = model.filter(one => !same(one, position))
        }
      }
      const behind = model.filter(one => ascending(one, after) > 0)
      const before = model.filter(one => ascending(one, after) < 0).reverse()
      return (
        index.size === model.length &&
        JSON.stringify([...index.walk({ order: 'ascending' })]) === JSON.stringify(model) &&
        JSON.stringify([...index.walk({ order: 'ascending', after })]) === JSON.stringify(behind) &&
        JSON.stringify([...index.walk({ order: 'descending', after })]) === JSON.stringify(before)
      )
    }),
  )
  t.pass('no counterexample')
})

t.test('the usual pattern: many positions added at the end and removed at the front', async t => {
  const index = new SortedIndex()
  const count = 5000
  for (let n = 0; n < count; n++) index.add({ created: n, key: 'a' })
  for (let n = 0; n < count - 2; n++) {
    const [first] = index.walk({ order: 'ascending' })
    if (first?.created !== n) t.fail(`${first?.created} is first, and not ${n}`)
    index.remove({ created: n, key: 'a' })
  }
  const left = [...index.walk({ order: 'descending' })].map(({ created }) => created)
  t.same(left, [count - 1, count - 2])
  t.equal(index.size, 2)
})
