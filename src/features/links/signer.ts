import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import type { Store } from '../../core/store.js'
import { SharedSecret } from '../../kernel/shared-secret.js'

/** What a link leads to. `expires`: seconds since the epoch. */
interface Linked {
  readonly id: string
  readonly variant: string
  readonly expires: number
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Signs links to results, with a secret shared by all processes on a store. */
export class Links {
  readonly #secret: SharedSecret
  #signer: LinkSigner | undefined

  constructor(store: Store) {
    this.#secret = new SharedSecret(store, 'links')
  }

  /** Throws `unavailable` if the store does not answer. */
  async signer(): Promise<LinkSigner> {
    this.#signer ??= new LinkSigner(await this.#secret.bytes())
    return this.#signer
  }
}

/**
 * Signs links. A signature proves that the gateway made the link, and contains the owner's name, which only the gateway
 * can read (AES-256-GCM). The nonce is derived from the sealed content, so the same link always has the same signature and
 * browsers can cache it.
 */
export class LinkSigner {
  readonly #sealing: Uint8Array
  readonly #deriving: Uint8Array

  constructor(secret: Uint8Array) {
    this.#sealing = secret.subarray(0, 32)
    this.#deriving = secret.subarray(32)
  }

  sign(owner: string, linked: Linked): string {
    const bound = boundOf(linked)
    const nonce = createHmac('sha256', this.#deriving).update(`${bound}\n${owner}`).digest().subarray(0, NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#sealing, nonce, { authTagLength: TAG_BYTES }).setAAD(bound)
    const sealed = Buffer.concat([cipher.update(owner, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** The owner of the task that the link leads to; undefined if the signature is not valid. */
  owner(signature: string, linked: Linked): string | undefined {
    const bytes = Buffer.from(signature, 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== signature) return undefined
    const decipher = createDecipheriv('aes-256-gcm', this.#sealing, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(boundOf(linked)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      )
    } catch {
      return undefined
    }
  }
}

function boundOf({ id, variant, expires }: Linked): Buffer {
  return Buffer.from(`${id}\n${variant}\n${expires}`)
}
