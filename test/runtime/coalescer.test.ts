import t from 'tap'
import { Coalescer } from '../../src/runtime/coalescer.js'

/** A task whose runs the test waits for one by one. */
function task(options: { quiet: number; atMost: number }): { coalescer: Coalescer; next(): Promise<number> } {
  let runs = 0
  let wake: ((runs: number) => void) | undefined
  const run = async (): Promise<void> => wake?.(++runs)
  return {
    coalescer: new Coalescer({ run, ...options }),
    next: () =>
      new Promise(resolve => {
        wake = resolve
      }),
  }
}

t.test('a burst of calls makes one run', async t => {
  const { coalescer, next } = task({ quiet: 5, atMost: 1000 })
  const ran = next()
  for (let i = 0; i < 100; i++) coalescer.call()
  t.equal(await ran, 1)
})

t.test('constant calls put the run off for a bounded time only', async t => {
  const { coalescer, next } = task({ quiet: 60_000, atMost: 50 })
  const ran = next()
  const calls = setInterval(() => coalescer.call(), 1)
  t.teardown(() => clearInterval(calls))
  t.equal(await ran, 1)
  coalescer.close()
})

t.test('a later call makes another run', async t => {
  const { coalescer, next } = task({ quiet: 0, atMost: 0 })
  for (const expected of [1, 2, 3]) {
    const ran = next()
    coalescer.call()
    t.equal(await ran, expected)
  }
})

t.test('close cancels waiting work', async t => {
  const { coalescer, next } = task({ quiet: 0, atMost: 0 })
  const cancelled = next()
  coalescer.call()
  coalescer.close()
  const other = task({ quiet: 0, atMost: 0 })
  const ran = other.next()
  other.coalescer.call()
  t.equal(await Promise.race([ran, cancelled.then(() => 'cancelled')]), 1)
})
