import t from 'tap'
import { isSealed, seal } from '../../simulator/src/seals.js'

t.test('a seal is for one content and one purpose', async t => {
  const sealed = seal('messages.thinking', 'a thought')
  t.match(sealed, /^[\w+/]{86}==$/)
  t.equal(seal('messages.thinking', 'a thought'), sealed)
  t.not(seal('messages.thinking', 'another'), sealed)
  t.ok(isSealed('messages.thinking', sealed))
  t.notOk(isSealed('generate.part', sealed))
})

t.test('nothing else is one', async t => {
  const sealed = seal('messages.thinking', 'a thought')
  const bytes = Buffer.from(sealed, 'base64')
  bytes[40] = (bytes[40] ?? 0) ^ 1
  for (const other of [
    '',
    'x',
    sealed.slice(4),
    bytes.toString('base64'),
    `${sealed.slice(0, -2)}AAAA`,
    'x'.repeat(1e6),
  ]) {
    t.notOk(isSealed('messages.thinking', other))
  }
})
