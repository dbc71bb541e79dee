import t from 'tap'
import { copyWith } from '../../../src/core/keeper.js'
import type { Exchange } from '../../../src/core/plan.js'
import { fastest, leastInFlight, ORDERS, type View } from '../../../src/features/strategies/orders.js'
import { Targets } from '../../../src/features/strategies/target.js'
import { order } from '../../../src/kernel/resolve.js'
import { fc } from '../../helpers/property.js'
import { seeded } from '../../helpers/random.js'
import { choiceOf, exchangeOf, namesOf, requestOf } from './made.js'

/** Targets with what is known of them. */
const known = fc.array(
  fc.record({
    weight: fc.integer({ min: 1, max: 5 }),
    inFlight: fc.nat(6),
    milliseconds: fc.option(fc.integer({ min: 1, max: 5000 })),
    age: fc.nat(30_000),
  }),
  { minLength: 1, maxLength: 6 },
)

interface Known {
  readonly weight: number
  readonly inFlight: number
  readonly milliseconds: number | null
  readonly age: number
}

const NOW = 100_000

function viewOf(all: readonly Known[], by: 'fastest' | 'least_in_flight', random: () => number): View {
  const targets = new Targets()
  const exchanges = all.map((one, index) => {
    const exchange = exchangeOf(`${index}`)
    const target = targets.of(exchange)
    target.inFlight = one.inFlight
    if (one.milliseconds !== null) target.answered(one.milliseconds, false, NOW - one.age)
    return exchange
  })
  const weights = all.map(one => one.weight)
  const choice = choiceOf({ by }, exchanges, weights)
  return { choice, request: requestOf(), now: NOW, random, targetOf: one => targets.of(one), losses: () => new Map() }
}

const drawn = ({ choice, random }: View): readonly Exchange[] => order(choice, random)

t.test('every target is in the order once', async () => {
  fc.assert(
    fc.property(known, fc.integer(), (all, seed) => {
      for (const [by, rule] of Object.entries({ fastest, least_in_flight: leastInFlight })) {
        const view = viewOf(all, by as 'fastest', seeded(seed))
        const names = namesOf(rule(drawn(view), view))
        if (names.toSorted().join() !== all.map((_, index) => `${index}`).join()) return false
      }
      return true
    }),
  )
})

t.test('copies that are changed for one call have the place and the weight of their target', async t => {
  const busy = { milliseconds: null, age: 0 }
  const all = [
    { ...busy, weight: 1, inFlight: 1 },
    { ...busy, weight: 4, inFlight: 2 },
  ]
  const view = viewOf(all, 'least_in_flight', Math.random)
  const copies = view.choice.groups.flatMap(({ exchanges }) => exchanges.map(one => copyWith(one, {})))
  t.same(namesOf(leastInFlight(copies, view)), ['1', '0'])
  t.same(namesOf(ORDERS.lossless?.(copies.toReversed(), view) ?? []), ['0', '1'])
})

t.test('least_in_flight: no target comes before one with fewer attempts for its weight', async () => {
  fc.assert(
    fc.property(known, fc.integer(), (all, seed) => {
      const view = viewOf(all, 'least_in_flight', seeded(seed))
      const loads = namesOf(leastInFlight(drawn(view), view)).map(name => {
        const one = all[Number(name)]
        return one === undefined ? 0 : one.inFlight / one.weight
      })
      return loads.every((load, index) => index === 0 || load >= (loads[index - 1] ?? 0))
    }),
  )
})

t.test('least_in_flight: equal targets are asked first equally often, in proportion to their weights', async t => {
  const all = [3, 1].map(weight => ({ weight, inFlight: 0, milliseconds: null, age: 0 }))
  const view = viewOf(all, 'least_in_flight', seeded(7))
  let first = 0
  for (let call = 0; call < 4000; call++) if (namesOf(leastInFlight(drawn(view), view))[0] === '0') first++
  t.ok(Math.abs(first / 4000 - 0.75) < 0.03, `${first} of 4000`)
})

/** What the estimate is meant to be, from its definition: a single measurement fades by half in 6.93 s. */
function modelCost({ inFlight, milliseconds, age }: Known): number {
  const faded = milliseconds === null ? 0 : milliseconds * 0.5 ** (age / (10_000 * Math.LN2))
  return (faded < 0.001 && inFlight > 0 ? 1000 : faded) * (inFlight + 1)
}

t.test('fastest: the first is the better of two, and the others come by their cost', async () => {
  fc.assert(
    fc.property(known, fc.integer(), (all, seed) => {
      const view = viewOf(all, 'fastest', seeded(seed))
      const costs = namesOf(fastest(drawn(view), view)).map(name => modelCost(all[Number(name)] as Known))
      const [first = 0, ...others] = costs
      const isSorted = others.every((cost, index) => index === 0 || cost >= (others[index - 1] ?? 0) - 1e-6)
      return isSorted && (others.length === 0 || others.some(cost => cost >= first - 1e-6))
    }),
  )
})

t.test('fastest: the slowest of several is never asked first, each of the others is at times', async t => {
  const all = [100, 200, 300, 400].map(milliseconds => ({ weight: 1, inFlight: 0, milliseconds, age: 0 }))
  const view = viewOf(all, 'fastest', seeded(3))
  const firsts = Array.from({ length: 3000 }, () => namesOf(fastest(drawn(view), view))[0])
  const shares = all.map((_, index) => firsts.filter(name => name === `${index}`).length / 3000)
  // Of six pairs the fastest is in three, the second wins two, the third one.
  for (const [index, share] of [1 / 2, 1 / 3, 1 / 6, 0].entries()) {
    t.ok(Math.abs((shares[index] ?? 0) - share) < 0.03, `${index} is first in ${shares[index]}`)
  }
})

t.test('a failure makes a target twice as slow as it was, and no refusal looks fast', async t => {
  const target = new Targets().of(exchangeOf('a'))
  target.answered(800, false, 0)
  target.failed(1, false, 0)
  t.equal(target.time(false, 0), 1600)
  t.equal(target.time(true, 0), 0, 'streams are measured apart from whole answers')
  for (let call = 0; call < 100; call++) target.failed(1, false, 0)
  t.equal(target.time(false, 0), 60_000, 'and bounded')
})

t.test('what is given up tells only that it took at least so long', async t => {
  const target = new Targets().of(exchangeOf('a'))
  target.answered(500, true, 0)
  target.waited(20, true, 0)
  t.equal(target.time(true, 0), 500)
  target.waited(900, true, 0)
  t.equal(target.time(true, 0), 900)
})

t.test('targets of upstreams that are gone are forgotten; the others survive a reload', async t => {
  const targets = new Targets()
  for (const name of ['a', 'b']) targets.of(exchangeOf(name)).answered(300, false, 0)
  targets.keep(new Set(['b']))
  t.equal(targets.of(exchangeOf('a')).time(false, 0), 0)
  t.equal(targets.of(exchangeOf('b')).time(false, 0), 300)
})
