import t from 'tap'
import { Roster } from '../../src/kernel/roster.js'

t.test('everybody who is present is visited, and nobody who has left', async t => {
  const roster = new Roster<{ name: string }>()
  const first = roster.add({ name: 'first' })
  roster.add({ name: 'second' })
  const third = roster.add({ name: 'third' })
  roster.delete(first)
  t.strictSame(names(roster), ['second', 'third'])
  t.equal(roster.size, 2)
  roster.add({ name: 'fourth' })
  roster.delete(third)
  t.strictSame(names(roster).sort(), ['fourth', 'second'])
  t.equal(roster.size, 2)
})

t.test('places are used again: no more of them than were ever taken at once', async t => {
  const roster = new Roster<object>()
  const places = new Set<number>()
  for (let round = 0; round < 100; round++) {
    const taken = [roster.add({}), roster.add({})]
    for (const place of taken) {
      places.add(place)
      roster.delete(place)
    }
  }
  t.equal(places.size, 2)
  t.equal(roster.size, 0)
})

t.test('whoever is visited may leave, and make others leave, and come', async t => {
  const roster = new Roster<{ leave: () => void }>()
  const visited: number[] = []
  for (let i = 0; i < 4; i++) {
    const place = roster.add({
      leave: () => {
        visited.push(i)
        roster.delete(place)
        if (i === 1) roster.delete(place + 1)
        if (i === 3) roster.add({ leave: () => undefined })
      },
    })
  }
  roster.visit(one => one.leave())
  t.strictSame(visited, [0, 1, 3])
  t.equal(roster.size, 1)
})

function names(roster: Roster<{ name: string }>): string[] {
  const all: string[] = []
  roster.visit(({ name }) => all.push(name))
  return all
}
