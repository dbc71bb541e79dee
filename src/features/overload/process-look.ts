import { getHeapStatistics } from 'node:v8'
import { containerMemory } from '../../core/container-memory.js'
import type { Look } from './shedding.js'

/** Time between two looks at the process, milliseconds. */
export const LOOK_EVERY_MS = 100

/** Looks at the process from a timer: how late that is says how long other work waits. */
export class ProcessLook {
  /** Bytes that all processes of the container may have at most; 0: not known. */
  readonly #allowed: number
  readonly #held: () => number | undefined
  #due = performance.now() + LOOK_EVERY_MS

  constructor(allowed = process.constrainedMemory?.() ?? 0, held = containerMemory()) {
    // Without a limit the system says 0, or more than any machine has.
    this.#allowed = allowed < Number.MAX_SAFE_INTEGER ? allowed : 0
    this.#held = held
  }

  take(): Look {
    const now = performance.now()
    const lateMs = Math.max(0, now - this.#due)
    this.#due = now + LOOK_EVERY_MS
    return { lateMs, memory: this.memory() }
  }

  /** Of the heap and of the container, the one that is used more. Workers share the container. */
  private memory(): number {
    const { used_heap_size, heap_size_limit } = getHeapStatistics()
    const heap = used_heap_size / heap_size_limit
    return this.#allowed === 0 ? heap : Math.max(heap, (this.#held() ?? process.memoryUsage.rss()) / this.#allowed)
  }
}
