import t from 'tap'
import { GatewayError } from '../../src/core/errors.js'
import { Memory } from '../../src/kernel/memory.js'

const CAPACITY = 1600

/** Which of some reservations have been granted, by name. */
function watching(): { readonly granted: string[]; watch(name: string, room: Promise<void> | undefined): void } {
  const granted: string[] = []
  return {
    granted,
    watch: (name, room) => {
      if (room === undefined) granted.push(name)
      else
        room.then(
          () => granted.push(name),
          (cause: unknown) => granted.push(`${name}: ${(cause as GatewayError).details.limit}`),
        )
    },
  }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test('memory that fits is reserved at once, and released once', async t => {
  const memory = new Memory(CAPACITY)
  const lease = memory.lease('a')
  t.equal(lease.reserve(100), undefined)
  t.equal(lease.reserve(50), undefined)
  t.equal(memory.held, 150)
  lease.release()
  lease.release()
  t.equal(memory.held, 0)
  t.equal(lease.reserve(70), undefined, 'a lease may be used again')
  lease.end()
  t.throws(() => lease.reserve(70), { code: 'client_gone' }, 'and reserves nothing once its call has ended')
  t.equal(memory.held, 0)
})

t.test('F-B3 a request that can never fit is refused at once', async t => {
  const memory = new Memory(CAPACITY)
  t.throws(() => memory.lease('a').reserve(CAPACITY), { code: 'too_large', details: { limit: 'memory' } })
  t.equal(memory.held, 0)
  const lease = memory.lease('a')
  t.equal(lease.reserve(800), undefined)
  t.throws(() => lease.reserve(800), { code: 'too_large' }, 'also where it would wait for itself')
  lease.end()
})

t.test('F-B3 the waiting owner with the least memory is served first', async t => {
  const memory = new Memory(CAPACITY)
  const { granted, watch } = watching()
  const [held, more] = [memory.lease('greedy'), memory.lease('greedy')]
  watch('held', held.reserve(600))
  watch('more', more.reserve(600))
  watch('greedy', memory.lease('greedy').reserve(600))
  watch('modest', memory.lease('modest').reserve(600))
  await turn()
  t.same(granted, ['held', 'more'])
  held.release()
  await turn()
  t.same(granted, ['held', 'more', 'modest'])
  more.release()
  await turn()
  t.same(granted, ['held', 'more', 'modest', 'greedy'])
  t.equal(memory.waiting, 0)
})

t.test('small ones pass large ones that wait', async t => {
  const memory = new Memory(CAPACITY)
  const { granted, watch } = watching()
  const first = memory.lease('a')
  watch('first', first.reserve(1200))
  const large = memory.lease('b')
  watch('large', large.reserve(1200))
  for (const name of ['c', 'd', 'e', 'f']) watch(name, memory.lease(name).reserve(100))
  await turn()
  t.same(granted, ['first', 'c', 'd', 'e', 'f'], 'in the share that no large one may fill')
  watch('g', memory.lease('g').reserve(100))
  await turn()
  t.equal(memory.waiting, 2)
  first.release()
  await turn()
  t.ok(granted.includes('g'))
  large.end()
})

t.test('a caller that leaves stops waiting', async t => {
  const memory = new Memory(CAPACITY)
  const { watch } = watching()
  const first = memory.lease('a')
  watch('first', first.reserve(1200))
  const gone = memory.lease('b')
  const room = gone.reserve(1000)
  gone.end()
  await t.rejects(room ?? Promise.resolve(), { code: 'client_gone' })
  t.equal(memory.waiting, 0)
  t.equal(gone.bytes, 0)
  first.end()
  t.equal(memory.held, 0)
})

t.test('F-B3 the wait is bounded, and so is the number of waiting requests', async t => {
  const brief = new Memory(CAPACITY, { wait: 5 })
  brief.lease('a').reserve(1200)
  await t.rejects(brief.lease('b').reserve(1200) ?? Promise.resolve(), {
    code: 'unavailable',
    status: 503,
    details: { limit: 'memory', retryAfter: 1000 },
  })
  t.equal(brief.waiting, 0)
  const memory = new Memory(CAPACITY)
  memory.lease('a').reserve(1200)
  for (let count = 0; count < 1024; count++) void memory.lease('b').reserve(1200)
  t.equal(memory.waiting, 1024)
  t.throws(() => memory.lease('c').reserve(1200), GatewayError)
  memory.resize(CAPACITY * 2000)
  t.equal(memory.waiting, 0, 'a larger capacity serves them')
})
