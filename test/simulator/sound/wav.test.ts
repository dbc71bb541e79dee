import t from 'tap'
import { spokenText, wavHead } from '../../../simulator/src/sound/wav.js'
import { fc } from '../../helpers/property.js'

/** The chunks of a RIFF file, read without the code that wrote them: id and place of the data. */
function chunks(file: Buffer): Record<string, Buffer> {
  const found: Record<string, Buffer> = {}
  for (let at = 12; at < file.length; ) {
    const size = file.readUInt32LE(at + 4)
    found[file.toString('latin1', at, at + 4)] = file.subarray(at + 8, at + 8 + size)
    at += 8 + size + (size % 2)
  }
  return found
}

t.test('the head is that of 16-bit samples on one channel at 24 kHz, and its sizes are right', async t => {
  const samples = Buffer.alloc(1000, 7)
  const file = Buffer.concat([wavHead('hello', samples.length), samples])
  t.equal(file.toString('latin1', 0, 4), 'RIFF')
  t.equal(file.readUInt32LE(4), file.length - 8)
  t.equal(file.toString('latin1', 8, 12), 'WAVE')
  const { 'fmt ': format = Buffer.alloc(16), data = Buffer.alloc(0), LIST: list = Buffer.alloc(0) } = chunks(file)
  t.same([format.readUInt16LE(0), format.readUInt16LE(2), format.readUInt32LE(4)], [1, 1, 24_000])
  t.same([format.readUInt32LE(8), format.readUInt16LE(12), format.readUInt16LE(14)], [48_000, 2, 16])
  t.ok(data.equals(samples))
  t.equal(list.toString('latin1', 0, 4), 'INFO')
  t.ok(list.includes('ICMT\u0006\0\0\0hello\0'))
})

t.test('property: any text comes back', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.nat(99), (text, size) => {
      const kept = text.replace(/\0+$/, '')
      return spokenText(Buffer.concat([wavHead(text, size), Buffer.alloc(size)])) === kept
    }),
  )
})

t.test('property: other bytes have no text, and nothing is thrown', async () => {
  const whole = wavHead('hello', 0)
  fc.assert(
    fc.property(fc.nat(whole.length), fc.uint8Array({ maxLength: 40 }), (length, more) => {
      spokenText(Buffer.concat([whole.subarray(0, length), more]))
      return true
    }),
  )
  fc.assert(fc.property(fc.uint8Array(), bytes => spokenText(Buffer.from(bytes)) === undefined))
})
