import { randomBytes } from 'node:crypto'
import { NEVER_EXPIRES_MS, type Store } from '../core/store.js'
import { stored } from './stored.js'

const NAMESPACE = 'secrets'
const OWNER = 'gateway'
const SECRET_BYTES = 64

/** 64 random bytes that all processes on one store share, created on first use. */
export class SharedSecret {
  readonly #store: Store
  readonly #key: string
  #bytes: Promise<Uint8Array> | undefined

  /** `key` separates secrets of different purposes. */
  constructor(store: Store, key: string) {
    this.#store = store
    this.#key = key
  }

  /** Throws `unavailable` if the store does not answer. */
  bytes(): Promise<Uint8Array> {
    if (this.#bytes !== undefined) return this.#bytes
    const bytes = this.readOrCreate()
    this.#bytes = bytes
    bytes.catch(() => {
      this.#bytes = undefined
    })
    return bytes
  }

  /** Undefined if none was created yet. Throws as {@link bytes}. */
  async existing(): Promise<Uint8Array | undefined> {
    return (await stored(this.#store.get(NAMESPACE, OWNER, this.#key)))?.value
  }

  /** The same as the store has it now: it may have lost what it had. Throws as {@link bytes}. */
  async readOrCreate(): Promise<Uint8Array> {
    const place = { namespace: NAMESPACE, owner: OWNER, key: this.#key }
    const draft = { ...place, created: Date.now(), expires: NEVER_EXPIRES_MS, value: randomBytes(SECRET_BYTES) }
    const made = await stored(this.#store.create(draft))
    const record = made ?? (await stored(this.#store.get(NAMESPACE, OWNER, this.#key)))
    if (record === undefined) throw new Error(`the shared secret '${this.#key}' was removed from the store`)
    return record.value
  }
}
