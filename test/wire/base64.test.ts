import { deepEqual, equal } from 'node:assert/strict'
import t from 'tap'
import { bytesOfBase64, bytesOfHex } from '../../src/wire/base64.js'
import { bytesOf, multipartOf } from '../../src/wire/form-of-json.js'
import { jsonOfBytes } from '../../src/wire/json-of-bytes.js'
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

t.test('no other text has bytes, and their number is that of the digits', async () => {
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

t.test('bytes in JSON, as base64 or as a data URL, can be read again', async () => {
  const types = fc.constantFrom(
    ['audio/WAV; rate=8', 'audio/wav'],
    ['', 'application/octet-stream'],
    ['a"b', 'application/octet-stream'],
  )
  const name = fc.string({ minLength: 1, maxLength: 4 }).filter(name => name !== '__proto__')
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 30 }), name, types, (bytes, name, [written, type = '']) => {
      deepEqual(bytesOf(jsonOfBytes(bytes, { data_url: name }, written), name), { type, bytes: Buffer.from(bytes) })
      const plain = { type: 'application/octet-stream', bytes: Buffer.from(bytes) }
      deepEqual(bytesOf(jsonOfBytes(bytes, { base64: name }, written), name), plain)
    }),
    RUNS,
  )
})

t.test('a data URL is a file of its media type and parameters, alone and in a form', async () => {
  const heads = fc.constantFrom(
    ['data:audio/wav;codecs=1;base64,', 'audio/wav;codecs=1'],
    ['data:audio/webm;rate=48000;codecs=opus;base64,', 'audio/webm;rate=48000;codecs=opus'],
    ['data:image/png;name=a%20cat.png;base64,', 'image/png;name=a%20cat.png'],
    ['data:image/svg+xml;base64,', 'image/svg+xml'],
    ['data:;base64,', 'application/octet-stream'],
  )
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 30 }), heads, (array, [head, type]) => {
      const bytes = Buffer.from(array)
      const document = Buffer.from(JSON.stringify({ file: `${head}${bytes.toString('base64')}` }))
      deepEqual(bytesOf(document, 'file'), { type, bytes })
      const form = multipartOf(document).bytes.toString('latin1')
      equal(form.split('\r\n').includes(`Content-Type: ${type}`), true)
      equal(form.includes(`filename="file"`) && form.includes(`\r\n\r\n${bytes.toString('latin1')}\r\n--`), true)
    }),
    RUNS,
  )
})

t.test('a text that only looks like a data URL is not a file', async t => {
  for (const text of [
    'data:',
    'data:audio/wav',
    'data:audio/wav,a',
    'data:a/b;c;base64,YQ==',
    'data:a/b;c="\r\n";base64,YQ==',
  ]) {
    t.equal(bytesOf(Buffer.from(JSON.stringify({ file: text })), 'file'), 'not base64', text)
    t.notMatch(multipartOf(Buffer.from(JSON.stringify({ file: text }))).bytes.toString(), 'filename', text)
  }
})

t.test('hexadecimal text has the bytes that were encoded, and no other text has any', async () => {
  const text = fc.string({ unit: fc.constantFrom(...'09afAFgx -é'), maxLength: 6 })
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 30 }), text, (array, text) => {
      const bytes = Buffer.from(array)
      for (const one of [bytes.toString('hex'), bytes.toString('hex').toUpperCase()]) deepEqual(bytesOfHex(one), bytes)
      const isHex = text !== '' && text.length % 2 === 0 && [...text].every(one => '09afAF'.includes(one))
      equal(bytesOfHex(text)?.length ?? 0, isHex ? text.length / 2 : 0)
    }),
    RUNS,
  )
})
