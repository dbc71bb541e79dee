import t from 'tap'
import { Measure, type Measured, NOTHING } from '../../../src/features/generations/measured.js'
import { chanceOf, judge } from '../../../src/runtime/trial/judge.js'

const BACK_IF = { errors: 0.01, ttft: 0.2 }

function measured(requests: number, failures: number, times: readonly number[] = []): Measured {
  const measure = new Measure()
  for (let at = 0; at < requests; at++) measure.ended(at < failures)
  for (const time of times) measure.began(time)
  return measure.measured
}

const times = (count: number, of: (at: number) => number): readonly number[] =>
  Array.from({ length: count }, (_, at) => of(at))

t.test('the chance of so many failures is that of the binomial distribution', async t => {
  t.equal(chanceOf(0, 10, 0.5), 1)
  t.ok(Math.abs(chanceOf(10, 10, 0.5) - 1 / 1024) < 1e-12)
  t.ok(Math.abs(chanceOf(2, 3, 0.1) - 0.028) < 1e-9)
  t.ok(chanceOf(600, 100_000, 0.005) < 1e-5, 'large numbers do not underflow')
})

t.test('a new one that fails 5 % goes back before its time is over', async t => {
  const stable = measured(2000, 2)
  let at = 0
  for (let requests = 1; requests <= 1000 && at === 0; requests++) {
    const verdict = judge(BACK_IF, { fresh: measured(requests, Math.floor(requests / 20)), stable }, false)
    if (verdict !== undefined) {
      at = requests
      t.match(verdict, { back: /requests failed, 2 of 2000 of the others: more than \+1%/ })
    }
  }
  t.ok(at >= 20 && at <= 150, `after ${at} requests`)
})

t.test('one that fails always goes back after the fewest requests that count, and at the end with two', async t => {
  const stable = measured(400, 0)
  t.equal(judge(BACK_IF, { fresh: measured(19, 19), stable }, false), undefined)
  t.match(judge(BACK_IF, { fresh: measured(20, 20), stable }, false), { back: /20 of 20/ })
  t.match(judge(BACK_IF, { fresh: measured(2, 2), stable: NOTHING }, true), { back: /2 of 2/ })
})

t.test('one that fails as often as the other goes whole, also if both fail often', async t => {
  for (const [requests, failures] of [
    [100, 0],
    [100, 1],
    [300, 2],
  ] as const)
    t.equal(judge(BACK_IF, { fresh: measured(requests, failures), stable: measured(4000, 20) }, false), undefined)
  t.equal(judge(BACK_IF, { fresh: measured(100, 30), stable: measured(1000, 300) }, true), 'whole')
  t.equal(
    judge(BACK_IF, { fresh: NOTHING, stable: NOTHING }, true),
    'whole',
    'without requests nothing speaks against it',
  )
})

t.test('one that is slower at the 95th percentile goes back, and one that is as slow does not', async t => {
  const usual = times(1000, at => 100 + (at % 100))
  const stable = measured(1000, 0, usual)
  const slow = measured(
    100,
    0,
    times(100, at => (at % 100 < 85 ? 100 : 400)),
  )
  t.match(judge(BACK_IF, { fresh: slow, stable }, false), {
    back: /95th percentile, .* ms of the others: more than \+20%/,
  })
  t.equal(
    judge(
      BACK_IF,
      {
        fresh: measured(
          100,
          0,
          times(100, at => 100 + at),
        ),
        stable,
      },
      true,
    ),
    'whole',
  )
  t.equal(judge({ errors: 0.01 }, { fresh: slow, stable }, true), 'whole', 'what is not named is not compared')
})
