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
