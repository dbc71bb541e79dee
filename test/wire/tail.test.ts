import { deepStrictEqual } from 'node:assert/strict'
import t from 'tap'
import { Tail } from '../../src/wire/tail.js'
import { fc } from '../helpers/property.js'

const KEPT = 16 * 1024

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
    fc.property(fc.array(fc.integer({ min: 0, max: 40_000 }), { maxLength: 12 }), sizes => {
      const chunks = sizes.map((size, index) => Buffer.alloc(size, index))
      const all = Buffer.concat(chunks)
      deepStrictEqual(tailOf(chunks), all.subarray(Math.max(0, all.length - KEPT)))
    }),
  )
})

t.test('a single chunk is not copied', async t => {
  const chunk = Buffer.alloc(100)
  t.equal(tailOf([chunk]).buffer, chunk.buffer)
})
