import t from 'tap'
import { PendingBytes } from '../../src/wire/pending-bytes.js'

t.test('what was appended is handed over, once', async t => {
  const pending = new PendingBytes()
  pending.append(Buffer.from('abc'))
  pending.append(Buffer.from(''))
  pending.append(Buffer.from('d'.repeat(1000)))
  t.equal(pending.length, 1003)
  t.equal(pending.take().toString(), `abc${'d'.repeat(1000)}`)
  t.equal(pending.length, 0)
  t.equal(pending.take().length, 0)
})

t.test('what was handed over no longer changes', async t => {
  const pending = new PendingBytes()
  pending.append(Buffer.from('abc'))
  const first = pending.take()
  pending.append(Buffer.from('xyz'))
  t.equal(first.toString(), 'abc')
  t.equal(pending.take().toString(), 'xyz')
})

t.test('the chunk itself is not kept', async t => {
  const pending = new PendingBytes()
  const chunk = Buffer.from('abc')
  pending.append(chunk)
  chunk.fill(0)
  t.equal(pending.take().toString(), 'abc')
})
