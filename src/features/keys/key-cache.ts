import { GatewayError } from '../../core/errors.js'
import { LruCache } from '../../core/lru.js'
import { type Store, StoreError } from '../../core/store.js'
import { isKeyName, type StoredKey } from './record.js'
import { type Revision, readRevision, SETTLING_MS } from './revisions.js'
import type { KeySecrets } from './secrets.js'
import type { StoredKeys } from './stored-keys.js'

/** Most cached keys are twice as many. */
const HALF_CACHED_KEYS = 10_000
/** How often the store is polled for changed keys while its keys are used, milliseconds. */
const POLL_MS = 500
/** A cached key counts if a poll confirmed it that began at most so long ago, milliseconds: changes take effect within a second. */
const FRESH_MS = 900
/** After so many polls without a use polling pauses, until the next use. */
const MAX_IDLE_POLLS = 20
/** Look-ups under way at a time. */
const MAX_LOOKUPS = 1000

/** A digest's key in the store; undefined keys are cached, too. */
export interface CachedKey {
  readonly sha256: string
  readonly key: StoredKey | undefined
}

/**
 * Caches keys of the store. While they are used, one small record that lists changes is polled twice a second; without
 * use nothing is read. Where polls are late, because the process or the store is busy, requests wait for one. If the store is
 * unavailable, cached keys keep working.
 */
export class KeyCache {
  readonly #store: Store
  readonly #keys: StoredKeys
  readonly #secrets: KeySecrets
  readonly #cached = new LruCache<CachedKey>(HALF_CACHED_KEYS)
  /** The same keys by their names, for what was signed in place of a secret. */
  readonly #named = new LruCache<StoredKey | undefined>(HALF_CACHED_KEYS)
  readonly #pending = new Map<string, { readonly since: number; readonly reading: Promise<CachedKey> }>()
  /** Names whose change may still be under way, and until when, on the monotonic clock. */
  readonly #settling = new Map<string, number>()
  /** Until then, every key may still be changing. */
  #allSettling = 0
  /** Number of the last revision that was read. */
  #number = 0
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  /** When the last poll began that was answered, on the monotonic clock; while the store is unavailable, that does not count. */
  #confirmed = Number.NEGATIVE_INFINITY
  #isAway = false
  #idlePolls = 0
  #counting: Promise<void> | undefined
  /** Called once when keys have terms that only a gateway with limits can enforce. */
  onCounted: () => Promise<void> = async () => undefined
  /** Called when the store cannot be polled. */
  onFault: (error: unknown) => void = () => undefined

  constructor(store: Store, keys: StoredKeys, secrets: KeySecrets) {
    this.#store = store
    this.#keys = keys
    this.#secrets = secrets
  }

