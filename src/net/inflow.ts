import type { Duplex } from 'node:stream'

/** How the event loop is shared: `EventLoopShares` of the kernel. */
export interface Turns {
  /** Whether so many bytes may be processed now. If not, the inflow's `turn` is called later. */
  tryRun(inflow: Inflow, bytes: number): boolean
}

/**
 * What one side of a tunnel sends, processed in steps while it is this tunnel's turn and its receiver is fast enough. Until
 * then what was read waits as bytes, and nothing more is read.
 */
export class Inflow {
  /** Set by {@link Turns}. */
  isWaiting = false
  readonly #turns: Turns
  readonly #source: Duplex
  readonly #process: (bytes: Buffer) => void
  readonly #stepBytes: number
  #rest: Buffer | undefined
  #isPaused = false
  /** What is processed may pause and resume this inflow. */
  #isWorking = false

  constructor(turns: Turns, source: Duplex, process: (bytes: Buffer) => void, stepBytes = Number.POSITIVE_INFINITY) {
    this.#turns = turns
    this.#source = source
    this.#process = process
    this.#stepBytes = stepBytes
    source.on('data', (bytes: Buffer) => this.push(bytes))
    // A paused connection emits these, too: what waits is processed before them.
    source.prependListener('end', () => this.flush())
    source.prependListener('close', () => this.flush())
  }

  /** Bytes that were read. */
  push(bytes: Buffer): void {
    this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes])
    this.work()
    if (this.isHeld) this.#source.pause()
  }

  /** Its turn: one step, and more while it may. */
  turn(): void {
    if (this.#rest !== undefined && !this.#isPaused) this.step()
    this.readOn()
  }

  /** The receiver is slower. */
  pause(): void {
    this.#isPaused = true
    this.#source.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.readOn()
  }

  private get isHeld(): boolean {
    return this.#isPaused || this.#rest !== undefined
  }

  private readOn(): void {
    this.work()
    if (!this.isHeld) this.#source.resume()
  }

  private work(): void {
    while (this.#rest !== undefined && !this.#isPaused && !this.#isWorking) {
      if (!this.#turns.tryRun(this, Math.min(this.#rest.length, this.#stepBytes))) return
      this.step()
    }
  }

  private step(): void {
    const bytes = this.#rest
    if (bytes === undefined || this.#isWorking) return
    this.#rest = bytes.length > this.#stepBytes ? bytes.subarray(this.#stepBytes) : undefined
    this.#isWorking = true
    try {
      this.#process(this.#rest === undefined ? bytes : bytes.subarray(0, this.#stepBytes))
    } finally {
      this.#isWorking = false
    }
  }

  /** Everything at once: nothing comes after it. */
  private flush(): void {
    while (this.#rest !== undefined && !this.#isWorking) this.step()
  }
}
