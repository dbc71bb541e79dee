/**
 * Steps of a time-out. A step counts once however late its timer is: a process that was busy or stopped may not have
 * sent its request yet, or not have read the answer.
 */
const STEPS_PER_TIMEOUT = 4
/** How many time-outs a call waits at most, while there are signs of life. */
const MAX_TIMEOUTS = 20

/**
 * Settles as `work` does, or rejects with the error of `late` after so many milliseconds without a sign of life.
 * `late` is called at most once, and never after `work` has settled. `heard` returns the time of the last sign of
 * life (by `performance.now`): a call in a queue that moves is not late.
 */
export async function withTimeout<T>(
  work: Promise<T>,
  milliseconds: number,
  late: () => Error,
  heard: () => number = never,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let settled = false
  const over = new Promise<never>((_, reject) => {
    const fail = (): void => {
      if (!settled) reject(late())
    }
    let [silentStepsLeft, stepsLeft] = [STEPS_PER_TIMEOUT, MAX_TIMEOUTS * STEPS_PER_TIMEOUT]
    const step = (): void => {
      const begun = performance.now()
      timer = setTimeout(() => {
        silentStepsLeft = heard() > begun ? STEPS_PER_TIMEOUT : silentStepsLeft - 1
        if (silentStepsLeft > 0 && --stepsLeft > 0) step()
        else afterPolling(fail)
      }, milliseconds / STEPS_PER_TIMEOUT)
    }
    step()
  })
  try {
    return await Promise.race([work, over])
  } finally {
    settled = true
    clearTimeout(timer)
    work.catch(() => undefined)
  }
}

/** Calls back after the event loop has polled the sockets. */
export function afterPolling(done: () => void): void {
  setImmediate(() => setImmediate(done))
}

function never(): number {
  return Number.NEGATIVE_INFINITY
}
