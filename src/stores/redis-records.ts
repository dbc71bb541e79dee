import {
  type Change,
  type Claim,
  checkDraft,
  checkValue,
  type Draft,
  dueAfter,
  firstVersion,
  isNamespace,
  isPlace,
  isShelf,
  type Place,
  type Range,
  type ScanRange,
  type StoredRecord,
} from '../core/store.js'
import { listOf, numberOf, textOf, textsOf } from './redis-answers.js'
import type { RedisConnection } from './redis-connection.js'
import { ALL_SHARDS, nameOf, positionOf, type RedisKeys } from './redis-keys.js'
import { CLAIM, CREATE, DELETE, FORGET, REPLACE, SWEEP } from './redis-scripts.js'

const FIELDS = ['c', 'e', 'd', 'v', 'f', 'b'] as const
/** Maximum records whose values are fetched at once. */
const MAX_RECORDS_PER_FETCH = 50

/** Records as hashes, with three indexes a shard. */
export class RedisRecords {
  readonly #connection: RedisConnection
  readonly #keys: RedisKeys
  readonly #now: () => number

  constructor(connection: RedisConnection, keys: RedisKeys, now: () => number) {
    this.#connection = connection
    this.#keys = keys
    this.#now = now
  }

  async create(draft: Draft): Promise<StoredRecord | undefined> {
    checkDraft(draft)
    const { created, expires, due = '', value } = draft
    const version = firstVersion()
    const done = await this.#connection.run(
      CREATE,
      this.#keys.around(draft),
      ...this.about(draft),
      ...[created, expires, due],
      Buffer.from(value),
      version,
    )
    return done === 1 ? { ...draft, version, fence: 0 } : undefined
  }

  async get(place: Place): Promise<StoredRecord | undefined> {
    this.#connection.checkOpen()
    if (!isPlace(place)) return undefined
    const record = decode(place, await this.#connection.send('hmget', this.#keys.record(place), ...FIELDS))
    return record === undefined || record.expires <= this.#now() ? undefined : record
  }

  async replace(current: StoredRecord, change: Change): Promise<StoredRecord | undefined> {
    checkValue(change.value)
    const { due: _, ...rest } = current
    const next: StoredRecord = {
      ...rest,
      ...dueAfter(current, change),
      value: change.value,
      expires: change.expires ?? current.expires,
      version: current.version + 1,
    }
    const done = await this.#connection.run(
      REPLACE,
      this.#keys.around(current),
      ...this.about(current),
      ...[current.version, next.expires, next.due ?? ''],
      Buffer.from(next.value),
    )
    return done === 1 ? next : undefined
  }

  async delete(current: Place & { readonly version?: number }): Promise<boolean> {
    this.#connection.checkOpen()
    if (!isPlace(current)) return false
    const keys = this.#keys.around(current)
    return (await this.#connection.run(DELETE, keys, ...this.about(current), current.version ?? '')) === 1
  }

  async list(namespace: string, owner: string, { order, after, limit }: Range): Promise<readonly StoredRecord[]> {
    this.#connection.checkOpen()
    if (!isShelf(namespace, owner)) return []
    const shard = this.#keys.shardOf({ namespace, owner })
    const ends = { low: `[${owner} `, high: `(${owner}!` }
    const from = after === undefined ? undefined : `(${positionOf({ owner, ...after })}`
    return order === 'ascending'
      ? this.walk(namespace, shard, 'zrangebylex', from ?? ends.low, ends.high, limit)
      : this.walk(namespace, shard, 'zrevrangebylex', from ?? ends.high, ends.low, limit)
  }

  async scan(namespace: string, { after, limit }: ScanRange): Promise<readonly StoredRecord[]> {
    this.#connection.checkOpen()
    if (!isNamespace(namespace)) return []
    const first = after === undefined ? 0 : this.#keys.shardOf({ namespace, owner: after.owner })
    const found: StoredRecord[] = []
    for (const shard of ALL_SHARDS.slice(first)) {
      if (found.length >= limit) break
      const from = after !== undefined && shard === first ? `(${positionOf(after)}` : '-'
      found.push(...(await this.walk(namespace, shard, 'zrangebylex', from, '+', limit - found.length)))
    }
    return found
  }

  /** The earliest of all shards are looked for first, and then taken one by one: who comes second gets nothing. */
  async claim(namespace: string, { now, until, limit }: Claim): Promise<readonly StoredRecord[]> {
    if (!isNamespace(namespace)) return []
    const due = await this.dues(namespace, now, limit)
    const taken = await Promise.all(
      due.slice(0, limit).map(async ({ shard, member }) => {
        const place = placeOf(`${namespace} ${member}`)
        const keys = [this.#keys.due(namespace, shard), this.#keys.record(place)]
        return decode(place, await this.#connection.run(CLAIM, keys, now, until, member))
      }),
    )
    return taken.filter(record => record !== undefined)
  }

  async nextDue(namespace: string): Promise<number | undefined> {
    if (!isNamespace(namespace)) return undefined
    const [first] = await this.dues(namespace, '+inf', 1)
    return first?.due
  }

  async sweep(now: number, limit: number): Promise<number> {
    let taken = 0
    for (const shard of ALL_SHARDS) {
      if (taken >= limit) break
      const range = ['-inf', now, 'LIMIT', 0, limit - taken] as const
      const names = textsOf(await this.#connection.send('zrangebyscore', this.#keys.expiry(shard), ...range))
      const swept = await Promise.all(
        names.map(name => {
          const { namespace, owner, key } = placeOf(name)
          const keys = this.#keys.around({ namespace, owner, key })
          return this.#connection.run(SWEEP, keys, now, owner, key, name)
        }),
      )
      taken += swept.filter(one => one === 1).length
    }
    return taken
  }

  private async dues(
    namespace: string,
    most: number | '+inf',
    limit: number,
  ): Promise<{ readonly shard: number; readonly member: string; readonly due: number }[]> {
    const shards = await Promise.all(
      ALL_SHARDS.map(async shard => {
        const range = ['-inf', most, 'WITHSCORES', 'LIMIT', 0, limit] as const
        const flat = await this.#connection.send('zrangebyscore', this.#keys.due(namespace, shard), ...range)
        return pairs(textsOf(flat)).map(([member, due]) => ({ shard, member, due: Number(due) }))
      }),
    )
    return shards.flat().sort((a, b) => a.due - b.due)
  }

  private async walk(
    namespace: string,
    shard: number,
    command: 'zrangebylex' | 'zrevrangebylex',
    start: string,
    end: string,
    limit: number,
  ): Promise<StoredRecord[]> {
    const found: StoredRecord[] = []
    const index = this.#keys.order(namespace, shard)
    for (let from = start; found.length < limit; ) {
      const wanted = Math.min(MAX_RECORDS_PER_FETCH, limit - found.length)
      const members = textsOf(await this.#connection.send(command, index, from, end, 'LIMIT', 0, wanted))
      found.push(...(await this.fetch(namespace, index, members)))
      const last = members.at(-1)
      if (last === undefined || members.length < wanted) break
      from = `(${last}`
    }
    return found
  }

  private async fetch(namespace: string, index: string, members: readonly string[]): Promise<StoredRecord[]> {
    const now = this.#now()
    const records = await Promise.all(
      members.map(async member => {
        const [owner = '', , key = ''] = member.split(' ')
        const place = { namespace, owner, key }
        const name = this.#keys.record(place)
        const record = decode(place, await this.#connection.send('hmget', name, ...FIELDS))
        if (record === undefined) await this.#connection.run(FORGET, [name, index], member)
        // The member may be of a record that was evicted, and whose key another one has by now.
        const isMember = record !== undefined && positionOf(record) === member
        return isMember && record.expires > now ? [record] : []
      }),
    )
    return records.flat()
  }

  private about(place: Place): readonly [now: number, owner: string, key: string, name: string] {
    return [this.#now(), place.owner, place.key, nameOf(place)]
  }
}

/** Undefined where a field is missing, as in a hash that was evicted. */
function decode({ namespace, owner, key }: Place, answer: unknown): StoredRecord | undefined {
  const [c, e, d, v, f, value] = listOf(answer)
  const [created, expires, version, fence] = [numberOf(c), numberOf(e), numberOf(v), numberOf(f)]
  if (created === undefined || expires === undefined || version === undefined || fence === undefined) return undefined
  if (!Buffer.isBuffer(value) || textOf(d) === undefined) return undefined
  const due = numberOf(d)
  return { namespace, owner, key, created, expires, ...(due !== undefined && { due }), version, fence, value }
}

function placeOf(name: string): Place {
  const [namespace = '', owner = '', key = ''] = name.split(' ')
  return { namespace, owner, key }
}

function pairs(flat: readonly string[]): (readonly [string, string])[] {
  return flat.flatMap((item, index) => (index % 2 === 0 ? [[item, flat[index + 1] ?? ''] as const] : []))
}
