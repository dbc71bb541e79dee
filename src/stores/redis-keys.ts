import type { Draft, Place } from '../core/store.js'

/**
 * Number of slots over which the records of a namespace are spread. All records of an owner are in one slot, so that
 * a list, a claim and a change of a record only touch keys of one slot. Changing this number loses all stored
 * records.
 */
const SHARDS = 16

export const ALL_SHARDS: readonly number[] = Array.from({ length: SHARDS }, (_, shard) => shard)

/** The names of keys. The part in braces decides the slot. Parts of places have no spaces. */
export class RedisKeys {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  schema(): string {
    return `{${this.#prefix}}schema`
  }

  shardOf({ namespace, owner }: Pick<Place, 'namespace' | 'owner'>): number {
    let hash = 0x811c9dc5
    for (const byte of Buffer.from(`${namespace} ${owner}`)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
    return hash % SHARDS
  }

  record(place: Place): string {
    return `${this.tag(this.shardOf(place))}r:${nameOf(place)}`
  }

  /** A record and the indexes that name it: in a shard, for all scripts alike. */
  around(place: Place): readonly [record: string, order: string, due: string, expiry: string] {
    const shard = this.shardOf(place)
    return [
      this.record(place),
      this.order(place.namespace, shard),
      this.due(place.namespace, shard),
      this.expiry(shard),
    ]
  }

  /** `owner created key` by their bytes. */
  order(namespace: string, shard: number): string {
    return `${this.tag(shard)}o:${namespace}`
  }

  /** `owner key` by the moment at which a record is due. */
  due(namespace: string, shard: number): string {
    return `${this.tag(shard)}d:${namespace}`
  }

  /** `namespace owner key` by expiry, of all namespaces. */
  expiry(shard: number): string {
    return `${this.tag(shard)}x`
  }

  /** An account and the ends of its leases. All accounts and the ledger are in one slot, since one script changes them together. */
  account(name: string): readonly [account: string, ends: string] {
    return [`${this.#accounts}a:${name}`, `${this.#accounts}e:${name}`]
  }

  /** The number of a writer's last commit. */
  writer(name: string): string {
    return `${this.#accounts}w:${name}`
  }

  /** The names of days that have entries. */
  days(): string {
    return `${this.#accounts}d`
  }

  /** Entries of a day. */
  day(name: string): string {
    return `${this.#accounts}l:${name}`
  }

  blob(place: Place): string {
    return `{${this.#prefix}:b:${nameOf(place)}}m`
  }

  piece(place: Place, id: string, index: number): string {
    return `{${this.#prefix}:b:${nameOf(place)}}${id}:${index}`
  }

  get #accounts(): string {
    return `{${this.#prefix}:a}`
  }

  private tag(shard: number): string {
    return `{${this.#prefix}:${shard}}`
  }
}

export function nameOf({ namespace, owner, key }: Place): string {
  return `${namespace} ${owner} ${key}`
}

/** A record's member in the index of its owner; the scripts format `created` the same way. */
export function positionOf({ owner, created, key }: Pick<Draft, 'owner' | 'created' | 'key'>): string {
  return `${owner} ${created.toFixed(0).padStart(16, '0')} ${key}`
}
