import t from 'tap'
import { Measure, type Measured, type MeasuredPair, NOTHING } from '../../../src/features/generations/measured.js'
import { chanceOf, judge, type Verdict } from '../../../src/runtime/trial/judge.js'
import { poissonTail, Windows } from '../../../src/runtime/trial/windows.js'
import { seeded } from '../../helpers/random.js'

const BACK_IF = { errors: 0.01, ttft: 0.2 }

function measured(requests: number, failures: number, times: readonly number[] = []): Measured {
  const measure = new Measure()
  for (let at = 0; at < requests; at++) measure.ended(at < failures)
  for (const time of times) measure.began(time)
  return measure.measured
}

const times = (count: number, of: (at: number) => number): readonly number[] =>
  Array.from({ length: count }, (_, at) => of(at))

/** All of it in one window. */
function judged(pair: MeasuredPair, isOver: boolean, backIf: Parameters<typeof judge>[0] = BACK_IF): Verdict {
  const windows = new Windows(backIf.errors ?? 0)
  windows.add(pair)
  return judge(backIf, pair, windows.chance, isOver)
}

t.test('the chance of so many failures is that of the binomial distribution', async t => {
  t.equal(chanceOf(0, 10, 0.5), 1)
  t.ok(Math.abs(chanceOf(10, 10, 0.5) - 1 / 1024) < 1e-12)
  t.ok(Math.abs(chanceOf(2, 3, 0.1) - 0.028) < 1e-9)
  t.ok(chanceOf(600, 100_000, 0.005) < 1e-5, 'large numbers do not underflow')
})

t.test('the chance of a Poisson variable is that of the distribution', async t => {
  t.equal(poissonTail(0, 3), 1)
  t.ok(Math.abs(poissonTail(1, 3) - (1 - Math.exp(-3))) < 1e-12)
  t.ok(Math.abs(poissonTail(9, 3.3) - 0.0069) < 1e-4)
  t.equal(poissonTail(1, 0), 0)
  t.ok(poissonTail(2200, 2000) < 1e-4, 'large numbers do not underflow')
  // The sum of all terms, as it is near where large means begin.
  const all = (least: number, mean: number): number => {
    let [term, fewer] = [-mean, 0]
    for (let count = 0; count < least; count++) {
      fewer += Math.exp(term)
      term += Math.log(mean / (count + 1))
    }
    return Math.max(0, 1 - fewer)
  }
  for (const mean of [0.01, 3, 144, 999, 1000, 1001, 5000, 40_000]) {
    for (const deviations of [-20, -3, -1, 0, 1, 2, 3, 5, 20]) {
      const least = Math.ceil(mean + deviations * Math.sqrt(mean))
      t.ok(Math.abs(poissonTail(least, mean) - all(least, mean)) < 1e-8, `${least} of ${mean}`)
    }
  }
})

t.test('what it takes to know a chance grows far less than the number of failures', async t => {
  const { exp } = Math
  let terms = 0
  t.teardown(() => {
    Math.exp = exp
  })
  Math.exp = value => {
    terms++
    return exp(value)
  }
  t.ok(poissonTail(5_000_000, 1_000_000) < 1e-12)
  t.ok(poissonTail(5_000_000, 3) < 1e-12)
  t.ok(Math.abs(poissonTail(1_000_000, 1_000_000) - 0.5) < 1e-3)
  t.ok(terms < 50_000, `${terms} terms`)
})

t.test('a new one that fails 5 % goes back before its time is over', async t => {
  const stable = measured(2000, 2)
  let at = 0
  for (let requests = 1; requests <= 1000 && at === 0; requests++) {
    const verdict = judged({ fresh: measured(requests, Math.floor(requests / 20)), stable }, false)
    if (verdict !== undefined) {
      at = requests
      t.match(verdict, { back: /requests failed, 2 of 2000 of the others: more than \+1%/ })
    }
  }
  t.ok(at >= 20 && at <= 150, `after ${at} requests`)
})

