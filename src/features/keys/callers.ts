import type { Caller, Refusal } from '../../core/caller.js'
import type { Plan } from '../../core/plan.js'
import type { Store } from '../../core/store.js'
import { type ServiceKey, serviceKey } from '../../kernel/services.js'
import { type CachedKey, KeyCache } from './key-cache.js'
import type { StoredKey } from './record.js'
import { KeySecrets } from './secrets.js'
import { StoredKeys } from './stored-keys.js'

/** A key of the store, or an identity, compiled for a plan. */
export interface StoredHolder {
  readonly caller: Caller
  readonly disabled: boolean
  /** Milliseconds since the epoch. */
  readonly expires: number
}

/** Why a valid key of the store is refused: its terms do not fit the plan, or a key of the file has its name. */
type KeyFault = 'terms' | 'name'

type Found = Caller | Refusal

interface Compiled extends CachedKey {
  /** Number of the plan that `holder` was compiled for; the plan itself must not be kept in memory. */
  plan?: number
  holder?: StoredHolder | undefined
}

export const CALLERS: ServiceKey<Callers> = serviceKey('callers')

/** Finds callers by keys of the file and of the store; those of the file need no promise. */
export class Callers {
  readonly stored: StoredKeys
  readonly #secrets: KeySecrets
  readonly #cache: KeyCache
  readonly #plans = new WeakMap<Plan, number>()
  #lastPlan = 0
  /**
   * Compiles a key of the store for a plan; undefined if its terms do not fit. Throws `unavailable` if they do not fit yet.
   */
  compile: (key: Pick<StoredKey, 'name' | 'terms'>, plan: Plan) => StoredHolder | undefined = () => undefined
  /** Called when a valid key is refused: each time it is read, or after the plan has changed. */
  onFault: (name: string, fault: KeyFault) => void = () => undefined

  constructor(store: Store, onStoreFault: (error: unknown) => void) {
    this.#secrets = new KeySecrets(store)
    this.stored = new StoredKeys(store, this.#secrets)
    this.#cache = new KeyCache(store, this.stored, this.#secrets)
    this.#cache.onFault = onStoreFault
  }

  /** Called once when keys of the store have terms that only a gateway with limits can enforce. */
  set onCounted(heard: () => Promise<void>) {
    this.#cache.onCounted = heard
  }

  /** `now` in milliseconds since the epoch. Throws, or rejects with, `unavailable` if the store is needed and fails. */
  find(plan: Plan, presented: string, now: number): Found | Promise<Found> {
    const found = plan.keys.find(presented, now)
    if (!('refused' in found) || found.digest === undefined) return found
    return this.inStore(plan, found.digest, now, presented)
  }

  /** The same by the key's SHA-256, in lower-case hex, for what its holder has created. */
  byDigest(plan: Plan, digest: string, now: number): Found | Promise<Found> {
    const found = plan.keys.byDigest(digest, now)
    return 'refused' in found && found.digest !== undefined ? this.inStore(plan, digest, now) : found
  }

  /** The same by the key's name, for what was signed in its place. */
  named(plan: Plan, name: string, now: number): Found | Promise<Found> {
    return plan.keys.named(name, now) ?? this.#namedInStore(plan, name, now)
  }

  /** Whether a text is anyone's key, which no upstream may get. */
  isKey(plan: Plan, text: string, now: number): boolean {
    return !('refused' in plan.keys.find(text, now)) || this.#secrets.isOwn(text)
  }

  /** Loads what is needed to recognize keys of the store. */
  async start(): Promise<void> {
    await this.#secrets.load()
  }

  /** When this resolves, changes made by this process are in effect. */
  async refresh(): Promise<void> {
    await this.#cache.refresh()
  }

  close(): void {
    this.#cache.close()
  }

  async #namedInStore(plan: Plan, name: string, now: number): Promise<Found> {
    const digest = await this.#cache.digestOf(name, now)
    return digest === undefined ? { refused: 'unknown' } : await this.inStore(plan, digest, now)
  }

  private inStore(plan: Plan, digest: string, now: number, presented?: string): Found | Promise<Found> {
    const known = this.#cache.known(digest)
    if (known !== undefined) return this.admit(known, plan, now)
    return this.#cache.read(digest, presented).then(read => this.admit(read, plan, now))
  }

  private admit(cached: Compiled, plan: Plan, now: number): Found {
    const { key, sha256 } = cached
    if (key === undefined) return { refused: 'unknown' }
    const number = this.numberOf(plan)
    if (cached.plan !== number) {
      cached.holder = this.holderOf(key, plan)
      cached.plan = number
    }
    const { holder } = cached
    if (holder === undefined || holder.disabled) return { refused: 'disabled' }
    const until = key.secrets.find(one => one.sha256 === sha256)?.until ?? Number.POSITIVE_INFINITY
    return now >= Math.min(until, holder.expires) ? { refused: 'expired' } : holder.caller
  }

  private numberOf(plan: Plan): number {
    const known = this.#plans.get(plan)
    if (known !== undefined) return known
    this.#plans.set(plan, ++this.#lastPlan)
    return this.#lastPlan
  }

  private holderOf(key: StoredKey, plan: Plan): StoredHolder | undefined {
    const holder = plan.keys.has(key.name) ? undefined : this.compile(key, plan)
    if (holder === undefined) this.onFault(key.name, plan.keys.has(key.name) ? 'name' : 'terms')
    return holder
  }
}
