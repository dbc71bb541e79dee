import t from 'tap'
import { unwrapSeal, wrapSeal } from '../../src/codecs/seal.js'
import { fc } from '../helpers/property.js'

t.test('a seal comes back as it was, from any protocol it travelled in', t => {
  const names = fc.constantFrom('chat', 'responses', 'messages', 'generate', 'converse')
  fc.assert(
    fc.property(names, names, fc.string({ unit: 'grapheme' }), (by, protocol, text) => {
      const seal = { by, value: `s${text}` }
      const wrapped = wrapSeal(seal, protocol)
      t.same(unwrapSeal(wrapped, protocol), seal)
      if (by === protocol) t.equal(wrapped, seal.value)
      else t.match(wrapped, /^gw1\.\w+\.[\w-]+$/)
    }),
  )
  t.end()
})

t.test('what came back torn belongs to the protocol in which it came, whole', t => {
  const wrapped = wrapSeal({ by: 'generate', value: 'a seal of some length' }, 'messages')
  const torn = ['gw1.', 'gw1..', 'gw1.generate', 'gw1.generate.%%%', 'gw1.messages.eA', 'gw1.generate.A', `${wrapped}=`]
  for (const value of torn) t.same(unwrapSeal(value, 'messages'), { by: 'messages', value }, value)
  t.end()
})
