import { hash, hkdfSync } from 'node:crypto'
import { Masker } from '../../core/masks.js'
import { dayOf } from '../../core/receipt-chain.js'
import type { CaptureConfig, ContentPlace } from '../../core/receipts.js'
import type { Secret } from '../../core/secret.js'
import { Sealer } from '../../kernel/sealed-box.js'
import type { Tap } from '../../kernel/tap.js'

/** Most of a body, and of an answer, that is kept, bytes: the rest is cut off. */
const MAX_CONTENT_BYTES = 128 * 1024
/** Most that is held of all requests in flight, bytes: of what comes then no content is kept. */
const MAX_HELD_BYTES = 64 * 1024 * 1024
const KEY_BYTES = 32

/** What a key sent and got, before it is sealed. */
export interface Content {
  readonly request?: string
  readonly answer?: string
  /** Bytes that were cut off. */
  readonly cut?: { readonly request: number; readonly answer: number }
}

/** The content of one request while it runs. */
export class Captured implements Tap {
  readonly isBlind = true
  readonly config: CaptureConfig
  readonly #use: { held: number }
  readonly #pieces: Buffer[] = []
  #request: Buffer | undefined
  #answered = 0
  #held = 0
  #cut = { request: 0, answer: 0 }

  constructor(config: CaptureConfig, use: { held: number }) {
    this.config = config
    this.#use = use
  }

  arrived(body: Buffer): void {
    const kept = this.#take(body, MAX_CONTENT_BYTES)
    this.#request = kept
    this.#cut.request = body.length - kept.length
  }

  push(bytes: Uint8Array): void {
    const kept = this.#take(bytes, MAX_CONTENT_BYTES - this.#answered)
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

  /** The content, masked; what was held is free. */
  finish(masker: Masker): Content {
    this.#use.held -= this.#held
    this.#held = 0
    const { request, answer } = this.#cut
    return {
      ...(this.#request !== undefined && { request: masker.body(this.#request.toString('utf8')) }),
      ...(this.#pieces.length > 0 && { answer: masker.body(Buffer.concat(this.#pieces).toString('utf8')) }),
      ...(request + answer > 0 && { cut: this.#cut }),
    }
  }
}

/** Masks and seals content with the key of the configuration. */
export class ContentSealer {
  readonly #sealer: Sealer
  readonly #maskers = new WeakMap<CaptureConfig, Masker>()

  constructor(key: Secret) {
    this.#sealer = new Sealer(new Uint8Array(hkdfSync('sha256', key.reveal(), '', 'content of receipts', KEY_BYTES)))
  }

  /** `id`: of the request; the content opens with it alone. */
  seal(captured: Captured, id: string, at: number): { readonly place: ContentPlace; readonly line: string } {
    const { config } = captured
    const masker = this.#maskers.get(config) ?? new Masker([...config.mask, 'keys'], config.words)
    this.#maskers.set(config, masker)
    const sealed = this.#sealer.seal(Buffer.from(JSON.stringify(captured.finish(masker))), id)
    const sha256 = hash('sha256', sealed)
    return { place: { until: dayOf(at + config.keep), sha256 }, line: `${JSON.stringify({ sha256, sealed })}\n` }
  }

  /** Undefined where it was sealed with another key, or changed. */
  open(sealed: string, id: string): Content | undefined {
    const bytes = this.#sealer.open(sealed, id)
    return bytes === undefined ? undefined : (JSON.parse(bytes.toString('utf8')) as Content)
  }
}
