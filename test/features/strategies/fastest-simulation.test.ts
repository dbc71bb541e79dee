import t from 'tap'
import { fastest, leastInFlight } from '../../../src/features/strategies/orders.js'
import { seeded } from '../../helpers/random.js'
import { choiceOf, exchangeOf } from './made.js'
import { percentile, type SimulatedUpstream, simulate } from './simulation.js'

const MINUTES = 100
const MINUTE_MS = 60_000

/**
 * Ten upstreams for 100 minutes: 1,000 upstream-minutes. Three are slower, one has few places, one is slow for ten minutes, one
 * hangs for five.
 */
const UPSTREAMS: readonly SimulatedUpstream[] = Array.from({ length: 10 }, (_, index) => ({
  name: `u${index}`,
  places: index === 5 ? 4 : 40,
  mean: now => {
    const minute = now / MINUTE_MS
    if (index === 7 && minute >= 60 && minute < 65) return Number.POSITIVE_INFINITY
    if (index === 6 && minute >= 30 && minute < 40) return 2500
    return index < 3 ? 700 : 250
  },
}))

t.test('1,000 upstream-minutes: fastest has a shorter p95 than a random choice, and no herd', async t => {
  const exchanges = UPSTREAMS.map(({ name }) => exchangeOf(name))
  const load = { minutes: MINUTES, perSecond: 20 }
  const runs = {
    random: simulate(UPSTREAMS, choiceOf({ by: 'weighted' }, exchanges), undefined, { ...load, random: seeded(1) }),
    least_in_flight: simulate(UPSTREAMS, choiceOf({ by: 'least_in_flight' }, exchanges), leastInFlight, {
      ...load,
      random: seeded(1),
    }),
    fastest: simulate(UPSTREAMS, choiceOf({ by: 'fastest' }, exchanges), fastest, { ...load, random: seeded(1) }),
  }
  for (const [name, requests] of Object.entries(runs)) {
    const shares = UPSTREAMS.map(one => requests.filter(({ first }) => first === one.name).length / requests.length)
    const sick = requests.filter(
      ({ at, first }) =>
        (first === 'u7' && at >= 60 * MINUTE_MS && at < 65 * MINUTE_MS) ||
        (first === 'u6' && at >= 30 * MINUTE_MS && at < 40 * MINUTE_MS),
    ).length
    const spread = shares.map(share => `${Math.round(share * 100)}`).join(' ')
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map(share => Math.round(percentile(requests, share)))
    console.log(
      `# MEASURED: ${name}: ${requests.length} requests, p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms, shares in % ${spread}, ${sick} to sick targets`,
    )
  }
  const p95 = (name: keyof typeof runs): number => percentile(runs[name], 0.95)
  t.ok(p95('fastest') < 0.7 * p95('random'), `p95 is ${(p95('fastest') / p95('random')).toFixed(2)} of random`)
  const healthy = UPSTREAMS.slice(8).map(
    ({ name }) => runs.fastest.filter(({ first }) => first === name).length / runs.fastest.length,
  )
  t.ok(
    healthy.every(share => share < 0.25),
    'two random choices: no target gets more than a quarter',
  )
})
