import type { Tap } from '../../kernel/tap.js'

/** Largest answer that is checked, bytes. */
const MAX_ANSWER_BYTES = 1024 * 1024
/** Most that is held of all answers, those that wait for their check included, bytes. */
const MAX_HELD_BYTES = 16 * 1024 * 1024
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i
const GOOD = { least: 200, most: 299 }

/** An answer as its client got it, until it is checked. */
export class HeldAnswer implements Tap {
  readonly isBlind = true
  readonly #use: { held: number }
  #pieces: Buffer[] = []
  #held = 0
  #state: 'other' | 'held' | 'complete' | 'too_large' = 'other'

  /** `use`: what all of them hold. */
  constructor(use: { held: number }) {
    this.#use = use
  }

  /** Its head is sent. Only a whole JSON answer to a request that went well is meant. */
  begin(status: number, headers: readonly string[]): void {
    const of = (name: string): string | undefined => {
      const at = headers.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name)
      return at < 0 ? undefined : headers[at + 1]
    }
    if (status < GOOD.least || status > GOOD.most || !JSON_TYPE.test(of('content-type') ?? '')) return
    this.#state = of('content-encoding') === undefined ? 'held' : 'too_large'
  }

  push(bytes: Uint8Array): void {
    if (this.#state !== 'held') return
    const isRoom = this.#held + bytes.length <= MAX_ANSWER_BYTES && this.#use.held + bytes.length <= MAX_HELD_BYTES
    if (!isRoom) {
      this.release()
      this.#state = 'too_large'
      return
    }
    this.#pieces.push(Buffer.from(bytes))
    this.#held += bytes.length
    this.#use.held += bytes.length
  }

  end(): void {
    if (this.#state === 'held') this.#state = 'complete'
  }

  /** Its call has ended: one that broke off is not meant. */
  settle(): void {
    if (this.#state !== 'held') return
    this.release()
    this.#state = 'other'
  }

  get isMeant(): boolean {
    return this.#state !== 'other'
  }

  /** All of it, once; undefined if it could not be held. */
  take(): Buffer | undefined {
    const bytes = this.#state === 'complete' ? Buffer.concat(this.#pieces) : undefined
    this.release()
    return bytes
  }

  release(): void {
    this.#use.held -= this.#held
    this.#held = 0
    this.#pieces = []
  }
}
