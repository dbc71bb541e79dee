import t from 'tap'
import { Measure, NOTHING, percentile, slowerThan, sumOf, timesOf } from '../../../src/features/generations/measured.js'
import { Shares } from '../../../src/features/generations/shares.js'

t.test("each key's share is exact in the long run, and one of any twenty requests in a row is in 5 %", async t => {
  const shares = new Shares(0.05)
  for (const key of ['alice', 'bob']) {
    const taken = Array.from({ length: 2000 }, () => shares.takes(key))
    t.equal(taken.filter(Boolean).length, 100, key)
    const places = taken.flatMap((isTaken, at) => (isTaken ? [at] : []))
    for (const [at, place] of places.slice(1).entries()) t.ok(Math.abs(place - (places[at] ?? 0) - 20) <= 1)
  }
})

t.test('of keys with one request the share is in it, too', async t => {
  let drawn = 0
  const shares = new Shares(0.05, () => (drawn++ % 100) / 100)
  const taken = Array.from({ length: 1000 }, (_, at) => shares.takes(`key ${at}`))
  t.ok(Math.abs(taken.filter(Boolean).length - 50) <= 10)
})

t.test('very many keys take no more memory, and their share is right on the average', async t => {
  const shares = new Shares(0.1)
  let taken = 0
  for (let at = 0; at < 100_000; at++) if (shares.takes(`key ${at}`)) taken++
  t.ok(Math.abs(taken - 10_000) < 1000, `${taken}`)
})

t.test('what processes have counted is summed, and percentiles are exact to a fiftieth', async t => {
  const [one, other] = [new Measure(), new Measure()]
  for (let ms = 1; ms <= 1000; ms++) {
    const measure = ms % 2 === 0 ? one : other
    measure.began(ms)
    measure.ended(ms % 100 === 0)
  }
  const { fresh } = sumOf([
    { fresh: one.measured, stable: NOTHING },
    { fresh: other.measured, stable: NOTHING },
  ])
  t.match(fresh, { requests: 1000, failures: 10 })
  t.equal(timesOf(fresh), 1000)
  const p95 = percentile(fresh, 0.95) ?? 0
  t.ok(p95 >= 950 && p95 <= 950 * 1.03, `${p95}`)
  t.ok(Math.abs(slowerThan(fresh, 900) - 100) <= 40)
  t.equal(percentile(NOTHING, 0.95), undefined)
  const beyond = new Measure()
  beyond.began(1e12)
  t.equal(timesOf(beyond.measured), 1)
})
