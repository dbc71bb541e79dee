import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Store } from '../core/store.js'
import { SharedSecret } from './shared-secret.js'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals bytes (AES-256-GCM) with a secret that all processes on one store share, and that never leaves it. */
export class SealedBox {
  readonly #secret: SharedSecret

  /** `purpose` separates the keys of different uses. */
  constructor(store: Store, purpose: string) {
    this.#secret = new SharedSecret(store, purpose)
  }

  /** Throws `unavailable` if the store does not answer. */
  async sealer(): Promise<Sealer> {
    return new Sealer((await this.#secret.bytes()).subarray(0, KEY_BYTES))
  }
}

/** Seals bytes with a key of 32 bytes. */
export class Sealer {
  readonly #key: Uint8Array

  constructor(key: Uint8Array) {
    this.#key = key
  }

  /** Returns base64url. It opens only with the same `bound` (additional authenticated data), which is not part of it. */
  seal(bytes: Uint8Array, bound: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(Buffer.from(bound))
    const sealed = Buffer.concat([cipher.update(bytes), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** Undefined if the content was not sealed with this secret, or was changed. */
  open(sealed: string, bound: string): Buffer | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(bound)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
    } catch {
      return undefined
    }
  }
}
