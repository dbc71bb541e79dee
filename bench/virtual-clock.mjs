// Time that passes as fast as the work in it is done, in steps of a millisecond. Timers of one step run in the order in which
// they were set, and everything that promises then have to do is done before the next step.

export class VirtualClock {
  /** Milliseconds since the beginning. */
  elapsed = 0
  #start
  /** Timers by the millisecond in which they are due. */
  #due = new Map()

  constructor(start = Date.UTC(2026, 10, 23)) {
    this.#start = start
  }

  now = () => this.#start + this.elapsed
  monotonic = () => this.elapsed

  after = (milliseconds, run) => {
    const at = Math.max(this.elapsed, Math.ceil(this.elapsed + milliseconds))
    const timer = { run }
    const same = this.#due.get(at)
    if (same === undefined) this.#due.set(at, [timer])
    else same.push(timer)
    return () => {
      timer.run = undefined
    }
  }

  /** Resolves after so many milliseconds. */
  sleep = milliseconds => new Promise(resolve => this.after(milliseconds, resolve))

  /** Lets the time pass; `each` is called in every millisecond. */
  async pass(milliseconds, each = () => {}) {
    const end = this.elapsed + milliseconds
    for (; this.elapsed < end; this.elapsed++) {
      each(this.elapsed)
      await settled()
      while (this.#due.has(this.elapsed)) {
        const timers = this.#due.get(this.elapsed)
        this.#due.delete(this.elapsed)
        for (const { run } of timers) run?.()
        await settled()
      }
    }
  }
}

/**
 * Gives the program's own timers, time of day and chance to the clock while `work` runs: chance is the same in each run, and
 * timers do not keep the process alive.
 */
export async function inVirtualTime(clock, work) {
  const own = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout }
  const [now, random] = [Date.now, Math.random]
  globalThis.setTimeout = (run, milliseconds = 0) => {
    const cancel = clock.after(milliseconds, run)
    return { unref() {}, cancel }
  }
  globalThis.clearTimeout = timer => timer?.cancel?.()
  Date.now = clock.now
  Math.random = seeded(1)
  try {
    return await work()
  } finally {
    Object.assign(globalThis, own)
    Date.now = now
    Math.random = random
  }
}

/** From 0 to 1 (mulberry32). */
function seeded(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function settled() {
  return new Promise(setImmediate)
}
