import type { RequestEntry } from '../../core/entry.js'
import { matches, type TailFilter } from './filter.js'

/** Lines that wait for a reader; of those that come then it gets the number. */
const MAX_WAITING_LINES = 1000
/** A reader without lines hears so often that it is still connected, milliseconds. */
const HEARTBEAT_MS = 15_000

/** One reader of request lines, as server-sent events: `request` with a line, `lost` with the number of lines that it was too slow for. */
export class Reader implements AsyncIterableIterator<string> {
  readonly filter: TailFilter
  readonly #onClose: () => void
  #lines: string[] = []
  #lost = 0
  #wake: (() => void) | undefined
  #isOver = false

  constructor(filter: TailFilter, onClose: () => void) {
    this.filter = filter
    this.#onClose = onClose
  }

  wants(entry: RequestEntry): boolean {
    return matches(this.filter, entry)
  }

  /** `line`: JSON without a line break. */
  add(line: string): void {
    if (this.#lines.length >= MAX_WAITING_LINES) this.#lost++
    else this.#lines.push(line)
    this.#wake?.()
  }

  /** Lines that another worker has not kept for it. */
  lose(lines: number): void {
    this.#lost += lines
    this.#wake?.()
  }

  async next(): Promise<IteratorResult<string>> {
    if (this.#lines.length === 0 && this.#lost === 0 && !this.#isOver) await this.#more()
    if (this.#isOver) return { done: true, value: undefined }
    const lines = this.#lines.map(line => `event: request\ndata: ${line}\n\n`)
    if (this.#lost > 0) lines.push(`event: lost\ndata: {"lines":${this.#lost}}\n\n`)
    this.#lines = []
    this.#lost = 0
    return { done: false, value: lines.length === 0 ? ': still connected\n\n' : lines.join('') }
  }

  #more(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(() => this.#wake?.(), HEARTBEAT_MS).unref()
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }

  async return(): Promise<IteratorResult<string>> {
    if (!this.#isOver) this.#onClose()
    this.#isOver = true
    this.#wake?.()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
