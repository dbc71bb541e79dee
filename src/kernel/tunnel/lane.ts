import type { FrameReader } from '../../wire/frame-reader.js'

/** `open`: all bytes pass. `ending`: the frame at hand does, and then the last words. `ended`: nothing does. */
type State = 'open' | 'ending' | 'ended'

/** One direction of a raw tunnel: bytes pass while their frames are read, until the gateway's own last words end it. */
export class Lane {
  readonly reader: FrameReader
  readonly #send: (bytes: Buffer) => boolean
  #state: State = 'open'
  #finalFrames: Buffer | undefined

  /** `send` answers false where the receiver is slower. */
  constructor(reader: FrameReader, send: (bytes: Buffer) => boolean) {
    this.reader = reader
    this.#send = send
  }

  get ended(): boolean {
    return this.#state === 'ended'
  }

  /** Takes what has come; false where the receiver is slower. */
  push(bytes: Buffer): boolean {
    if (this.#state === 'ending') {
      this.passFrame(bytes)
      return true
    }
    const passed = this.reader.push(bytes)
    if (this.#state === 'ended' || passed === 0) return true
    return this.#send(passed === bytes.length ? bytes : bytes.subarray(0, passed))
  }

  /**
   * Ends it with a frame, or several, behind the frame at hand. Nothing is said behind a close frame, nor where the frame at
   * hand will never be whole.
   */
  end(finalFrames: Buffer): void {
    if (this.#state !== 'open') return
    this.#state = 'ending'
    this.#finalFrames = finalFrames
    this.passFrame(Buffer.alloc(0))
  }

  private passFrame(bytes: Buffer): void {
    const { reader } = this
    for (let at = 0; at < bytes.length && !reader.between && !reader.stopped; ) {
      // Of a head that is not whole yet nobody knows how much is missing.
      const piece = bytes.subarray(at, at + Math.max(1, reader.missing))
      this.#send(piece.subarray(0, reader.push(piece)))
      at += piece.length
    }
    if (!reader.between && !reader.stopped) return
    this.#state = 'ended'
    if (reader.between && !reader.closed && this.#finalFrames !== undefined) this.#send(this.#finalFrames)
    this.#finalFrames = undefined
  }
}
