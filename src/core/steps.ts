/** Work in steps: at each `yield` it may be put down for a while. */
export type Steps<T> = Generator<void, T, void>

/** Longest that steps keep the event loop before others have it, milliseconds. A step itself is far shorter. */
const SLICE_MS = 8

/** Runs all steps in one turn of the event loop. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Runs steps beside what else the process does, in slices of {@link SLICE_MS}. */
export async function inSlices<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const until = performance.now() + SLICE_MS
    do {
      const step = steps.next()
      if (step.done === true) return step.value
    } while (performance.now() < until)
    await new Promise<void>(resolve => setImmediate(resolve))
  }
}
