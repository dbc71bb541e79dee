import type { Test } from 'tap'

/** Lets a clock of the gateway run, or the time of day (`Date`): a second with every turn of a short timer. */
export function fastClock(test: Pick<Test, 'teardown'>, clock: { now(): number } = performance): void {
  let ahead = 0
  const timer = setInterval(() => {
    ahead += 1000
  }, 5)
  test.teardown(() => clearInterval(timer))
  clockAhead(test, clock, () => ahead)
}

/** A clock that goes before the real one by as many milliseconds as `ahead` tells. */
export function clockAhead(test: Pick<Test, 'teardown'>, clock: { now(): number }, ahead: () => number): void {
  const real = clock.now.bind(clock)
  clock.now = () => real() + ahead()
  test.teardown(() => {
    clock.now = real
  })
}
