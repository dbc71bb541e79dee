/** How late a timer is where this process stood still: it was busy, or stopped. Milliseconds. */
const STILL = 20

/**
 * What `work` comes to, or the error that `late` makes after so many milliseconds. Where it was this process that stood
 * still, what it waits for may never have been sent, or be there unread: it waits once more.
 */
export async function inTime<T>(work: Promise<T>, milliseconds: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, reject) => {
    const fail = (): void => reject(late())
    const due = performance.now() + milliseconds
    timer = setTimeout(() => {
      if (performance.now() < due + STILL) afterALook(fail)
      else timer = setTimeout(() => afterALook(fail), milliseconds)
    }, milliseconds)
  })
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
    work.catch(() => undefined)
  }
}

/** Calls back when the sockets have been looked at. */
export function afterALook(done: () => void): void {
  setImmediate(() => setImmediate(done))
}
