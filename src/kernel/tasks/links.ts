import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { Store } from '../../core/store.js'
import { stored } from '../state/faults.js'

/** What a link leads to, and until when, seconds since the epoch. */
export interface Linked {
  readonly id: string
  readonly variant: string
  readonly expires: number
}

const NAMESPACE = 'secrets'
const OWNER = 'gateway'
const KEY = 'links'
const BYTES = 64
const NONCE = 12
const TAG = 16
/** A secret does not expire by itself. */
const NEVER = Date.UTC(9999, 0, 1)

/** Signs links to what tasks made, with a secret that all processes on the same store share. */
export class Links {
  readonly #store: Store
  #signer: Promise<LinkSigner> | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** Made on first use. Throws `unavailable` where the store does not answer. */
  signer(): Promise<LinkSigner> {
    if (this.#signer !== undefined) return this.#signer
    const signer = this.read().then(secret => new LinkSigner(secret))
    this.#signer = signer
    signer.catch(() => {
      this.#signer = undefined
    })
    return signer
  }

  private async read(): Promise<Uint8Array> {
    const place = { namespace: NAMESPACE, owner: OWNER, key: KEY }
    const draft = { ...place, created: Date.now(), expires: NEVER, value: randomBytes(BYTES) }
    const record = (await stored(this.#store.create(draft))) ?? (await stored(this.#store.get(NAMESPACE, OWNER, KEY)))
    if (record === undefined) throw new Error('the secret of links was taken out')
    return record.value
  }
}

/**
 * A signature says that the gateway made the link, and, to the gateway alone, whose task it leads to: the owner's name
 * goes along sealed (AES-256-GCM). The nonce comes from what is sealed, so that the same link is signed the same each time,
 * and browsers find what they have.
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
    const nonce = createHmac('sha256', this.#deriving).update(`${bound}\n${owner}`).digest().subarray(0, NONCE)
    const cipher = createCipheriv('aes-256-gcm', this.#sealing, nonce, { authTagLength: TAG }).setAAD(bound)
    const sealed = Buffer.concat([cipher.update(owner, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** Whose task the link leads to; undefined where the gateway did not sign it. */
  owner(signature: string, linked: Linked): string | undefined {
    const bytes = Buffer.from(signature, 'base64url')
    if (bytes.length < NONCE + TAG || bytes.toString('base64url') !== signature) return undefined
    const decipher = createDecipheriv('aes-256-gcm', this.#sealing, bytes.subarray(0, NONCE), { authTagLength: TAG })
    decipher.setAAD(boundOf(linked)).setAuthTag(bytes.subarray(NONCE, NONCE + TAG))
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()]).toString('utf8')
    } catch {
      return undefined
    }
  }
}

function boundOf({ id, variant, expires }: Linked): Buffer {
  return Buffer.from(`${id}\n${variant}\n${expires}`)
}
