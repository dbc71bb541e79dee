import { deepStrictEqual } from 'node:assert/strict'
import t from 'tap'
import { Chunks } from '../../src/wire/chunks.js'
import { fc } from '../helpers/property.js'
import { cut, places } from './cuts.js'

function chunksOf(pieces: readonly Buffer[]): Chunks {
  const chunks = new Chunks()
  for (const piece of pieces) chunks.append(piece)
  return chunks
}

t.test('any slice of any cut is the slice of the whole', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), places, fc.nat(70), fc.nat(70), (bytes, at, start, length) => {
      const whole = Buffer.from(bytes)
      const chunks = chunksOf(cut(whole, at))
      deepStrictEqual(chunks.length, whole.length)
      deepStrictEqual(chunks.slice(start, start + length), whole.subarray(start, start + length))
    }),
  )
})

t.test('a slice within one piece is not a copy', async t => {
  const piece = Buffer.alloc(6)
  for (const start of [3, 4]) t.equal(chunksOf([Buffer.from('xyz'), piece]).slice(start, 6).buffer, piece.buffer)
})

t.test('characters that are cut in two are decoded whole', async t => {
  const bytes = Buffer.from('a😀é')
  t.equal(chunksOf([bytes.subarray(0, 2), bytes.subarray(2, 6), bytes.subarray(6)]).toString(), 'a😀é')
})
