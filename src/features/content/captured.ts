import type { Tap } from '../../kernel/tap.js'
import type { Masker } from './masks.js'

/** Most that is held of all requests in flight, bytes: of what comes then no content is kept. */
const MAX_HELD_BYTES = 64 * 1024 * 1024

/** What a key sent and got, before it is sealed or sent. */
export interface Content {
  readonly request?: string
  readonly answer?: string
  /** Bytes that were cut off. */
  readonly cut?: { readonly request: number; readonly answer: number }
}

/** The content of one request while it runs. */
export class Captured<Config> implements Tap {
  readonly isBlind = true
  readonly config: Config
  readonly #maxBytes: number
  readonly #use: { held: number }
  readonly #pieces: Buffer[] = []
  #request: Buffer | undefined
  #answered = 0
  #held = 0
  #cut = { request: 0, answer: 0 }

  /** `maxBytes`: of the body, and of the answer; `use`: what all of them hold. */
  constructor(config: Config, maxBytes: number, use: { held: number }) {
    this.config = config
    this.#maxBytes = maxBytes
    this.#use = use
  }

  arrived(body: Buffer): void {
    const kept = this.#take(body, this.#maxBytes)
    this.#request = kept
    this.#cut.request = body.length - kept.length
  }

  push(bytes: Uint8Array): void {
    const kept = this.#take(bytes, this.#maxBytes - this.#answered)
    if (kept.length > 0) this.#pieces.push(kept)
    this.#answered += kept.length
    this.#cut.answer += bytes.length - kept.length
  }

  end(): void {}

  /** A copy of what may be held. */
  #take(bytes: Uint8Array, room: number): Buffer {
    const free = Math.max(0, Math.min(room, MAX_HELD_BYTES - this.#use.held))
    const kept = Buffer.from(bytes.subarray(0, free))
    this.#held += kept.length
    this.#use.held += kept.length
    return kept
  }

  /** What was held is free. */
  release(): void {
    this.#use.held -= this.#held
    this.#held = 0
  }

  /** The content, masked if there is a masker; what was held is free. */
  finish(masker: Masker | undefined): Content {
    this.release()
    const { request, answer } = this.#cut
    const shown = (bytes: Buffer): string => masker?.body(bytes.toString('utf8')) ?? bytes.toString('utf8')
    return {
      ...(this.#request !== undefined && { request: shown(this.#request) }),
      ...(this.#pieces.length > 0 && { answer: shown(Buffer.concat(this.#pieces)) }),
      ...(request + answer > 0 && { cut: this.#cut }),
    }
  }
}
