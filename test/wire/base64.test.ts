import { deepEqual, equal } from 'node:assert/strict'
import t from 'tap'
import { bytesOfBase64 } from '../../src/wire/base64.js'
import { fc } from '../helpers/property.js'

const RUNS = { numRuns: 1000 }

t.test('base64 in each of its spellings, and in a data URL, has the bytes that were encoded', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 30 }), array => {
      const bytes = Buffer.from(array)
      const texts = [
        bytes.toString('base64'),
        bytes.toString('base64url'),
        bytes.toString('base64').replaceAll('=', ''),
      ]
      for (const text of texts) {
        for (const head of ['', 'data:;base64,', 'data:audio/wav;base64,', 'data:audio/wav;rate=8000;base64,'])
          deepEqual(bytesOfBase64(head + text), bytes)
      }
    }),
    RUNS,
  )
})

t.test('any other text is none: what is read can be written as the same text', async () => {
  const text = fc.string({ unit: fc.constantFrom(...'AQz09+/-_= ,:é'), maxLength: 9 })
  fc.assert(
    fc.property(text, text => {
      const digits = text.replace(/={0,2}$/, '')
      const isPlain = [...digits].every(one => 'AQz09+/-_'.includes(one)) && digits.length % 4 !== 1 && digits !== ''
      equal(bytesOfBase64(text) !== undefined, isPlain)
      equal(bytesOfBase64(text)?.length ?? 0, isPlain ? Math.floor((digits.length * 3) / 4) : 0)
    }),
    RUNS,
  )
})
