import t from 'tap'
import { countMembers, durationMember, numberMember, quoted, textMember, wholeText } from '../../src/core/json-line.js'
import { fc } from '../helpers/property.js'

t.test('what is written by hand is what the serialiser writes', async t => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('a"b', 'a\\b', '\u007f', '\n', 'é'))
  fc.assert(fc.property(text, one => quoted(one) === JSON.stringify(one)))
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e7, noNaN: true }), ms => {
      const rounded = Math.round(ms * 100) / 100
      return durationMember('ms', ms) === `,"ms":${JSON.stringify(rounded)}`
    }),
  )
  fc.assert(fc.property(fc.maxSafeNat(), whole => wholeText(whole) === String(whole)))
  for (const whole of [0, 999_999_999, 1e9, 2 ** 31, 2 ** 31 + 5, 1e11, Number.MAX_SAFE_INTEGER, 1e21])
    t.equal(wholeText(whole), String(whole))
  const counts = { input: 12, output: undefined, seconds: 0.5, total: Number.POSITIVE_INFINITY }
  t.equal(`{${countMembers(counts)}}`, JSON.stringify(counts))
  t.equal(`{"a":1${textMember('b', 'x"y')}${numberMember('c', 2)}}`, JSON.stringify({ a: 1, b: 'x"y', c: 2 }))
  t.equal(textMember('b', undefined) + numberMember('c', undefined) + durationMember('d', undefined), '')
})
