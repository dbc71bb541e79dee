import t from 'tap'
import { Bits } from '../../../simulator/src/film/bits.js'
import { nal, UNIT } from '../../../simulator/src/film/nal.js'
import { fc } from '../../helpers/property.js'

/** Takes the escapes out again (H.264, section 7.4.1.1). */
function unescaped(unit: Buffer): Buffer {
  return Buffer.from(unit.filter((byte, at) => !(byte === 3 && unit[at - 1] === 0 && unit[at - 2] === 0)))
}

t.test('no unit holds what could be taken for a start code, and none loses a byte', async t => {
  const bytes = fc
    .array(fc.constantFrom(0, 0, 0, 1, 2, 3, 4, 255), { maxLength: 60 })
    .map(list => Buffer.from([...list, 128]))
  fc.assert(
    fc.property(bytes, payload => {
      const unit = nal(UNIT.idr, payload)
      for (const bad of [0, 1, 2]) if (unit.includes(Buffer.from([0, 0, bad]))) return false
      return unescaped(unit).subarray(1).equals(payload)
    }),
  )
  t.pass()
})

t.test('numbers in the Exp-Golomb code', async t => {
  const bits = new Bits()
  for (const value of [0, 1, 2, 3, 7]) bits.ue(value)
  for (const value of [0, 1, -1]) bits.se(value)
  // 1 010 011 00100 0001000 1 010 011, and a stop bit.
  t.equal(bits.finish().toString('hex'), 'a64114e0')
})