t.test('one that fails always goes back after the fewest requests that count, and at the end with two', async t => {
  const stable = measured(400, 0)
  t.equal(judged({ fresh: measured(19, 19), stable }, false), undefined)
  t.match(judged({ fresh: measured(20, 20), stable }, false), { back: /20 of 20/ })
  t.match(judged({ fresh: measured(2, 2), stable: NOTHING }, true), { back: /2 of 2/ })
})

t.test('one that fails as often as the other goes whole, also if both fail often', async t => {
  for (const [requests, failures] of [
    [100, 0],
    [100, 1],
    [300, 2],
  ] as const)
    t.equal(judged({ fresh: measured(requests, failures), stable: measured(4000, 20) }, false), undefined)
  t.equal(judged({ fresh: measured(100, 30), stable: measured(1000, 300) }, true), 'whole')
  t.equal(judged({ fresh: NOTHING, stable: NOTHING }, true), 'whole', 'without requests nothing speaks against it')
})

t.test('one that is slower at the 95th percentile goes back, and one that is as slow does not', async t => {
  const usual = times(1000, at => 100 + (at % 100))
  const stable = measured(1000, 0, usual)
  const slow = measured(
    100,
    0,
    times(100, at => (at % 100 < 85 ? 100 : 400)),
  )
  t.match(judged({ fresh: slow, stable }, false), {
    back: /95th percentile, .* ms of the others: more than \+20%/,
  })
  t.equal(
    judged(
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
  t.equal(judged({ fresh: slow, stable }, true, { errors: 0.01 }), 'whole', 'what is not named is not compared')
})

interface Traffic {
  /** Of the requests, that the new one gets. */
  readonly share: number
  /** So much more of its requests fail, also beside outages. */
  readonly worse: number
}

const LOOKS = 240
const REQUESTS_PER_LOOK = 30

/** Two minutes with outages of what both ask: from half of a look to ten looks long, total or in part. Both fail alike in them. */
function tried(random: () => number, { share, worse }: Traffic): Verdict {
  const [counts, windows] = [{ fresh: { ...NOTHING }, stable: { ...NOTHING } }, new Windows(0.01)]
  let left = 0
  let failing = 0
  for (let look = 1; look <= LOOKS; look++) {
    for (let at = 0; at < REQUESTS_PER_LOOK; at++) {
      if (left-- <= 0) {
        failing = failing > 0 || random() < 0.97 ? 0 : random() < 0.5 ? 1 : random()
        left = REQUESTS_PER_LOOK * (failing > 0 ? 0.5 + 10 * random() : 1)
      }
      const isFresh = random() < share
      const part = isFresh ? 'fresh' : 'stable'
      const { requests, failures, times } = counts[part]
      const hasFailed = random() < failing || (isFresh && random() < worse)
      counts[part] = { requests: requests + 1, failures: failures + (hasFailed ? 1 : 0), times }
    }
    windows.add(counts)
    const verdict = judge({ errors: 0.01 }, counts, windows.chance, look === LOOKS)
    if (verdict !== undefined) return verdict
  }
  return undefined
}

t.test('outages of what both ask take no one back, and hide no one that fails 5 % more', async t => {
  for (const share of [0.05, 0.3, 0.5]) {
    const [wrong, missed] = [{ back: 0 }, { whole: 0 }]
    for (let seed = 0; seed < 200; seed++) {
      if (tried(seeded(seed), { share, worse: 0 }) !== 'whole') wrong.back++
      if (tried(seeded(seed), { share, worse: 0.05 }) === 'whole') missed.whole++
    }
    t.comment(`share ${share}: ${JSON.stringify({ ...wrong, ...missed })}`)
    t.ok(wrong.back <= 5, `share ${share}: ${wrong.back} of 200 went back without a reason`)
    t.ok(missed.whole <= 10, `share ${share}: ${missed.whole} of 200 that fail 5 % more went whole`)
  }
})
