import { jsonText, parseExact } from '../../core/exact-json.js'
import type { Json } from '../../core/json.js'
import { type Store, StoreError } from '../../core/store.js'
import { stored } from '../stored.js'

const NAMESPACE = 'sealed-reasoning'
const DAY_MS = 24 * 3_600_000

/** Bounds of what is kept of one answer. */
interface ReasoningCacheBounds {
  /** Bytes of the parts, as JSON. */
  readonly bytes: number
  /** Most calls in an answer. */
  readonly calls: number
  /** Retention, milliseconds. */
  readonly keep: number
}

const REASONING_CACHE_BOUNDS: ReasoningCacheBounds = { bytes: 1024 * 1024, calls: 64, keep: DAY_MS }

/**
 * Stores the sealed reasoning of answers with tool calls, for clients whose protocol cannot send it back: the next request
 * contains the calls' ids, by which the reasoning is found. Reasoning that is too large, too old or lost is not found; the
 * conversation then continues without it.
 */
export class ReasoningCache {
  readonly #store: Store
  readonly #bounds: ReasoningCacheBounds
  readonly #now: () => number

  constructor(store: Store, bounds: ReasoningCacheBounds = REASONING_CACHE_BOUNDS, now: () => number = Date.now) {
    this.#store = store
    this.#bounds = bounds
    this.#now = now
  }

  /**
   * Stores `parts` (JSON) under each of the calls' ids. If an id is used again, as some upstreams do, the latest parts
   * are found. False if nothing was stored.
   */
  async remember(owner: string, callIds: readonly string[], parts: Json): Promise<boolean> {
    const [first, ...others] = callIds
    const value = Buffer.from(jsonText({ parts }))
    if (first === undefined || callIds.length > this.#bounds.calls || value.length > this.#bounds.bytes) return false
    try {
      const pointer = Buffer.from(JSON.stringify({ with: first }))
      await this.put(owner, first, value)
      await Promise.all(others.map(id => this.put(owner, id, pointer)))
      return true
    } catch (cause) {
      if (cause instanceof StoreError) return false
      throw cause
    }
  }

  /** The parts stored for a call; undefined if there are none. Throws `unavailable` if the store fails. */
  async find(owner: string, callId: string): Promise<Json | undefined> {
    const entry = await this.read(owner, callId)
    if (entry === undefined || 'parts' in entry) return entry?.parts
    const leader = await this.read(owner, entry.with)
    return leader !== undefined && 'parts' in leader ? leader.parts : undefined
  }

  private async read(owner: string, id: string): Promise<Entry | undefined> {
    const record = await stored(this.#store.get(NAMESPACE, owner, id))
    return record && (parseExact(Buffer.from(record.value).toString('utf8')) as unknown as Entry)
  }

  private async put(owner: string, key: string, value: Uint8Array): Promise<void> {
    const created = this.#now()
    const expires = created + this.#bounds.keep
    for (;;) {
      const made = await this.#store.create({ namespace: NAMESPACE, owner, key, created, expires, value })
      if (made !== undefined) return
      const known = await this.#store.get(NAMESPACE, owner, key)
      if (known !== undefined && (await this.#store.replace(known, { value, expires })) !== undefined) return
    }
  }
}

type Entry = { readonly parts: Json } | { readonly with: string }
