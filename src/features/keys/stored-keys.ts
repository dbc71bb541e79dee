import { hash } from 'node:crypto'
import type { Secret } from '../../core/secret.js'
import { NEVER_EXPIRES_MS, type Store, type StoredRecord, StoreError } from '../../core/store.js'
import { decodeKey, encodeKey, isCounted, isKeyName, type KeyTerms, type StoredKey } from './record.js'
import { announce, SETTLING_MS } from './revisions.js'
import type { KeySecrets } from './secrets.js'

/** Keys by name: the authoritative records. */
const KEYS = { namespace: 'keys', owner: 'gateway' } as const
/** Names of keys by the digests of their secrets. A digest that its key no longer has is ignored. */
const DIGESTS = { namespace: 'key-digests', owner: 'gateway' } as const
/** Attempts of a change that conflicts with others. */
const MAX_TRIES = 8
/** Most valid secrets of one key. */
export const MAX_SECRETS = 4

/** A key with its new secret, which is shown once and not stored. */
export interface NewKey {
  readonly key: StoredKey
  readonly secret: Secret
}

/** The end of a page of keys. */
export type KeyCursor = Pick<StoredKey, 'created' | 'name'>

/**
 * Callers' keys in a store. Each change is announced before it is made, so that no process misses it even if the writer
 * crashes. Methods throw {@link StoreError}, or `unavailable` of the shared secret.
 */
export class StoredKeys {
  readonly #store: Store
  readonly #secrets: KeySecrets

  constructor(store: Store, secrets: KeySecrets) {
    this.#store = store
    this.#secrets = secrets
  }

  /** Undefined if the name is taken. */
  async create(name: string, terms: KeyTerms): Promise<NewKey | undefined> {
    if ((await this.find(name)) !== undefined) return undefined
    const secret = await this.#secrets.make()
    const sha256 = hash('sha256', secret.reveal())
    const now = Date.now()
    const key: StoredKey = { name, created: now, changed: now, secrets: [{ sha256 }], terms }
    await this.point(sha256, name)
    return await this.announced(name, isCounted(terms), async () => {
      const draft = { ...KEYS, key: name, created: now, expires: NEVER_EXPIRES_MS, value: encodeKey(key) }
      if ((await this.#store.create(draft)) !== undefined) return { key, secret }
      await this.#store.delete({ ...DIGESTS, key: sha256 })
      return undefined
    })
  }

  async find(name: string): Promise<StoredKey | undefined> {
    const record = await this.record(name)
    return record === undefined ? undefined : decodeKey(record.value)
  }

  async findByDigest(sha256: string): Promise<StoredKey | undefined> {
    const pointer = await this.#store.get(DIGESTS.namespace, DIGESTS.owner, sha256)
    if (pointer === undefined) return undefined
    const key = await this.find(Buffer.from(pointer.value).toString('latin1'))
    return key?.secrets.some(one => one.sha256 === sha256) === true ? key : undefined
  }

  /** By time of creation. */
  async list(limit: number, after?: KeyCursor): Promise<readonly StoredKey[]> {
    const range = {
      order: 'ascending',
      limit,
      ...(after === undefined ? {} : { after: { created: after.created, key: after.name } }),
    } as const
    const records = await this.#store.list(KEYS.namespace, KEYS.owner, range)
    return records.map(({ value }) => decodeKey(value))
  }

  /** False if there is no key with that name. */
  async revoke(name: string): Promise<boolean> {
    const record = await this.record(name)
    if (record === undefined) return false
    const done = await this.announced(name, false, () => this.#store.delete({ ...KEYS, key: name }))
    for (const { sha256 } of decodeKey(record.value).secrets) await this.#store.delete({ ...DIGESTS, key: sha256 })
    return done
  }

  /**
   * Adds a secret; the former ones are valid for `keep` more milliseconds. Undefined if there is no key with that name. `full`: all
   * that a key may have are still valid, and nothing has changed.
   */
  async rotate(name: string, keep: number): Promise<NewKey | 'full' | undefined> {
    const secret = await this.#secrets.make()
    const sha256 = hash('sha256', secret.reveal())
    const now = Date.now()
    const until = now + keep
    let gone: StoredKey['secrets'] = []
    let isFull = false
    await this.point(sha256, name)
    const key = await this.update(name, false, before => {
      const isKept = (one: { until?: number }): boolean => keep > 0 && (one.until ?? until) > now
      const former = before.secrets.filter(isKept).map(one => ({ ...one, until: Math.min(one.until ?? until, until) }))
      isFull = former.length >= MAX_SECRETS
      if (isFull) return before
      const secrets = [{ sha256 }, ...former]
      gone = before.secrets.filter(one => !secrets.some(other => other.sha256 === one.sha256))
      return { ...before, changed: now, secrets }
    })
    const unused = key === undefined || isFull ? [{ sha256 }] : gone
    for (const one of unused) await this.#store.delete({ ...DIGESTS, key: one.sha256 })
    if (key === undefined) return undefined
    return isFull ? 'full' : { key, secret }
  }

  /** Changes the terms of a key; undefined if there is none with that name. */
  async change(name: string, next: (terms: KeyTerms) => KeyTerms): Promise<StoredKey | undefined> {
    const before = await this.find(name)
    if (before === undefined) return undefined
    const counts = isCounted(next(before.terms))
    return await this.update(name, counts, key => ({ ...key, changed: Date.now(), terms: next(key.terms) }))
  }

  private async update(
    name: string,
    counts: boolean,
    next: (before: StoredKey) => StoredKey,
  ): Promise<StoredKey | undefined> {
    return await this.announced(name, counts, async () => {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const record = await this.record(name)
        if (record === undefined) return undefined
        const key = next(decodeKey(record.value))
        if ((await this.#store.replace(record, { value: encodeKey(key) })) !== undefined) return key
      }
      throw new StoreError('unavailable', `others change the key ${name} at the same time; try again`)
    })
  }

  /** Processes drop a key for a while after an announcement; a change that took longer is announced again. */
  private async announced<T>(name: string, counts: boolean, change: () => Promise<T>): Promise<T> {
    const since = performance.now()
    await announce(this.#store, name, counts)
    const done = await change()
    if (performance.now() - since > SETTLING_MS / 2) await announce(this.#store, name)
    return done
  }

  private async point(sha256: string, name: string): Promise<void> {
    const value = Buffer.from(name, 'latin1')
    await this.#store.create({ ...DIGESTS, key: sha256, created: Date.now(), expires: NEVER_EXPIRES_MS, value })
  }

  private async record(name: string): Promise<StoredRecord | undefined> {
    return isKeyName(name) ? await this.#store.get(KEYS.namespace, KEYS.owner, name) : undefined
  }
}
