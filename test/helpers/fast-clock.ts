import type { Test } from 'tap'

/** Lets a clock of the gateway run, or the time of day (`Date`): a second with every turn of a short timer. */
export function fastClock(test: Pick<Test, 'teardown'>, clock: { now(): number } = performance): void {
  const real = clock.now.bind(clock)
  let ahead = 0
  clock.now = () => real() + ahead
  const timer = setInterval(() => {
    ahead += 1000
  }, 5)
  test.teardown(() => {
    clearInterval(timer)
    clock.now = real
  })
}
