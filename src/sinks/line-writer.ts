import { write, writeSync } from 'node:fs'

/** Bytes that are gathered before a write. */
const BATCH_BYTES = 64 * 1024
/** Longest time that a line waits in the batch, milliseconds. */
const FLUSH_INTERVAL_MS = 100
/** Bytes that may wait for a slow reader; what comes on top is dropped and counted, never waited for. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024
/** Pause before the next write to a full pipe, milliseconds. */
const RETRY_MS = 50
/** How long the last lines wait for the current write, milliseconds: a stuck reader must not keep the process alive. */
const CLOSE_TIMEOUT_MS = 500
const LINE_FEED = 0x0a
/** Maximum bytes of a UTF-16 unit in UTF-8 (characters beyond the BMP are two units). */
const MAX_BYTES_PER_UNIT = 3

/** Where lines are written. */
export interface Place {
  readonly descriptor: number
  /** Called before a batch of so many bytes: it may change the descriptor. Calls `ready` once, in any case; `isLost`: no one would read them. */
  prepare?(bytes: number, ready: (isLost: boolean) => void): void
  close?(): void
}

/**
 * Writes lines to a file descriptor in batches, one write at a time, without ever holding up who logs. A line becomes
 * bytes at once: as a string, pieced together as it is, it would be copied by the garbage collector until the batch is full.
 */
export class LineWriter {
  readonly #place: Place
  readonly #batchBytes: number
  #batch: Buffer
  #used = 0
  /** One that has been written: a new one would have to be given its pages by the system. */
  #spare: Buffer | undefined
  /** Full batches, waiting for their turn. */
  #full: Buffer[] = []
  #waiting = 0
  /** The rest of the current batch that is not yet confirmed as written. */
  #writing: Buffer | undefined
  /** Called when the current write ends; undefined if there is none. */
  #landed: (() => void) | undefined
  #closing = false
  #timer: NodeJS.Timeout | undefined
  #dropped = 0
  /** How many dropped lines have been reported. */
  #reported = 0
  /** What was written last is a part of a line. */
  #isWithinLine = false
  /** The rest of that line is lost. */
  #isTorn = false
  /** Lines that were lost since it was called last; it is called when lines are written again. */
  onDropped: (lines: number) => void = () => undefined

  /** `batchBytes`: most that is written at once, unless a line is longer. */
  constructor(place: number | Place, batchBytes: number = BATCH_BYTES) {
    this.#place = typeof place === 'number' ? { descriptor: place } : place
    this.#batchBytes = batchBytes
    this.#batch = Buffer.allocUnsafeSlow(batchBytes)
  }

  /** Lines that a blocked reader, or a full disk, cost. */
  get dropped(): number {
    return this.#dropped
  }

