import { createHash, type Hash, hash } from 'node:crypto'
import type { Tap } from '../../kernel/tap.js'

/** Small pieces are gathered before they are digested, bytes: one digest of many costs less than many of one. */
const GATHER_BYTES = 2048

/** The digest of an answer as the client gets it. */
export class AnswerDigest implements Tap {
  readonly isBlind = true
  /** Of an answer in one piece: nothing is copied for it. */
  #whole: string | undefined
  #hash: Hash | undefined
  #gathered: Buffer | undefined
  #used = 0

  push(bytes: Uint8Array, isLast = false): void {
    if (this.#gathered === undefined) {
      if (isLast) {
        this.#whole = hash('sha256', bytes)
        return
      }
      // A copy: the bytes may be used again.
      this.#gathered = Buffer.from(bytes)
      this.#used = bytes.length
      return
    }
    if (this.#used + bytes.length > this.#gathered.length) this.#turn(bytes.length)
    if (bytes.length > this.#gathered.length) this.#hash?.update(bytes)
    else {
      this.#gathered.set(bytes, this.#used)
      this.#used += bytes.length
    }
  }

  #turn(room: number): void {
    this.#hash ??= createHash('sha256')
    if (this.#gathered !== undefined && this.#used > 0) this.#hash.update(this.#gathered.subarray(0, this.#used))
    this.#used = 0
    if (room <= GATHER_BYTES && this.#gathered?.length !== GATHER_BYTES)
      this.#gathered = Buffer.allocUnsafe(GATHER_BYTES)
  }

  end(): void {}

  /** SHA-256 of what has been sent, in lower-case hex; undefined if nothing was. */
  digest(): string | undefined {
    if (this.#gathered === undefined) return this.#whole
    const last = this.#gathered.subarray(0, this.#used)
    return this.#hash === undefined ? hash('sha256', last) : this.#hash.update(last).digest('hex')
  }
}
