import type { Test } from 'tap'

/** Lets the gateway's clock run: a second with every turn of a short timer. */
export function fastClock(test: Pick<Test, 'teardown'>): void {
  const real = performance.now.bind(performance)
  let ahead = 0
  performance.now = () => real() + ahead
  const timer = setInterval(() => {
    ahead += 1000
  }, 5)
  test.teardown(() => {
    clearInterval(timer)
    performance.now = real
  })
}
