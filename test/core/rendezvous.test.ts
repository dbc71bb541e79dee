import { hash } from 'node:crypto'
import t from 'tap'
import { type Place, rendezvous } from '../../src/core/rendezvous.js'
import { fc } from '../helpers/property.js'

const digest = (text: string): Uint8Array => hash('sha256', text, 'buffer')
const place = (name: string, weight = 1, inFlight = 0): Place => ({ name, weight, inFlight })
const names = (places: readonly Place[]): readonly string[] => places.map(one => one.name)

const places = fc.uniqueArray(
  fc.record({ name: fc.string({ minLength: 1, maxLength: 8 }), weight: fc.integer({ min: 1, max: 9 }) }),
  { minLength: 2, maxLength: 8, selector: one => one.name },
)

t.test('without one place the others keep their order, wherever it was', async () => {
  fc.assert(
    fc.property(places, fc.string(), fc.nat(), (all, text, index) => {
      const full = all.map(one => ({ ...one, inFlight: 0 }))
      const gone = full[index % full.length]
      const before = names(rendezvous(digest(text), full)).filter(name => name !== gone?.name)
      const after = names(
        rendezvous(
          digest(text),
          full.filter(one => one !== gone),
        ),
      )
      return before.join('\0') === after.join('\0')
    }),
  )
})

t.test('the order in which places are written does not matter', async () => {
  fc.assert(
    fc.property(places, fc.string(), (all, text) => {
      const full = all.map(one => ({ ...one, inFlight: 0 }))
      return (
        names(rendezvous(digest(text), full)).join('\0') ===
        names(rendezvous(digest(text), full.toReversed())).join('\0')
      )
    }),
  )
})

t.test('places get requests in proportion to their weights', async t => {
  const all = [place('north/a', 1), place('north/b', 2), place('south/a', 3), place('south/b', 4)]
  const firsts = new Map<string, number>()
  for (let request = 0; request < 20_000; request++) {
    const first = names(rendezvous(digest(`${request}`), all))[0] ?? ''
    firsts.set(first, (firsts.get(first) ?? 0) + 1)
  }
  for (const { name, weight } of all) {
    const share = (firsts.get(name) ?? 0) / 20_000
    t.ok(Math.abs(share - weight / 10) < 0.012, `${name}: ${share} of ${weight / 10}`)
  }
})

t.test('a place with much more than its share comes after those that have room', async () => {
  const loaded = fc.array(fc.record({ weight: fc.integer({ min: 1, max: 4 }), inFlight: fc.nat(60) }), {
    minLength: 2,
    maxLength: 6,
  })
  fc.assert(
    fc.property(loaded, fc.string(), (all, text) => {
      const full = all.map((one, index) => ({ ...one, name: `${index}` }))
      const [weights, under] = [
        full.reduce((sum, one) => sum + one.weight, 0),
        full.reduce((sum, one) => sum + one.inFlight, 0),
      ]
      const isFull = (one: Place): boolean => {
        const share = ((under + 1) * one.weight) / weights
        return one.inFlight >= Math.max(4, 1.25 * share, share + 2 * Math.sqrt(share))
      }
      const order = rendezvous(digest(text), full).map(isFull)
      // Some place always has room: together they have more than what is under way.
      const room = order.filter(one => !one).length
      return room > 0 && order.every((one, index) => one === index >= room)
    }),
  )
})
