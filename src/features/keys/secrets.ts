import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { Secret } from '../../core/secret.js'
import type { Store } from '../../core/store.js'
import { SharedSecret } from '../../kernel/shared-secret.js'

const PREFIX = 'gw-'
const RANDOM_BYTES = 26
const TAG_BYTES = 6
/** The prefix, and both parts in base64url. */
const SHAPE = /^gw-[\w-]{43}$/
/** How long the store is not asked again for the shared secret, milliseconds. */
const PAUSE_MS = 500

/**
 * Secrets of a store's keys: 208 random bits, and a tag of 48 bits by which every process on the store recognizes them.
 * Guesses of clients are refused with few calls of the store: it may have lost its content, and have another shared secret.
 */
export class KeySecrets {
  readonly #shared: SharedSecret
  #bytes: Uint8Array | undefined
  #askedUntil = 0
  #loading: Promise<void> | undefined

  constructor(store: Store) {
    this.#shared = new SharedSecret(store, 'caller-keys')
  }

  /** Throws `unavailable` if the store does not answer. */
  async make(): Promise<Secret> {
    this.#bytes = await this.#shared.readOrCreate()
    const random = randomBytes(RANDOM_BYTES)
    return new Secret(PREFIX + Buffer.concat([random, tagOf(this.#bytes, random)]).toString('base64url'))
  }

  /** Whether this may be a secret of the store. Throws `unavailable` if the store is needed and does not answer. */
  async fits(presented: string): Promise<boolean> {
    if (!SHAPE.test(presented)) return false
    if (!this.isOwn(presented)) await this.load()
    return this.isOwn(presented)
  }

  /** The same without asking the store. */
  isOwn(presented: string): boolean {
    if (this.#bytes === undefined || !SHAPE.test(presented)) return false
    const bytes = Buffer.from(presented.slice(PREFIX.length), 'base64url')
    const random = bytes.subarray(0, RANDOM_BYTES)
    return timingSafeEqual(bytes.subarray(RANDOM_BYTES), tagOf(this.#bytes, random))
  }

  /** Loads the shared secret of the tags; it exists once the store has a key. A known one serves while the store is away. */
  async load(): Promise<void> {
    if (this.#loading === undefined && performance.now() < this.#askedUntil) return
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined
    })
    await this.#loading
  }

  async #load(): Promise<void> {
    const since = performance.now()
    try {
      this.#bytes = await this.#shared.existing()
    } catch (error) {
      if (this.#bytes === undefined) throw error
    }
    this.#askedUntil = since + PAUSE_MS
  }
}

function tagOf(key: Uint8Array, random: Uint8Array): Buffer {
  return createHmac('sha256', key).update(random).digest().subarray(0, TAG_BYTES)
}
