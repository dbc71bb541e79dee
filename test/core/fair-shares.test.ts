import t from 'tap'
import { FairShares } from '../../src/core/fair-shares.js'
import { fc } from '../helpers/property.js'

/** Takes for a key until nothing is given any more. */
function takeAll(shares: FairShares, key: string): number {
  let count = 0
  while (shares.take(key)) count++
  return count
}

t.test('one key takes nine tenths of what the others leave, and a key without any finds something', async t => {
  const shares = new FairShares(512)
  t.equal(takeAll(shares, 'a'), 461)
  t.equal(shares.room('a'), 0)
  t.equal(takeAll(shares, 'b'), 46)
  t.equal(takeAll(shares, 'c'), 5)
  t.equal(shares.taken, 512)
  shares.release('b')
  t.notOk(shares.take('a'))
  t.ok(shares.take('d'))
})

for (const [total, one] of [
  [1, 1],
  [2, 2],
  [9, 9],
  [10, 9],
  [72, 65],
  [10_000, 9000],
] as const)
  t.test(`of ${total} places one key takes ${one}`, async t => {
    t.equal(takeAll(new FairShares(total), 'a'), one)
  })

t.test('amounts are taken whole or not at all', async t => {
  const shares = new FairShares(1000)
  t.notOk(shares.take('a', 901))
  t.equal(shares.taken, 0)
  t.ok(shares.take('a', 900))
  t.equal(shares.room('b'), 90)
  shares.release('a', 900)
  t.equal(shares.taken, 0)
})

t.test('what cannot be refused is counted, and leaves less to all', async t => {
  const shares = new FairShares(100)
  shares.add('a', 150)
  t.equal(shares.room('a'), 0)
  t.equal(shares.room('b'), 0)
  t.notOk(shares.take('b'))
  shares.add('a', -150)
  t.equal(shares.room('b'), 90)
})

t.test('the total may change while places are held', async t => {
  const shares = new FairShares(100)
  t.equal(takeAll(shares, 'a'), 90)
  shares.total = 50
  t.notOk(shares.take('b'))
  t.equal(shares.room('b'), 0)
  shares.total = 200
  t.equal(takeAll(shares, 'a'), 90)
})

t.test('keys that hold nothing are forgotten, those that hold something never', async t => {
  const shares = new FairShares(10_000)
  shares.take('mine', 7)
  for (let at = 0; at < 100_000; at++) {
    shares.take(`key ${at}`)
    shares.release(`key ${at}`)
  }
  t.ok(shares.remembered <= 2048, `${shares.remembered} keys`)
  t.equal(shares.held('mine'), 7)
})

t.test('whatever is taken and released: never over the total, and something is left for a new key', async () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.boolean()), { maxLength: 300 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), steps, (total, taken) => {
      const shares = new FairShares(total)
      for (const [key, isRelease] of taken) {
        if (isRelease && shares.held(key) > 0) shares.release(key)
        else if (!isRelease) {
          const room = shares.room(key)
          if (shares.take(key) !== room > 0) throw new Error('room and take differ')
        }
        if (shares.taken > total) throw new Error('over the total')
        if (shares.taken < total && shares.room('new') === 0) throw new Error('nothing for a new key')
      }
    }),
  )
})
