import t from 'tap'
import { HeldBytes } from '../../src/wire/held-bytes.js'

t.test('what was appended is handed over, once', async t => {
  const held = new HeldBytes()
  held.append(Buffer.from('abc'))
  held.append(Buffer.from(''))
  held.append(Buffer.from('d'.repeat(1000)))
  t.equal(held.length, 1003)
  t.equal(held.take().toString(), `abc${'d'.repeat(1000)}`)
  t.equal(held.length, 0)
  t.equal(held.take().length, 0)
})

t.test('what was handed over does not change any more', async t => {
  const held = new HeldBytes()
  held.append(Buffer.from('abc'))
  const first = held.take()
  held.append(Buffer.from('xyz'))
  t.equal(first.toString(), 'abc')
  t.equal(held.take().toString(), 'xyz')
})

t.test('the chunk itself is not kept', async t => {
  const held = new HeldBytes()
  const chunk = Buffer.from('abc')
  held.append(chunk)
  chunk.fill(0)
  t.equal(held.take().toString(), 'abc')
})
