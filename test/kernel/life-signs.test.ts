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

t.test('who was sent much has time to read it before a ping', async t => {
  const signs = new LifeSigns(0)
  t.equal(signs.check(20_000, true, 4_000_000), 'ask')
  t.equal(signs.check(40_000, true, 4_000_000), 'ask')
  t.equal(signs.check(60_000, true, 4_000_000), 'alive')
  t.equal(signs.check(1_059_999, true, 4_000_000), 'alive', 'at 4 bytes a millisecond')
  t.equal(signs.check(1_060_000, true, 4_000_000), 'dead')
  signs.heard(1_060_001, 4_000_000)
  for (const now of [1_080_001, 1_100_001]) t.equal(signs.check(now, true, 4_000_000), 'ask')
  t.equal(signs.check(1_120_001, true, 4_000_000), 'dead', 'what it has read counts no more')
})

t.test('who cannot be heard for a while is not given up, nor is what it was sent forgotten', async t => {
  const signs = new LifeSigns(0)
  signs.wait(50_000)
  for (const now of [70_000, 90_000]) t.equal(signs.check(now, true, 40_000), 'ask')
  t.equal(signs.check(119_999, true, 40_000), 'alive')
  t.equal(signs.check(120_000, true, 40_000), 'dead')
})
