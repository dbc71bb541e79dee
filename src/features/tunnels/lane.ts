import type { FrameReader } from '../../wire/frame-reader.js'

/** `open`: all bytes pass. `ending`: the current frame passes, then the final ones. `ended`: nothing passes. */
type State = 'open' | 'ending' | 'ended'

/** One direction of a raw tunnel: passes bytes and reads their frames, until the gateway's own final frames end it. */
export class Lane {
  readonly reader: FrameReader
  readonly #send: (bytes: Buffer) => boolean
  #state: State = 'open'
  #finalFrames: Buffer | undefined

  /** `send` returns false if the receiver is slower. */
  constructor(reader: FrameReader, send: (bytes: Buffer) => boolean) {
    this.reader = reader
    this.#send = send
  }

  get isEnding(): boolean {
    return this.#state === 'ending'
  }

  get ended(): boolean {
    return this.#state === 'ended'
  }

  /** Passes received bytes; false if the receiver is slower. */
  push(bytes: Buffer): boolean {
    if (this.#state === 'ending') return this.passFrame(bytes)
    const passed = this.reader.push(bytes)
    if (this.#state === 'ended' || passed === 0) return true
    return this.#send(passed === bytes.length ? bytes : bytes.subarray(0, passed))
  }

  /**
   * Ends the lane with one or more frames after the current one. They are not sent after a close frame, nor if the current
   * frame will never be complete.
   */
  end(finalFrames: Buffer): void {
    if (this.#state !== 'open') return
    this.#state = 'ending'
    this.#finalFrames = finalFrames
    this.passFrame(Buffer.alloc(0))
  }

  private passFrame(bytes: Buffer): boolean {
    const { reader } = this
    let fits = true
    for (let at = 0; at < bytes.length && !reader.between && !reader.stopped; ) {
      // While a frame's head is incomplete, its length is unknown.
      const piece = bytes.subarray(at, at + Math.max(1, reader.missing))
      fits = this.#send(piece.subarray(0, reader.push(piece))) && fits
      at += piece.length
    }
    if (!reader.between && !reader.stopped) return fits
    this.#state = 'ended'
    if (reader.between && !reader.closed && this.#finalFrames !== undefined) this.#send(this.#finalFrames)
    this.#finalFrames = undefined
    return true
  }
}
