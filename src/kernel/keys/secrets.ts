import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { Secret } from '../../core/secret.js'
import type { Store } from '../../core/store.js'
import { SharedSecret } from '../shared-secret.js'

const PREFIX = 'gw-'
const RANDOM_BYTES = 26
const TAG_BYTES = 6
/** Base64url of both together. */
const SHAPE = /^gw-[\w-]{43}$/
/** How long it is not asked again whether the store has made a first key meanwhile, milliseconds. */
const ABSENT_MS = 500

/**
 * Secrets of the keys of a store: 208 random bits, and 48 bits by which every process on the store recognises what was made
 * for it. What clients guess is refused without a call of the store.
 */
export class KeySecrets {
  readonly #shared: SharedSecret
  #bytes: Uint8Array | undefined
  #absentUntil = 0

  constructor(store: Store) {
    this.#shared = new SharedSecret(store, 'caller-keys')
  }

  /** Throws `unavailable` if the store does not answer. */
  async make(): Promise<Secret> {
    this.#bytes ??= await this.#shared.bytes()
    const random = randomBytes(RANDOM_BYTES)
    return new Secret(PREFIX + Buffer.concat([random, tagOf(this.#bytes, random)]).toString('base64url'))
  }

  /** Whether this may be a secret of the store. Throws `unavailable` if only the store could tell, and does not answer. */
  async fits(presented: string): Promise<boolean> {
    if (!SHAPE.test(presented)) return false
    if (this.#bytes === undefined) await this.load()
    return this.isOwn(presented)
  }

  /** The same by what is known by now. */
  isOwn(presented: string): boolean {
    if (this.#bytes === undefined || !SHAPE.test(presented)) return false
    const bytes = Buffer.from(presented.slice(PREFIX.length), 'base64url')
    const random = bytes.subarray(0, RANDOM_BYTES)
    return timingSafeEqual(bytes.subarray(RANDOM_BYTES), tagOf(this.#bytes, random))
  }

  /** Learns what secrets of this store look like; before the first key there is nothing to learn. */
  async load(): Promise<void> {
    const now = performance.now()
    if (now < this.#absentUntil) return
    this.#bytes = await this.#shared.existing()
    if (this.#bytes === undefined) this.#absentUntil = now + ABSENT_MS
  }
}

function tagOf(key: Uint8Array, random: Uint8Array): Buffer {
  return createHmac('sha256', key).update(random).digest().subarray(0, TAG_BYTES)
}
