import type { Json } from '../../core/json.js'

/** What a key may do, written like an entry of `keys` in the file, without its secret. */
export type KeyTerms = Readonly<Record<string, Json>>

/** A caller's key in the store. Only digests of its secrets are stored. */
export interface StoredKey {
  readonly name: string
  /** Milliseconds since the epoch. */
  readonly created: number
  /** Last change of its secrets or terms, milliseconds since the epoch. */
  readonly changed: number
  /** Newest first. `until`: end of a former secret's validity, milliseconds since the epoch. */
  readonly secrets: readonly { readonly sha256: string; readonly until?: number }[]
  readonly terms: KeyTerms
}

/** Valid names of keys, as in the file. */
const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export function isKeyName(name: string): boolean {
  return KEY_NAME.test(name)
}

/** Terms that only a gateway with limits can enforce. */
const COUNTED = ['limits', 'group', 'routes', 'networks'] as const

export function isCounted(terms: KeyTerms): boolean {
  return COUNTED.some(term => terms[term] !== undefined)
}

export function encodeKey(key: StoredKey): Uint8Array {
  return Buffer.from(JSON.stringify(key))
}

export function decodeKey(value: Uint8Array): StoredKey {
  return JSON.parse(Buffer.from(value).toString('utf8')) as StoredKey
}
