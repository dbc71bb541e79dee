import type { TextEvent } from '../../core/text.js'
import { reserveAnswer } from '../answer-document.js'
import type { MemoryLease } from '../memory.js'

/** Bytes per reservation. */
const RESERVE_STEP_BYTES = 16 * 1024
/** Most bytes of a character. */
const MAX_BYTES_PER_CHAR = 2

/**
 * Counts what one translated stream collects: everything if the answer is assembled or repeated at its end, else only the
 * arguments of calls, which some protocols need whole.
 */
export class StreamMemory {
  readonly #lease: MemoryLease
  readonly #whole: boolean
  readonly #calls = new Map<number, number>()
  #gathered = 0

  constructor(lease: MemoryLease, whole: boolean) {
    this.#lease = lease
    this.#whole = whole
  }

  chunk(bytes: number): void {
    if (this.#whole) this.#gathered += MAX_BYTES_PER_CHAR * bytes
  }

  event(event: TextEvent): void {
    if (this.#whole) return
    switch (event.type) {
      case 'part-start':
        if (event.part.type === 'call') this.grow(event.index, event.part.arguments.length)
        break
      case 'part-delta':
        if (this.#calls.has(event.index)) this.grow(event.index, event.text.length)
        break
      case 'part-end':
        this.#gathered -= this.#calls.get(event.index) ?? 0
        this.#calls.delete(event.index)
        break
      default:
    }
  }

  /** Reserves memory for what was collected; undefined if it is available at once. Throws, or rejects, if it is not. */
  reserve(): Promise<void> | undefined {
    const missing = this.#gathered - this.#lease.bytes
    return missing <= 0 ? undefined : reserveAnswer(this.#lease, missing + RESERVE_STEP_BYTES)
  }

  private grow(index: number, characters: number): void {
    const bytes = MAX_BYTES_PER_CHAR * characters
    this.#calls.set(index, (this.#calls.get(index) ?? 0) + bytes)
    this.#gathered += bytes
  }
}
