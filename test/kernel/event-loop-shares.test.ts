import t from 'tap'
import { EventLoopShares, type Worker } from '../../src/kernel/event-loop-shares.js'

const KIB = 1024

/** Works for a millisecond a step. */
class Slow implements Worker {
  isWaiting = false
  done = 0
  constructor(
    private readonly turns: EventLoopShares,
    private readonly steps: number,
    private readonly log: Slow[],
  ) {}

  work(): void {
    while (this.done < this.steps && this.turns.tryRun(this, 64 * KIB)) this.step()
  }

  turn(): void {
    this.step()
    this.work()
  }

  private step(): void {
    const end = performance.now() + 1
    while (performance.now() < end);
    this.done++
    this.log.push(this)
  }
}

t.test('little is worked on at once', t => {
  const turns = new EventLoopShares()
  const worker = { isWaiting: false, turn: () => t.fail('does not wait') }
  for (let count = 0; count < 16; count++) t.ok(turns.tryRun(worker, 4 * KIB))
  t.end()
})

t.test('after the time of a turn other work runs, and waiting workers continue in order', async t => {
  const turns = new EventLoopShares()
  const log: Slow[] = []
  const workers = [1, 2, 3].map(() => new Slow(turns, 10, log))
  for (const worker of workers) worker.work()
  let most = 0
  for (let last = 0; log.length < 30; last = log.length) {
    most = Math.max(most, log.length - last)
    await new Promise(resolve => setImmediate(resolve))
  }
  // The first step of each turn is free, and a step may begin just before its end.
  t.ok(most <= 6, `${most} steps of a millisecond in one turn`)
  t.ok(workers.every(({ done }) => done === 10))
  const waited = log.slice(most)
  for (const worker of workers) t.ok(waited.slice(0, 8).includes(worker), 'each has its turn')
})

t.test('a turn that accepted a connection is short: one step, because more connections may be waiting', async t => {
  const turns = new EventLoopShares()
  const log: Slow[] = []
  const workers = [1, 2, 3].map(() => new Slow(turns, 10, log))
  for (const worker of workers) worker.work()
  for (let last = log.length; log.length < 30; last = log.length) {
    turns.accepted()
    await new Promise(resolve => setImmediate(resolve))
    t.ok(log.length - last <= 1, 'each step takes longer than such a turn')
  }
})

t.test('what sockets begin waits behind nothing, then for the time of a turn, then for a turn each', async t => {
  const turns = new EventLoopShares()
  const begun: number[] = []
  for (let one = 0; one < 8; one++) turns.begin(() => begun.push(one))
  t.equal(begun.length, 8, 'what comes alone begins at once')
  new Slow(turns, 10, []).work()
  const before = begun.length
  for (let one = 8; one < 16; one++) turns.begin(() => begun.push(one))
  t.equal(begun.length, before, 'an answer has used up the time')
  for (let last = before; begun.length < 16; last = begun.length) {
    await new Promise(resolve => setImmediate(resolve))
    t.ok(begun.length - last <= 1)
  }
  t.same(begun, [...Array(16).keys()], 'in order')
})

t.test('while connections are accepted, answers and beginnings get half of the time', async t => {
  const clock = steppedClock(t)
  const turns = new EventLoopShares()
  let steps = 0
  let isOver = false
  const worker: Worker = {
    isWaiting: false,
    turn: () => {
      steps++
      clock.now += 4
      if (!isOver) turns.tryRun(worker, 64 * KIB)
    },
  }
  turns.tryRun(worker, 65 * KIB)
  clock.now += 4
  turns.tryRun(worker, 64 * KIB)
  turns.accepted()
  await new Promise(resolve => setImmediate(resolve))
  steps = 0
  // Each turn accepts a connection, which takes 1 ms; a step takes 4 ms.
  for (let turn = 0; turn < 100; turn++) {
    clock.now++
    turns.accepted()
    await new Promise(resolve => setImmediate(resolve))
  }
  isOver = true
  t.ok(steps >= 20 && steps <= 26, `${steps} steps in 100 turns`)
})

function steppedClock(test: Pick<typeof t, 'teardown'>): { now: number } {
  const real = performance.now
  const clock = { now: 1 }
  performance.now = () => clock.now
  test.teardown(() => {
    performance.now = real
  })
  return clock
}
