import t from 'tap'
import { Keepalive } from '../../src/kernel/keepalive.js'

t.test('a silent side gets a ping every 20 s, and is dead after two unanswered ones', async t => {
  const keepalive = new Keepalive(1000)
  t.equal(keepalive.check(20_999), 'alive')
  t.equal(keepalive.check(21_000), 'ping')
  t.equal(keepalive.check(21_050), 'alive', 'asked once')
  t.equal(keepalive.check(41_000), 'ping')
  t.equal(keepalive.check(60_999), 'alive')
  t.equal(keepalive.check(61_000), 'dead')
  t.equal(keepalive.check(61_050), 'dead')
})

t.test('any received bytes restart the interval', async t => {
  const keepalive = new Keepalive(0)
  t.equal(keepalive.check(20_000), 'ping')
  t.equal(keepalive.check(40_000), 'ping')
  keepalive.received(59_000)
  t.equal(keepalive.check(78_999), 'alive')
  t.equal(keepalive.check(79_000), 'ping')
  t.equal(keepalive.check(99_000), 'ping')
  t.equal(keepalive.check(119_000), 'dead')
})

t.test('a side that cannot be pinged is not dead, and gets its ping as soon as possible', async t => {
  const keepalive = new Keepalive(0)
  for (const now of [20_000, 40_000, 60_000, 600_000]) t.equal(keepalive.check(now, false), 'alive')
  t.equal(keepalive.check(600_050, true), 'ping')
  t.equal(keepalive.check(600_100, true), 'alive', 'it has its time to answer')
  t.equal(keepalive.check(620_050, true), 'ping')
  t.equal(keepalive.check(640_050, true), 'dead')
})

t.test('a side with much to read gets time for it before the ping counts', async t => {
  const keepalive = new Keepalive(0)
  t.equal(keepalive.check(20_000, true, 4_000_000), 'ping')
  t.equal(keepalive.check(40_000, true, 4_000_000), 'ping')
  t.equal(keepalive.check(60_000, true, 4_000_000), 'alive')
  t.equal(keepalive.check(1_059_999, true, 4_000_000), 'alive', 'at 4 bytes a millisecond')
  t.equal(keepalive.check(1_060_000, true, 4_000_000), 'dead')
  keepalive.received(1_060_001, 4_000_000)
  for (const now of [1_080_001, 1_100_001]) t.equal(keepalive.check(now, true, 4_000_000), 'ping')
  t.equal(keepalive.check(1_120_001, true, 4_000_000), 'dead', 'what it has read counts no more')
})

t.test('a side that cannot be heard for a while is not dead, and the bytes sent to it still count', async t => {
  const keepalive = new Keepalive(0)
  keepalive.wait(50_000)
  for (const now of [70_000, 90_000]) t.equal(keepalive.check(now, true, 40_000), 'ping')
  t.equal(keepalive.check(119_999, true, 40_000), 'alive')
  t.equal(keepalive.check(120_000, true, 40_000), 'dead')
})
