import t from 'tap'
import { NOTHING_SHED, Shedding } from '../../../src/features/overload/shedding.js'

const BOUNDS = { loop_delay: 100, memory: 0.95 }

/** What is shed after looks that found these: milliseconds of lateness, and shares of the memory. */
function after(...looks: readonly (readonly [lateMs: number, memory: number])[]): Shedding {
  const shedding = new Shedding(BOUNDS)
  for (const [lateMs, memory] of looks) shedding.look({ lateMs, memory })
  return shedding
}

function always(lateMs: number, memory: number): Shedding {
  return after([lateMs, memory], [lateMs, memory], [lateMs, memory])
}

t.test('the later the loop, the more is shed, low priority first', async t => {
  t.equal(always(100, 0.5).shed, NOTHING_SHED, 'at the bound nothing is')
  t.same(always(150, 0.5).shed, { low: 0.5, normal: 0, high: 0 })
  t.same(always(200, 0.5).shed, { low: 1, normal: 0, high: 0 })
  t.same(always(300, 0.5).shed, { low: 1, normal: 0.5, high: 0 })
  t.same(always(600, 0.5).shed, { low: 1, normal: 1, high: 0.5 })
  t.same(always(60_000, 0.5).shed, { low: 1, normal: 1, high: 1 })
})

t.test('F-P8: short memory sheds all of a priority, and idle connections', async t => {
  t.equal(always(0, 0.919).shed, NOTHING_SHED)
  t.equal(always(0, 0.919).isTight, false)
  t.same(always(0, 0.93).shed, { low: 1, normal: 0, high: 0 })
  t.equal(always(0, 0.93).isTight, true)
  t.same(always(0, 0.95).shed, { low: 1, normal: 1, high: 0 })
  t.same(always(0, 0.98).shed, { low: 1, normal: 1, high: 1 })
})

t.test('one pause, however long, sheds nothing; what has passed is forgotten', async t => {
  t.equal(after([0, 0.1], [60_000, 0.99], [0, 0.1]).shed, NOTHING_SHED)
  t.equal(after([500, 0.1], [500, 0.1]).shed, NOTHING_SHED, 'two looks are too few')
  t.not(after([500, 0.1], [500, 0.1], [500, 0.1]).shed, NOTHING_SHED)
  t.equal(after([500, 0.1], [500, 0.1], [500, 0.1], [0, 0.1]).shed, NOTHING_SHED)
})