  /** A digest's cached key, if the cache is up to date. */
  known(sha256: string): CachedKey | undefined {
    if (this.#timer === undefined || !this.isFresh(performance.now())) return undefined
    this.#idlePolls = 0
    return this.#cached.get(sha256)
  }

  /**
   * Reads the key of a digest. `presented`: the secret, if known; one that was not made for this store is refused without
   * reading it. Throws `unavailable` if the store does not answer.
   */
  async read(sha256: string, presented?: string): Promise<CachedKey> {
    const since = performance.now()
    const pending = this.#pending.get(sha256)
    if (pending !== undefined && since - pending.since < FRESH_MS) return await pending.reading
    if (this.#pending.size >= MAX_LOOKUPS) throw unavailable(undefined)
    const lookUp = { since, reading: this.lookUp(sha256, presented) }
    this.#pending.set(sha256, lookUp)
    try {
      return await lookUp.reading
    } finally {
      if (this.#pending.get(sha256) === lookUp) this.#pending.delete(sha256)
    }
  }

  /** The digest of a secret of that key, a valid one if it has one. Throws `unavailable` if the store does not answer. */
  async digestOf(name: string, now: number): Promise<string | undefined> {
    if (!isKeyName(name)) return undefined
    try {
      const { secrets = [] } = (await this.upToDate(this.#named, name, () => this.#keys.find(name))) ?? {}
      return (secrets.find(({ until = Number.POSITIVE_INFINITY }) => now < until) ?? secrets[0])?.sha256
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.onFault(error)
      throw unavailable(error)
    }
  }

  /** Polls for changed keys now. Never throws. */
  async refresh(): Promise<void> {
    await this.#polling
    await this.poll()
    await this.#counting
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  private async lookUp(sha256: string, presented: string | undefined): Promise<CachedKey> {
    if (presented !== undefined && !(await this.#secrets.fits(presented))) return { sha256, key: undefined }
    try {
      return await this.load(sha256)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.onFault(error)
      const known = this.#cached.get(sha256)
      if (known?.key !== undefined) return known
      throw unavailable(error)
    }
  }

  private async load(sha256: string): Promise<CachedKey> {
    const found = await this.upToDate(this.#cached, sha256, async () => {
      return { sha256, key: await this.#keys.findByDigest(sha256) }
    })
    if (found.key !== undefined && this.#cached.get(sha256) === found) this.#named.set(found.key.name, found.key)
    return found
  }

  /** What a cache has, else what `find` gives. */
  private async upToDate<T>(cache: LruCache<T>, id: string, find: () => Promise<T>): Promise<T> {
    await this.confirmed()
    this.#idlePolls = 0
    this.#timer ??= setInterval(() => void this.tick(), POLL_MS).unref()
    const known = cache.get(id)
    if (known !== undefined) return known
    const before = this.#number
    const found = await find()
    // A change in the meantime may concern the key that was read.
    if (before === this.#number) cache.set(id, found)
    return found
  }

  private isFresh(now: number): boolean {
    return this.#isAway || now - this.#confirmed < FRESH_MS
  }

  /** Resolves when the cache is up to date, or the store is unavailable. */
  private async confirmed(): Promise<void> {
    const arrived = performance.now()
    if (this.#timer !== undefined && this.isFresh(arrived)) return
    // A poll that is under way may have begun too long ago; the one after it has not.
    for (let polls = 0; polls < 2; polls++) {
      await (this.#polling ?? this.poll())
      if (this.isFresh(arrived)) return
    }
  }

  private async tick(): Promise<void> {
    if (this.#polling !== undefined) return
    if (++this.#idlePolls > MAX_IDLE_POLLS) this.close()
    else await this.poll()
  }

  private async poll(): Promise<void> {
    const begun = performance.now()
    this.#polling = readRevision(this.#store)
      .then(revision => {
        this.see(revision)
        this.#confirmed = begun
        this.#isAway = false
      })
      .catch((error: unknown) => {
        this.#isAway = true
        this.onFault(error)
      })
      .finally(() => {
        this.#polling = undefined
      })
    await this.#polling
  }

  /** Drops keys that have changed since the last revision, and those that may still be changing. */
  private see({ number, names, counted }: Revision): void {
    if (counted === true) this.#counting ??= this.onCounted().catch((error: unknown) => this.onFault(error))
    const now = performance.now()
    const until = now + SETTLING_MS
    // At the first poll, every announced change may still be under way.
    const missed = number - this.#number
    if (missed < 0 || missed > names.length) this.#allSettling = until
    else for (const name of names.slice(0, missed)) this.#settling.set(name, until)
    this.#number = number
    const isAll = now < this.#allSettling
    if (!isAll && this.#settling.size === 0) return
    this.#cached.prune(({ key }) => isAll || key === undefined || this.#settling.has(key.name))
    this.#named.prune(key => isAll || key === undefined || this.#settling.has(key.name))
    for (const [name, end] of this.#settling) if (end <= now) this.#settling.delete(name)
  }
}

function unavailable(cause: unknown): GatewayError {
  return new GatewayError('unavailable', 'The key cannot be checked at the moment.', { retryAfter: 1000, cause })
}
