import { EventFinder, PieceCounter } from '../content-marks.js'

/** Most bytes that are held of an answer without content; a larger one is passed on. */
export const MAX_HELD_BYTES = 64 * 1024

/** The beginning of an answer, held until it has content. Each chunk is looked at once. */
export class HeldBytes {
  readonly #chunks: Buffer[] = []
  readonly #pieces = new PieceCounter()
  readonly #events = new EventFinder()
  #length = 0

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    this.#pieces.push(chunk)
    this.#events.push(chunk)
  }

  /** Whether there is nothing left to wait for: content, or as much as may be held. */
  get isEnough(): boolean {
    return this.#pieces.count > 0 || this.#length > MAX_HELD_BYTES
  }

  /** Whether a stream has an event that is more than a comment. */
  get hasEvent(): boolean {
    return this.#events.found
  }

  /** All of it in one; nothing is held any more. */
  take(): Buffer {
    this.#length = 0
    return Buffer.concat(this.#chunks.splice(0))
  }
}
