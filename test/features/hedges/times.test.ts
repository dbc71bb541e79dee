import t from 'tap'
import { Times } from '../../../src/features/hedges/times.js'
import { seeded } from '../../helpers/random.js'

const P95 = 0.95

t.test('twenty times are needed', async t => {
  const times = new Times()
  for (let one = 0; one < 19; one++) times.add(100)
  t.equal(times.within(P95), undefined)
  times.add(100)
  t.ok(isNear(times.within(P95), 100))
})

t.test('the estimate is the exact share of the times, to a twelfth of a doubling', async t => {
  for (let seed = 0; seed < 50; seed++) {
    const random = seeded(seed)
    const times = new Times()
    const all = Array.from({ length: 20 + Math.floor(random() * 350) }, () => Math.exp(random() * 9) + 1)
    for (const one of all) times.add(one)
    const exact = all.toSorted((one, other) => one - other)[Math.ceil(P95 * all.length) - 1] ?? 0
    t.ok(isNear(times.within(P95), exact), `seed ${seed}: ${times.within(P95)} beside ${exact}`)
  }
})

t.test('later times count more: what was slow once is forgotten', async t => {
  const times = new Times()
  for (let one = 0; one < 1000; one++) times.add(5000)
  for (let one = 0; one < 2000; one++) times.add(50)
  t.ok(isNear(times.within(P95), 50))
})

t.test('times of nothing and of days have a class, too', async t => {
  const times = new Times()
  for (let one = 0; one < 10; one++) times.add(0)
  for (let one = 0; one < 10; one++) times.add(1e12)
  t.equal(times.within(0.5), 1)
  t.ok((times.within(P95) ?? 0) > 3_600_000)
})

/** At most one class too long, never too short. */
function isNear(found: number | undefined, exact: number): boolean {
  return found !== undefined && found >= exact * 0.999 && found <= exact * 1.0596
}
