import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { ALONE, MAX_MESSAGE_BYTES, topic } from '../../../src/core/peers.js'
import { Link } from '../../../src/runtime/workers/link.js'
import { Star } from '../../helpers/star.js'

const STATE = topic<{ readonly open: readonly string[] }>('test: state')
const COUNT = topic<{ readonly of: string }, number>('test: count')

t.test('what a worker tells reaches all others in order, and not itself', async t => {
  const { workers } = await Star.of(3)
  const heard: string[] = []
  for (const worker of workers)
    worker.on(STATE, ({ open }, from) => void heard.push(`${from}→${worker.number} ${open.join()}`))
  t.ok(workers[0]?.tell(STATE, { open: ['a'] }))
  t.ok(workers[0]?.tell(STATE, { open: ['b'] }))
  while (heard.length < 4) await turn()
  t.same(heard.sort(), ['1→2 a', '1→2 b', '1→3 a', '1→3 b'])
})

t.test('a question is answered by the others; who fails, hears nothing of it or hangs is left out', async t => {
  const { star, workers } = await Star.of(5)
  const [asking, second, third, , fifth] = workers
  second?.on(COUNT, ({ of }) => of.length)
  third?.on(COUNT, () => {
    throw new Error('cannot count')
  })
  fifth?.on(COUNT, () => 7)
  star.stuck.add(5)
  t.same(await asking?.ask(COUNT, { of: 'four' }, 50), [{ from: 2, answer: 4 }])
  star.stuck.delete(5)
  t.same(await star.hub.ask(COUNT, { of: 'abc' }), [
    { from: 2, answer: 3 },
    { from: 5, answer: 7 },
  ])
})

t.test('no one waits for a worker that is not ready yet, or has ended', async t => {
  const { star, workers } = await Star.of(2)
  workers[1]?.on(COUNT, () => 2)
  // A process that loads: it takes messages, and answers none.
  star.hub.join(3, new Link((_frame, sent) => sent()))
  const asked = workers[0]?.ask(COUNT, { of: '' }, 60_000)
  t.same(await asked, [{ from: 2, answer: 2 }])
  const waiting = workers[0]?.ask(COUNT, { of: '' }, 60_000)
  star.leave(2)
  t.same(await waiting, [])
})

t.test('the supervisor hears what is reported to it alone, and tells all', async t => {
  const { star, workers } = await Star.of(2)
  const heard: string[] = []
  star.hub.on(STATE, ({ open }, from) => void heard.push(`${from} ${open.join()}`))
  for (const worker of workers) worker.on(STATE, (_, from) => void heard.push(`${worker.number} of ${from}`))
  workers[1]?.report(STATE, { open: ['x'] })
  while (heard.length < 1) await turn()
  t.same(heard, ['2 x'])
  star.hub.tell(STATE, { open: [] })
  while (heard.length < 3) await turn()
  t.same(heard.slice(1), ['1 of 0', '2 of 0'])
})

t.test('the supervisor answers what it alone is asked, after what was reported to it before', async t => {
  const { star, workers } = await Star.of(2)
  const [asking, other] = workers
  let count = 0
  star.hub.on(STATE, ({ open }) => {
    count += open.length
  })
  star.hub.on(COUNT, ({ of }, from) => from * 100 + of.length + count)
  other?.on(COUNT, () => Number(t.fail('another worker is asked')))
  asking?.report(STATE, { open: ['a', 'b'] })
  t.equal(await asking?.consult(COUNT, { of: 'abc' }), 105)
  t.equal(await star.hub.consult(COUNT, { of: 'abc' }), 5)
  await t.rejects(asking?.consult(topic('test: unknown'), null) ?? Promise.resolve(), /nothing here hears/)
  await t.rejects(ALONE.consult(COUNT, { of: '' }), /there is no supervisor/)
})

t.test('messages, what waits to be sent, and open questions have bounds', async t => {
  const taken: (() => void)[] = []
  const link = new Link((_frame, sent) => void taken.push(sent))
  const bytes = topic<Uint8Array, void>('test: bytes')
  t.notOk(link.tell(bytes, new Uint8Array(MAX_MESSAGE_BYTES)), 'too large with its frame')
  const large = new Uint8Array(MAX_MESSAGE_BYTES - 100)
  let told = 0
  while (link.tell(bytes, large)) told++
  t.equal(told, 8)
  for (const sent of taken.splice(0)) sent()
  t.ok(link.tell(bytes, large), 'room again')
  await t.rejects(link.ask(bytes, new Uint8Array(MAX_MESSAGE_BYTES)), /cannot be asked/)
  const asked = Array.from({ length: 1024 }, () => link.ask(bytes, new Uint8Array(1), 60_000).catch(String))
  await t.rejects(link.ask(bytes, new Uint8Array(1)), /too many questions/)
  link.close()
  t.ok((await Promise.all(asked)).every(error => error === 'Error: the other process has ended'))
  t.notOk(link.tell(bytes, new Uint8Array(1)))
})
