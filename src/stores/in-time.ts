/**
 * Steps in which patience runs out. A step counts once however late its timer is: a process that was busy, or stopped, may
 * not have sent yet what it waits for, or not have read it.
 */
const STEPS = 4
/** How many times its patience a call waits at most, while there are signs of life. */
const MAX_EXTENSION = 20

/**
 * What `work` comes to, or the error that `late` makes after so many milliseconds without a sign of life; `late` is called
 * at most once, and never when `work` has settled. `heard` tells when there was a sign of life last (of
 * `performance.now`): what waits in a line that moves is not late.
 */
export async function inTime<T>(
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
    let [left, most] = [STEPS, MAX_EXTENSION * STEPS]
    const step = (): void => {
      const begun = performance.now()
      timer = setTimeout(() => {
        left = heard() > begun ? STEPS : left - 1
        if (left > 0 && --most > 0) step()
        else afterALook(fail)
      }, milliseconds / STEPS)
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

/** Calls back when the sockets have been looked at. */
export function afterALook(done: () => void): void {
  setImmediate(() => setImmediate(done))
}

function never(): number {
  return Number.NEGATIVE_INFINITY
}
