import t from 'tap'
import { LifeSigns } from '../../src/kernel/life-signs.js'

t.test('a side is asked every 20 s of silence, and given up after two pings in vain', async t => {
  const signs = new LifeSigns(1000)
  t.equal(signs.check(20_999), 'alive')
  t.equal(signs.check(21_000), 'ask')
  t.equal(signs.check(21_050), 'alive', 'asked once')
  t.equal(signs.check(41_000), 'ask')
  t.equal(signs.check(60_999), 'alive')
  t.equal(signs.check(61_000), 'dead')
  t.equal(signs.check(61_050), 'dead')
})

t.test('whatever is heard begins the time anew', async t => {
  const signs = new LifeSigns(0)
  t.equal(signs.check(20_000), 'ask')
  t.equal(signs.check(40_000), 'ask')
  signs.heard(59_000)
  t.equal(signs.check(78_999), 'alive')
  t.equal(signs.check(79_000), 'ask')
  t.equal(signs.check(99_000), 'ask')
  t.equal(signs.check(119_000), 'dead')
})

t.test('who cannot be asked is not given up, and is asked as soon as that can be', async t => {
  const signs = new LifeSigns(0)
  for (const now of [20_000, 40_000, 60_000, 600_000]) t.equal(signs.check(now, false), 'alive')
  t.equal(signs.check(600_050, true), 'ask')
  t.equal(signs.check(600_100, true), 'alive', 'it has its time to answer')
  t.equal(signs.check(620_050, true), 'ask')
  t.equal(signs.check(640_050, true), 'dead')
})
