import t from 'tap'
import { ByteMap } from '../../../src/codecs/generate/byte-map.js'
import { fc } from '../../helpers/property.js'

t.test('characters and bytes, in any pieces the text came', async () => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string(),
    fc.constant('é'.repeat(600)),
    fc.constant('𝔘'.repeat(300)),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), fc.nat(4000), (pieces, at) => {
      const text = pieces.join('')
      const map = new ByteMap()
      for (const each of pieces) map.add(each)
      const whole = Array.from(text)
      const char = whole.slice(0, at % (whole.length + 1)).join('').length
      const byte = Buffer.byteLength(text.slice(0, char))
      if (map.byteAt(char) !== byte) throw new Error(`character ${char} is byte ${byte}, not ${map.byteAt(char)}`)
      if (map.charAt(byte) !== char) throw new Error(`byte ${byte} is character ${char}, not ${map.charAt(byte)}`)
    }),
  )
})

t.test('places behind the end are the end, and those within a character its beginning', async t => {
  const map = new ByteMap()
  map.add('aé')
  map.add('𝔘b')
  t.same([map.charAt(99), map.byteAt(99), map.charAt(-1)], [5, 8, 0])
  t.same([map.charAt(2), map.charAt(5)], [1, 2])
})
