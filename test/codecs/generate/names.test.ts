import t from 'tap'
import { clientName, wireName } from '../../../src/codecs/generate/calls.js'
import { fc } from '../../helpers/property.js'

t.test('names that the protocol takes stay as they are', async t => {
  for (const name of ['f', '_f', 'get_weather-2', 'a.b:c', 'x_x20_']) t.equal(wireName(name), name)
})

t.test('every other name is written so that it can be taken, and read back', async t => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.constantFrom('gw__a', 'gwc__', '7up', '-x', '', '\ud800', '𝔘_x20_')),
      fc.boolean(),
      (name, custom) => {
        const wire = wireName(name, custom)
        t.match(wire, /^[A-Za-z_][A-Za-z0-9_:.-]*$/)
        t.same(clientName(wire), { name, custom })
      },
    ),
  )
})

t.test('names that look rewritten and are not', async t => {
  t.same(clientName('gw__a_x110000_b'), { name: 'a_x110000_b', custom: false })
})
