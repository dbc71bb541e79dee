import t from 'tap'
import { CanaryWatch, evidenceOf } from '../../../src/features/canaries/watch.js'
import { fc } from '../../helpers/property.js'
import { seeded } from '../../helpers/random.js'

const HOUR_MS = 3_600_000

/** Requests until the canary rests, or undefined after so many; `failures`: of both arms. */
function untilRest(
  random: () => number,
  { share, canary, others, requests }: { share: number; canary: number; others: number; requests: number },
): { readonly requests: number; readonly failures: number; readonly ofCanary: number } | undefined {
  const watch = new CanaryWatch(share)
  let failures = 0
  let ofCanary = 0
  for (let at = 1; at <= requests; at++) {
    const isCanary = random() < share
    const hasFailed = random() < (isCanary ? canary : others)
    if (hasFailed) failures++
    if (hasFailed && isCanary) ofCanary++
    if (watch.observe(isCanary, hasFailed, at, HOUR_MS)) return { requests: at, failures, ofCanary }
  }
  return undefined
}

t.test('by chance alone it rests less than once in a thousand failures, at every share and rate', async t => {
  const random = seeded(1)
  for (const share of [0.01, 0.1, 0.5, 0.9]) {
    for (const rate of [0.02, 0.5, 1]) {
      let [alarms, failures] = [0, 0]
      while (failures < 100_000) {
        const found = untilRest(random, { share, canary: rate, others: rate, requests: Math.ceil(20_000 / rate) })
        failures += found?.failures ?? 20_000
        if (found !== undefined) alarms++
      }
      console.log(`# MEASURED: share ${share}, both fail at ${rate}: ${alarms} false alarms in ${failures} failures`)
      t.ok(alarms <= failures / 1000, `share ${share}, rate ${rate}: ${alarms} alarms`)
    }
  }
})

t.test('one that fails more often rests after a few failures', async t => {
  const random = seeded(2)
  const cases = [
    { share: 0.1, canary: 1, others: 0, most: 8 },
    { share: 0.1, canary: 1, others: 0.02, most: 12 },
    { share: 0.1, canary: 0.3, others: 0.01, most: 20 },
    { share: 0.1, canary: 0.06, others: 0.02, most: 60 },
    { share: 0.5, canary: 0.5, others: 0.05, most: 40 },
    { share: 0.9, canary: 1, others: 0, most: 120 },
  ]
  for (const { most, ...rates } of cases) {
    const runs = Array.from({ length: 200 }, () => untilRest(random, { ...rates, requests: 100_000 }))
    const found = runs.map(run => run?.ofCanary ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b)
    const median = found[100] ?? Number.POSITIVE_INFINITY
    console.log(
      `# MEASURED: share ${rates.share}, fails at ${rates.canary}, others at ${rates.others}: rests after ${median} of its failures (at most ${found.at(-1)})`,
    )
    t.ok(median <= most, `${median} of at most ${most}`)
  }
})

t.test('one that begins to fail late rests as soon', async t => {
  const watch = new CanaryWatch(0.1)
  const random = seeded(3)
  for (let at = 0; at < 100_000; at++) watch.observe(random() < 0.1, random() < 0.01, at, HOUR_MS)
  t.notOk(watch.isResting)
  let failed = 0
  while (!watch.isResting && failed < 1000) {
    const isCanary = random() < 0.1
    if (isCanary) failed++
    watch.observe(isCanary, isCanary, 100_000, HOUR_MS)
  }
  t.ok(failed <= 12, `${failed} failures`)
})

t.test('the sum is the worst stretch that ends now, as Page has it', async () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.05, max: 0.9, noNaN: true }),
      fc.array(fc.record({ isCanary: fc.boolean(), hasFailed: fc.boolean() }), { maxLength: 400 }),
      (declared, outcomes) => {
        const watch = new CanaryWatch(declared)
        // The model: all evidence so far, and the best of all stretches up to now.
        let [share, seen] = [declared, 20]
        const evidence: number[] = []
        for (const { isCanary, hasFailed } of outcomes) {
          seen = Math.min(seen + 1, 1000)
          share += ((isCanary ? 1 : 0) - share) / seen
          if (hasFailed) evidence.push(evidenceOf(isCanary, share))
          let [sum, worst] = [0, 0]
          for (const one of evidence.toReversed()) {
            sum += one
            worst = Math.max(worst, sum)
          }
          const rests = watch.observe(isCanary, hasFailed, 0, HOUR_MS)
          if (rests !== (hasFailed && worst >= Math.log(1000) - 1e-9)) return false
          if (rests) return true
        }
        return true
      },
    ),
    { numRuns: 200 },
  )
})

t.test('it is tried again after its rest, and what happens meanwhile says nothing', async t => {
  const watch = new CanaryWatch(0.1)
  let at = 0
  while (!watch.observe(true, true, at, 1000)) at++
  t.equal(watch.standing.restsUntil, at + 1000)
  for (let n = 0; n < 50; n++) watch.observe(true, true, at, 1000)
  t.notOk(watch.wakes(at + 999))
  t.ok(watch.isResting)
  t.ok(watch.wakes(at + 1000))
  t.notOk(watch.wakes(at + 1000), 'once')
  t.same(watch.standing, {
    canary: { requests: 0, failures: 0 },
    others: { requests: 0, failures: 0 },
    restsUntil: undefined,
  })
})

t.test('what others have seen counts as what was seen here', async t => {
  const random = seeded(4)
  // Two processes, of which each tells the other after every so many outcomes of its own.
  for (const batch of [1, 10, 100]) {
    const both = [new CanaryWatch(0.2), new CanaryWatch(0.2)] as const
    const heard = () => ({ canary: { requests: 0, failures: 0 }, others: { requests: 0, failures: 0 } })
    const waiting = [heard(), heard()]
    let [failures, rests] = [0, false]
    for (let at = 0; !rests && at < 100_000; at++) {
      const here = at % 2
      const isCanary = random() < 0.2
      const hasFailed = isCanary && random() < 0.5
      if (hasFailed) failures++
      const counts = isCanary ? waiting[here]?.canary : waiting[here]?.others
      if (counts !== undefined) {
        counts.requests++
        if (hasFailed) counts.failures++
      }
      rests = both[here]?.observe(isCanary, hasFailed, at, HOUR_MS) === true
      const told = waiting[here]
      if (rests || told === undefined || told.canary.requests + told.others.requests < batch) continue
      waiting[here] = heard()
      rests = both[1 - here]?.hear(told, at, HOUR_MS) === true
    }
    t.ok(rests)
    console.log(`# MEASURED: two processes that tell each other of ${batch} outcomes: rests after ${failures} failures`)
    t.ok(failures <= 25 + batch / 5, `${failures} failures, in messages of ${batch}`)
  }
})

t.test('one that rests elsewhere rests here, as long', async t => {
  const watch = new CanaryWatch(0.1)
  watch.restUntil(1000)
  t.ok(watch.isResting)
  t.notOk(watch.isOurs)
  t.notOk(watch.hear({ canary: { requests: 90, failures: 90 }, others: { requests: 9, failures: 0 } }, 1, HOUR_MS))
  t.equal(watch.standing.restsUntil, 1000)
  t.ok(watch.wakes(1000))
})
