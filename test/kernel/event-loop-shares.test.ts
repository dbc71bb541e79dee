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
  // Each turn accepts a connection, which takes 1 ms; a step takes 4 ms: 5 turns without a step follow a turn with one.
  for (let turn = 0; turn < 100; turn++) {
    clock.now++
    turns.accepted()
    await new Promise(resolve => setImmediate(resolve))
  }
  isOver = true
  t.ok(steps >= 15 && steps <= 18, `${steps} steps in 100 turns`)
})

t.test('requests begin at once, and wait for a turn each while connections are being accepted', async t => {
  const clock = steppedClock(t)
  const turns = new EventLoopShares()
  const begun: number[] = []
  const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  for (let one = 0; one < 3; one++) turns.arrive(() => begun.push(one))
  t.same(begun, [0, 1, 2], 'no connection was accepted')
  turns.accepted()
  turns.arrive(() => begun.push(3))
  t.same(begun, [0, 1, 2, 3], 'a client that connects alone does not wait')
  clock.now++
  for (let one = 4; one < 16; one++) turns.arrive(() => begun.push(one))
  t.equal(begun.length, 4, 'the turn is over')
  for (let last = begun.length; begun.length < 8; last = begun.length) {
    turns.accepted()
    await turn()
    clock.now += 10
    t.ok(begun.length - last <= 1, 'one in a turn')
  }
  for (let last = begun.length; begun.length < 16; last = begun.length) {
    await turn()
    t.ok(begun.length > last, 'no connection is accepted any more')
    clock.now++
  }
  t.same(begun, [...Array(16).keys()], 'in order')
  turns.arrive(() => begun.push(16))
  t.equal(begun.length, 17)
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
