import { getHeapStatistics } from 'node:v8'
import type { Look } from './shedding.js'

/** Time between two looks at the process, milliseconds. */
export const LOOK_EVERY_MS = 100

/** Looks at the process from a timer: how late that is says how long other work waits. */
export class ProcessLook {
  /** Bytes that the process may have at most (its container's limit); 0: not known. */
  readonly #allowed = process.constrainedMemory?.() ?? 0
  #due = performance.now() + LOOK_EVERY_MS

  take(): Look {
    const now = performance.now()
    const lateMs = Math.max(0, now - this.#due)
    this.#due = now + LOOK_EVERY_MS
    return { lateMs, memory: this.memory() }
  }

  /** Of the heap and of the container, the one that is used more. */
  private memory(): number {
    const { used_heap_size, heap_size_limit } = getHeapStatistics()
    const heap = used_heap_size / heap_size_limit
    // Without a limit the system says 0, or more than any machine has.
    const isLimited = this.#allowed > 0 && this.#allowed < Number.MAX_SAFE_INTEGER
    return isLimited ? Math.max(heap, process.memoryUsage.rss() / this.#allowed) : heap
  }
}
