import t from 'tap'
import { costOf, unitsOf } from '../../src/core/cost.js'
import { fc } from '../helpers/property.js'

t.test('a usage has the same units beside others and alone', async t => {
  const count = fc.constantFrom(undefined, 0, 1, 7, 1000)
  const usage = fc.record({ input: count, output: count, total: count, cached: fc.constantFrom(0, 3), seconds: count })
  const price = fc.constantFrom(undefined, { input: 3_000_000, output: 2_000_000 }, { input: 1, output: 8_000_000 })
  fc.assert(
    fc.property(usage, price, ({ input, output, total, cached, seconds }, price) => {
      const said = Object.entries({ input, output, total, cached, seconds }).filter(([, value]) => value !== undefined)
      const [alone, beside] = [undefined, { image: 2 }].map(others => unitsOf(Object.fromEntries(said), price, others))
      t.same({ image: 2, ...alone }, beside)
      t.equal(costOf(alone ?? {}, price), costOf(beside ?? {}, price), 'images have no price here')
    }),
  )
})
