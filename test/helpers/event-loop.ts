import { Socket } from 'node:net'
import type t from 'tap'

type Test = Pick<typeof t, 'teardown'>

/** Each look at the clock takes a millisecond, so that the machine does not matter. */
export function slowClock(test: Test): void {
  const real = performance.now
  let now = real.call(performance)
  performance.now = () => ++now
  test.teardown(() => {
    performance.now = real
  })
}

/** How much is counted between two turns of the event loop at most, until it is `all`. */
export async function mostAtOnce(counted: () => number, all: number): Promise<number> {
  let most = 0
  for (let last = counted(); last < all; last = counted()) {
    await new Promise(resolve => setImmediate(resolve))
    most = Math.max(most, counted() - last)
  }
  return most
}

/** What a job resolves with, and how many turns of the event loop passed meanwhile. */
export async function countTurns<T>(job: () => Promise<T>): Promise<{ readonly turns: number; readonly result: T }> {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    if (isOver) return
    turns++
    setImmediate(turn)
  }
  setImmediate(turn)
  try {
    const result = await job()
    return { turns, result }
  } finally {
    isOver = true
  }
}

/** The gateway's end of a client's or an upstream's connection; both are in this process. */
export function endOf(client: Socket): Socket | undefined {
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles()
  return handles.find(
    (one): one is Socket =>
      one instanceof Socket && one.remotePort === client.localPort && one.localPort === client.remotePort,
  )
}
