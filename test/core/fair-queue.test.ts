import t from 'tap'
import { FairQueue } from '../../src/core/fair-queue.js'
import { fc } from '../helpers/property.js'

interface Stage {
  readonly queue: FairQueue<string>
  readonly granted: string[]
  /** Takes a place or waits for one; the first letter is the key. */
  readonly enter: (name: string) => 'taken' | 'waiting' | 'full'
}

function stage(places: number, queue = 100): Stage {
  const granted: string[] = []
  const line = new FairQueue<string>(places, queue, name => granted.push(name))
  const enter: Stage['enter'] = name => {
    const key = name.slice(0, 1)
    if (line.take(key)) return 'taken'
    return line.wait(key, name) ? 'waiting' : 'full'
  }
  return { queue: line, granted, enter }
}

t.test('a key without any comes first, however long others have waited', async t => {
  const { queue, granted, enter } = stage(2)
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) enter(name)
  queue.release('a')
  t.same(granted, ['b1'])
  queue.release('a')
  t.same(granted, ['b1', 'a3'])
})

t.test('keys that hold equally many take turns, each in the order of its own requests', async t => {
  const { queue, granted, enter } = stage(1)
  t.equal(enter('a1'), 'taken')
  for (const name of ['a2', 'a3', 'a4', 'b1', 'b2', 'c1']) t.equal(enter(name), 'waiting')
  queue.release('a')
  for (let last = 0; last < 5; last++) queue.release(granted.at(-1)?.slice(0, 1) ?? '')
  t.same(granted, ['b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
})

t.test('one key fills neither the places nor the queue', async t => {
  const { enter } = stage(20, 10)
  const entered = Array.from({ length: 40 }, (_, at) => enter(`a${at}`))
  t.equal(entered.filter(how => how === 'taken').length, 18)
  t.equal(entered.filter(how => how === 'waiting').length, 9)
  t.equal(enter('b'), 'taken')
  t.equal(enter('c'), 'taken')
  t.equal(enter('d'), 'waiting')
  t.equal(enter('e'), 'full')
})

t.test('a key with requests that wait does not pass them by', async t => {
  const { queue, granted, enter } = stage(10)
  for (let at = 0; at < 9; at++) enter(`a${at}`)
  t.equal(enter('a9'), 'waiting')
  t.equal(enter('b1'), 'taken')
  queue.release('b')
  t.same(granted, [], 'the last place is not for this key')
  t.equal(enter('a10'), 'waiting')
  queue.release('a')
  t.same(granted, ['a9'])
})

t.test('who gives up waiting is granted nothing and makes room in the queue', async t => {
  const { queue, granted, enter } = stage(1, 1)
  enter('a1')
  t.equal(enter('a2'), 'waiting')
  t.equal(enter('b1'), 'full')
  queue.withdraw('a', name => name === 'a2')
  queue.withdraw('a', name => name === 'never there')
  t.equal(enter('b1'), 'waiting')
  queue.release('a')
  t.same(granted, ['b1'])
})

t.test('places that are released as soon as they are granted go round without a stack of calls', async t => {
  let granted = 0
  const queue = new FairQueue<string>(1, 100_000, key => {
    granted++
    queue.release(key)
  })
  queue.take('a')
  for (let at = 0; at < 50_000; at++) queue.wait('a', 'a')
  queue.release('a')
  t.equal(granted, 50_000)
})

t.test(
  'whatever happens: no place is lost, none is given twice, and no one waits for a place that is free',
  async () => {
    const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), does: fc.constantFrom('enter', 'release', 'leave') })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.array(step, { maxLength: 300 }), (places, steps) => {
        const { queue, granted, enter } = stage(places)
        const held: string[] = []
        let waiting: string[] = []
        for (const [at, { key, does }] of steps.entries()) {
          const name = `${key}${at}`
          const how = does === 'enter' ? enter(name) : undefined
          if (how === 'taken') held.push(key)
          else if (how === 'waiting') waiting.push(name)
          if (does === 'release' && held.includes(key)) {
            held.splice(held.indexOf(key), 1)
            queue.release(key)
          }
          const first = waiting.find(one => one.startsWith(key))
          if (does === 'leave' && first !== undefined) {
            queue.withdraw(key, one => one === first)
            waiting = waiting.filter(one => one !== first)
          }
          for (const one of granted.splice(0)) {
            if (!waiting.includes(one)) throw new Error(`${one} did not wait`)
            waiting = waiting.filter(other => other !== one)
            held.push(one.slice(0, 1))
          }
          if (held.length > places) throw new Error('more than there are')
          for (const one of ['a', 'b', 'c']) {
            const own = held.filter(other => other === one).length
            const most = Math.ceil((places - held.length + own) * 0.9)
            if (own < most && waiting.some(other => other.startsWith(one)))
              throw new Error(`${one} waits for a free one`)
          }
        }
      }),
    )
  },
)
