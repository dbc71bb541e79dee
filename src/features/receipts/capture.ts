import { hash, hkdfSync } from 'node:crypto'
import { dayOf } from '../../core/receipt-chain.js'
import type { CaptureConfig, ContentPlace } from '../../core/receipts.js'
import type { Secret } from '../../core/secret.js'
import { Sealer } from '../../kernel/sealed-box.js'
import type { Captured, Content } from '../content/captured.js'
import { Masker } from '../content/masks.js'

/** Most of a body, and of an answer, that is kept, bytes: the rest is cut off. */
export const MAX_CONTENT_BYTES = 128 * 1024
const KEY_BYTES = 32

/** Masks and seals content with the key of the configuration. */
export class ContentSealer {
  readonly #sealer: Sealer
  readonly #maskers = new WeakMap<CaptureConfig, Masker>()

  constructor(key: Secret) {
    this.#sealer = new Sealer(new Uint8Array(hkdfSync('sha256', key.reveal(), '', 'content of receipts', KEY_BYTES)))
  }

  /** `id`: of the request; the content opens with it alone. */
  seal(
    captured: Captured<CaptureConfig>,
    id: string,
    at: number,
  ): { readonly place: ContentPlace; readonly line: string } {
    const { config } = captured
    const masker = this.#maskers.get(config) ?? new Masker(config)
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
