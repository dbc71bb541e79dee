import { deepStrictEqual } from 'node:assert/strict'
import t from 'tap'
import { Tail } from '../../src/wire/tail.js'
import { fc } from '../helpers/property.js'

const KEPT = 16 * 1024
const SIZES = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 3000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 40_000 }) },
  // Almost as long as what is kept: the room that one of them makes holds two of them, but not every two.
  { weight: 2, arbitrary: fc.integer({ min: KEPT / 2, max: KEPT + 1 }) },
)

function tailOf(chunks: readonly Buffer[]): Buffer {
  const tail = new Tail()
  for (const chunk of chunks) tail.push(chunk)
  return tail.bytes()
}

t.test('the tail of little is all of it', async t => {
  t.equal(tailOf([]).length, 0)
  t.equal(tailOf([Buffer.from('ab'), Buffer.from('c')]).toString(), 'abc')
})

t.test('the tail of much is its last 16 KiB', async () => {
  fc.assert(
    fc.property(fc.array(SIZES, { maxLength: 100 }), sizes => {
      const chunks = sizes.map((size, index) => Buffer.alloc(size, index))
      const all = Buffer.concat(chunks)
      deepStrictEqual(tailOf(chunks), all.subarray(Math.max(0, all.length - KEPT)))
    }),
  )
})

t.test('chunks of any size follow each other', async () => {
  for (const size of [1, 511, 512, 1000, 8192, 10_923, 12_000, 16_383, KEPT]) {
    const chunks = Array.from({ length: 40 }, (_, i) => Buffer.alloc(size, i))
    const all = Buffer.concat(chunks)
    deepStrictEqual(tailOf(chunks), all.subarray(Math.max(0, all.length - KEPT)), `${size}`)
  }
})

t.test('a chunk as long as all that is kept is not copied', async t => {
  const chunk = Buffer.alloc(KEPT + 1)
  t.equal(tailOf([chunk]).buffer, chunk.buffer)
})

t.test('what is held is bounded for every input', async t => {
  const tail = new Tail()
  for (let i = 0; i < 10_000; i++) tail.push(Buffer.alloc(100))
  t.equal(tail.bytes().length, KEPT)
  t.ok(tail.bytes().buffer.byteLength <= 2 * KEPT)
})
