import t from 'tap'
import { boundaryOf } from '../../src/wire/multipart-boundary.js'
import { MultipartError } from '../../src/wire/multipart-problems.js'
import { parseParameters } from '../../src/wire/parameters.js'
import { fc } from '../helpers/property.js'

const SOUND: Readonly<Record<string, string>> = {
  'multipart/form-data; boundary=B': 'B',
  'Multipart/Form-Data;BOUNDARY=----WebKitFormBoundary7MA4YWxkTrZu0gW': '----WebKitFormBoundary7MA4YWxkTrZu0gW',
  'multipart/form-data; charset=utf-8; boundary="gc0p4Jq0M2Yt08jU534c0p"': 'gc0p4Jq0M2Yt08jU534c0p',
  'multipart/form-data; boundary="a b\'()+_,-./:=?"; x=y': "a b'()+_,-./:=?",
  'multipart/form-data; boundary=----=_Part_1_2.3': '----=_Part_1_2.3',
  'multipart/form-data ; boundary=a/b:c=d? ': 'a/b:c=d?',
  [`multipart/form-data; boundary=${'x'.repeat(70)}`]: 'x'.repeat(70),
}

for (const [contentType, boundary] of Object.entries(SOUND))
  t.test(`the boundary of ${contentType}`, async t => {
    t.equal(boundaryOf(contentType), boundary)
  })

const REFUSED: Readonly<Record<string, RegExp>> = {
  'application/json': /must be multipart\/form-data/,
  'multipart/related; boundary=B': /must be multipart\/form-data/,
  'multipart/form-data': /has no boundary/,
  'multipart/form-data; boundary': /malformed/,
  'multipart/form-data; boundary=': /malformed/,
  'multipart/form-data; boundary="B': /malformed/,
  'multipart/form-data; boundary="B"C': /malformed/,
  'multipart/form-data; boundary=B; boundary=C': /malformed/,
  'multipart/form-data; boundary=B C': /malformed/,
  'multipart/form-data; boundary=""': /RFC 2046/,
  'multipart/form-data; boundary="B "': /RFC 2046/,
  'multipart/form-data; boundary="a\\b"': /RFC 2046/,
  'multipart/form-data; boundary="a\r\nb"': /RFC 2046/,
  'multipart/form-data; boundary=bön': /RFC 2046/,
  'multipart/form-data; boundary=a(b)': /RFC 2046/,
  'multipart/form-data; boundary=a,multipart/x': /RFC 2046/,
  "multipart/form-data; boundary*=utf-8''B": /RFC 2046/,
  "multipart/form-data; boundary=B; boundary*=utf-8''C": /RFC 2046/,
  'multipart/form-data; boundary*0=B; boundary*1=C': /RFC 2046/,
  [`multipart/form-data; boundary=${'x'.repeat(71)}`]: /RFC 2046/,
}

for (const [contentType, message] of Object.entries(REFUSED))
  t.test(`F-M1 refused: ${JSON.stringify(contentType)}`, async t => {
    t.throws(() => boundaryOf(contentType), { name: 'MultipartError', message })
  })

t.test('F-M1 a body without a content type is refused', async t => {
  t.throws(() => boundaryOf(undefined), MultipartError)
})

t.test('another subtype may be asked for', async t => {
  t.equal(boundaryOf('multipart/related; boundary=B', 'related'), 'B')
})

t.test('any text is parameters or none', async () => {
  const unit = fc.constantFrom('a', 'b', ';', '=', '"', '\\', ' ', '\t', '*', 'é', '/')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 30 }), text => {
      const read = parseParameters(text)
      for (const [name, { value, quoted }] of read?.parameters ?? []) {
        if (name === '' || (!quoted && value === '')) throw new Error('an empty parameter')
      }
    }),
    { numRuns: 2000 },
  )
})

t.test('quoted parameters come back', async () => {
  const value = fc.string({ unit: fc.constantFrom('a', '"', '\\', ';', '=', ' ', 'é') })
  fc.assert(
    fc.property(value, value, (one, other) => {
      const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
      const read = parseParameters(`form-data;a=${quote(one)} ;\tb=${quote(other)}`)
      if (read?.parameters.get('a')?.value !== one || read.parameters.get('b')?.value !== other) throw new Error('lost')
    }),
  )
})
