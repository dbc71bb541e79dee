import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { Secret } from '../../core/secret.js'
import type { Store } from '../../core/store.js'
import { SharedSecret } from '../../kernel/shared-secret.js'

const PREFIX = 'gw-'
const RANDOM_BYTES = 26
const TAG_BYTES = 6
/** The prefix, and both parts in base64url. */
const SHAPE = /^gw-[\w-]{43}$/
/** How long after a miss the store is not asked again for the shared secret, milliseconds. */
const ABSENT_MS = 500

/**
 * Secrets of a store's keys: 208 random bits, and a tag of 48 bits by which every process on the store recognizes them.
 * Guesses of clients are refused without a call of the store.
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

  /** Whether this may be a secret of the store. Throws `unavailable` if the store is needed and does not answer. */
  async fits(presented: string): Promise<boolean> {
    if (!SHAPE.test(presented)) return false
    if (this.#bytes === undefined) await this.load()
    return this.isOwn(presented)
  }

  /** The same without asking the store. */
  isOwn(presented: string): boolean {
    if (this.#bytes === undefined || !SHAPE.test(presented)) return false
    const bytes = Buffer.from(presented.slice(PREFIX.length), 'base64url')
    const random = bytes.subarray(0, RANDOM_BYTES)
    return timingSafeEqual(bytes.subarray(RANDOM_BYTES), tagOf(this.#bytes, random))
  }

  /** Loads the shared secret of the tags; it exists once the store has a key. */
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
