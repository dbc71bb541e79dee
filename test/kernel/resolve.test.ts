import t from 'tap'
import type { Choice, Exchange } from '../../src/core/plan.js'
import { order } from '../../src/kernel/resolve.js'

const exchange = (model: string): Exchange => ({ model }) as Exchange

const choice = (...groups: readonly (readonly [string, number][])[]): Choice => ({
  groups: groups.map(group => ({
    exchanges: group.map(([model]) => exchange(model)),
    weights: group.map(([, weight]) => weight),
  })),
})

/** A generator of numbers in [0, 1) that gives the same ones on every run. */
function seeded(): () => number {
  let state = 1
  return () => {
    state = (state * 48271) % 2147483647
    return state / 2147483647
  }
}

const names = (exchanges: readonly Exchange[]): string => exchanges.map(one => one.model).join('')

t.test('targets without weights keep the order in which they were written', async t => {
  t.equal(names(order(choice([['a', 1]], [['b', 1]], [['c', 1]]), seeded())), 'abc')
})

t.test('a single target costs no new list', async t => {
  const only = choice([['a', 1]])
  t.equal(order(only, seeded()), only.groups[0]?.exchanges)
})

t.test('within a group the first is drawn in proportion to the weights', async t => {
  const random = seeded()
  const weighted = choice([
    ['a', 3],
    ['b', 1],
  ])
  const draws = 8000
  let first = 0
  for (let draw = 0; draw < draws; draw++) if (names(order(weighted, random)) === 'ab') first++
  t.ok(Math.abs(first / draws - 0.75) < 0.02, `a came first in ${first} of ${draws} draws`)
})

t.test('every target of a group is kept as a fallback, before the next group', async t => {
  const random = seeded()
  const mixed = choice(
    [
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ],
    [['d', 1]],
  )
  for (let draw = 0; draw < 100; draw++) {
    const drawn = names(order(mixed, random))
    t.equal([...drawn].sort().join(''), 'abcd')
    t.equal(drawn.at(-1), 'd')
  }
})