  write(line: string): void {
    if (!this.#hasRoom(line.length * MAX_BYTES_PER_UNIT)) return
    this.#used += this.#batch.write(line, this.#used)
    this.#resume()
  }

  /** The same for a line of ASCII, for half the cost. */
  writeAscii(line: string): void {
    if (!this.#hasRoom(line.length)) return
    this.#used += this.#batch.write(line, this.#used, 'latin1')
    this.#resume()
  }

  /** Makes room for a line; false where it is dropped. */
  #hasRoom(maxBytes: number): boolean {
    if (this.#waiting > MAX_WAITING_BYTES) {
      this.#dropped++
      return false
    }
    if (maxBytes > this.#batchBytes - this.#used) this.#turn(maxBytes)
    return true
  }

  /** Writes the rest once the current write has ended; gives up if the reader is stuck. */
  async close(): Promise<void> {
    try {
      await this.#finish()
    } finally {
      this.#place.close?.()
    }
  }

  async #finish(): Promise<void> {
    this.#closing = true
    clearTimeout(this.#timer)
    if (this.#landed !== undefined && !(await this.#landing())) {
      this.#dropped++
      return
    }
    const batches = [this.#writing ?? Buffer.alloc(0), ...this.#full, this.#batch.subarray(0, this.#used)]
    this.#writing = undefined
    this.#full = []
    this.#used = 0
    try {
      for (let rest of batches) while (rest.length > 0) rest = rest.subarray(writeSync(this.#place.descriptor, rest))
    } catch {
      this.#dropped++
    }
  }

  /** Whether the write under way is over in time. */
  #landing(): Promise<boolean> {
    return new Promise(resolve => {
      // A process that was stopped meanwhile learns first that the write has ended.
      const late = setTimeout(() => setImmediate(resolve, false), CLOSE_TIMEOUT_MS)
      this.#landed = () => {
        clearTimeout(late)
        resolve(true)
      }
    })
  }

  /** Puts the batch behind the full ones, and begins another one with room for so many bytes. */
  #turn(room: number): void {
    if (this.#used > 0) this.#full.push(this.#batch.subarray(0, this.#used))
    this.#waiting += this.#used
    if (this.#spare !== undefined && room <= this.#batchBytes) {
      this.#batch = this.#spare
      this.#spare = undefined
    } else {
      this.#batch = Buffer.allocUnsafeSlow(Math.max(this.#batchBytes, room))
    }
    this.#used = 0
  }

  /** Full batches are written at once, the last one when its lines have waited for long enough: writes are dear. */
  #resume(): void {
    if (this.#writing !== undefined || this.#closing) return
    if (this.#full.length > 0) this.#flush()
    else if (this.#used > 0) this.#timer ??= setTimeout(() => this.#flush(), FLUSH_INTERVAL_MS).unref()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#writing !== undefined || this.#closing) return
    if (this.#full.length === 0 && this.#used > 0) this.#turn(this.#batchBytes)
    const batch = this.#full.shift()
    if (batch === undefined) return
    this.#waiting -= batch.length
    const next = this.#isTorn ? behindLineFeed(batch) : batch
    this.#isTorn = false
    if (this.#place.prepare === undefined) {
      this.#send(next)
      return
    }
    this.#writing = next
    this.#landed = () => undefined
    this.#place.prepare(next.length, isLost => {
      const landed = this.#landed
      this.#landed = undefined
      if (isLost) {
        this.#lose(next)
        this.#writing = undefined
      }
      landed?.()
      if (this.#closing) return
      if (isLost) this.#resume()
      else this.#send(next)
    })
  }

  #send(bytes: Buffer): void {
    this.#writing = bytes
    this.#landed = () => undefined
    write(this.#place.descriptor, bytes, (error, written) => {
      const landed = this.#landed
      this.#landed = undefined
      const blocked = error?.code === 'EAGAIN'
      // The reader is gone or the disk is full: this batch is lost, the next one is tried again.
      if (error !== null && !blocked) this.#lose(bytes)
      const rest = bytes.subarray(error === null ? written : blocked ? 0 : bytes.length)
      this.#writing = rest.length === 0 ? undefined : rest
      if (error === null) this.#isWithinLine = rest.length > 0 && bytes[written - 1] !== LINE_FEED
      if (rest.length === 0 && bytes.buffer.byteLength === this.#batchBytes) this.#spare = Buffer.from(bytes.buffer)
      landed?.()
      if (this.#closing) return
      if (rest.length > 0) setTimeout(() => this.#retryLater(rest), blocked ? RETRY_MS : 0).unref()
      else if (error === null) this.#landedWell()
    })
  }

  /** A part of a batch is lost: if it begins within a line, that line has no end yet. */
  #lose(bytes: Buffer): void {
    for (const byte of bytes) if (byte === LINE_FEED) this.#dropped++
    this.#isTorn = this.#isWithinLine
    this.#isWithinLine = false
  }

  #landedWell(): void {
    const lost = this.#dropped - this.#reported
    if (lost > 0 && this.#waiting < MAX_WAITING_BYTES / 2) {
      this.#reported = this.#dropped
      this.onDropped(lost)
    }
    this.#resume()
  }

  #retryLater(rest: Buffer): void {
    if (!this.#closing) this.#send(rest)
  }
}

/** Memory of its own: a batch that is written becomes the next one, and Node's shared buffers may be as large. */
function behindLineFeed(batch: Buffer): Buffer {
  const bytes = Buffer.allocUnsafeSlow(batch.length + 1)
  bytes[0] = LINE_FEED
  bytes.set(batch, 1)
  return bytes
}
