import t from 'tap'
import { SlotSet } from '../../src/kernel/slot-set.js'

t.test('visit calls with every item that is present, and with none that was deleted', async t => {
  const slots = new SlotSet<{ name: string }>()
  const first = slots.add({ name: 'first' })
  slots.add({ name: 'second' })
  const third = slots.add({ name: 'third' })
  slots.delete(first)
  t.strictSame(names(slots), ['second', 'third'])
  t.equal(slots.size, 2)
  slots.add({ name: 'fourth' })
  slots.delete(third)
  t.strictSame(names(slots).sort(), ['fourth', 'second'])
  t.equal(slots.size, 2)
})

t.test('slots are reused: there are never more than items that were present at once', async t => {
  const slots = new SlotSet<object>()
  const places = new Set<number>()
  for (let round = 0; round < 100; round++) {
    const taken = [slots.add({}), slots.add({})]
    for (const place of taken) {
      places.add(place)
      slots.delete(place)
    }
  }
  t.equal(places.size, 2)
  t.equal(slots.size, 0)
})

t.test('a visited item may delete itself and others, and add new ones', async t => {
  const slots = new SlotSet<{ leave: () => void }>()
  const visited: number[] = []
  for (let i = 0; i < 4; i++) {
    const place = slots.add({
      leave: () => {
        visited.push(i)
        slots.delete(place)
        if (i === 1) slots.delete(place + 1)
        if (i === 3) slots.add({ leave: () => undefined })
      },
    })
  }
  slots.visit(one => one.leave())
  t.strictSame(visited, [0, 1, 3])
  t.equal(slots.size, 1)
})

function names(slots: SlotSet<{ name: string }>): string[] {
  const all: string[] = []
  slots.visit(({ name }) => all.push(name))
  return all
}
