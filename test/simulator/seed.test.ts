import t from 'tap'
import { EPOCH_SECONDS, isStamped, Seed, stampedId } from '../../simulator/src/seed.js'

t.test('the same parts give the same seed, and forks of it their own', async t => {
  const one = new Seed('POST', '/path', Buffer.from('body'))
  const other = new Seed('POST', '/path', Buffer.from('body'))
  t.equal(one.hex(64), other.hex(64))
  t.equal(one.fork('id', 1).letters(24), other.fork('id', 1).letters(24))
  t.not(one.fork('id', 1).hex(64), one.fork('id', 2).hex(64))
})

t.test('where one part ends and the next begins makes a difference', async t => {
  t.not(new Seed('ab', 'c').hex(64), new Seed('a', 'bc').hex(64))
})

t.test('numbers, picks and times stay within their bounds', async t => {
  for (let index = 0; index < 200; index += 1) {
    const seed = new Seed(index)
    t.ok(seed.fraction() >= 0 && seed.fraction() < 1)
    t.ok([0, 1, 2].includes(seed.below(3)))
    t.ok(['a', 'b'].includes(seed.pick(['a', 'b'])))
    t.ok(seed.created() >= EPOCH_SECONDS && seed.created() < EPOCH_SECONDS + 31_536_000)
  }
})

t.test('a stamped id is known again, and no other is', async t => {
  const id = stampedId('resp_', new Seed('a request'))
  t.match(id, /^resp_[0-9a-f]{48}$/)
  t.ok(isStamped('resp_', id))
  for (const other of [
    '',
    'resp_',
    'resp_x',
    id.slice(0, -1),
    `${id}0`,
    id.replace('resp_', 'msg_'),
    `resp_${'0'.repeat(48)}`,
  ]) {
    t.notOk(isStamped('resp_', other), other)
  }
})
