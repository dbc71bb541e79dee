import { write, writeSync } from 'node:fs'

/** Characters gathered before a write. */
const BATCH = 64 * 1024
/** Longest time that a line waits in the batch, milliseconds. */
const FLUSH = 100
/** Characters that may wait for a slow reader; what comes on top is dropped and counted, never waited for. */
const MOST_WAITING = 4 * 1024 * 1024
/** Pause before a reader that takes nothing is tried again, milliseconds. */
const PAUSE = 50

/** Writes lines to a file descriptor in batches, one write at a time, without ever holding up who logs. */
export class LineWriter {
  readonly #descriptor: number
  #pending = ''
  #writing: Buffer | undefined
  #timer: NodeJS.Timeout | undefined
  #dropped = 0

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** Lines that a blocked reader cost. */
  get dropped(): number {
    return this.#dropped
  }

  write(line: string): void {
    if (this.#pending.length > MOST_WAITING) {
      this.#dropped++
      return
    }
    this.#pending += line
    if (this.#pending.length >= BATCH) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH).unref()
  }

  /** Writes what is left, waiting for it; gives up where the reader takes nothing. */
  close(): void {
    clearTimeout(this.#timer)
    let rest = Buffer.concat([this.#writing ?? Buffer.alloc(0), Buffer.from(this.#pending)])
    this.#writing = undefined
    this.#pending = ''
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#descriptor, rest))
    } catch {
      this.#dropped++
    }
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#writing !== undefined || this.#pending === '') return
    this.#send(Buffer.from(this.#pending))
    this.#pending = ''
  }

  #send(bytes: Buffer): void {
    this.#writing = bytes
    write(this.#descriptor, bytes, (error, written) => {
      if (this.#writing === undefined) return
      if (error !== null && error.code !== 'EAGAIN') {
        // The reader is gone or the disk is full: this batch is lost, the next one is tried again.
        this.#dropped++
        this.#writing = undefined
        return
      }
      const rest = bytes.subarray(error === null ? written : 0)
      if (rest.length === 0) {
        this.#writing = undefined
        this.#flush()
      } else setTimeout(() => this.#writing !== undefined && this.#send(rest), error === null ? 0 : PAUSE).unref()
    })
  }
}
