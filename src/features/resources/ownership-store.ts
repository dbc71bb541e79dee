import { isObject, type JsonObject } from '../../core/json.js'
import type { ResourceKind } from '../../core/resources.js'
import { isPlace, type Range, type Store, type StoredRecord } from '../../core/store.js'
import { keepPosition, positionOf } from '../../kernel/positions.js'
import { type ServiceKey, serviceKey } from '../../kernel/services.js'
import { stored } from '../../kernel/stored.js'
import { isOwnedByAnyone } from './is-owned.js'
import { textAt, timestampOf } from './read-object.js'
import { truncateObject } from './truncate-object.js'

/** The record of a resource that an upstream keeps. */
export interface OwnedResource {
  readonly id: string
  /** The upstream that has it. */
  readonly upstream: string
  /** The object as last seen; absent if only its id is known. */
  readonly object?: JsonObject | undefined
  /** Number of lines if they were counted: the file may become a batch. */
  readonly lines?: number | undefined
  /** Its upstream last said that it does not have it: lists leave it out. */
  readonly missing?: true | undefined
}

interface ResourcePage {
  readonly items: readonly (OwnedResource & { readonly created: number })[]
  readonly more: boolean
  /** Where the next page begins: after the last item, or after the last record read, where none of many was wanted. */
  readonly end: Range['after']
}

const YEAR_MS = 365 * 24 * 3_600_000
/** How long a resource without a known end is remembered, milliseconds. */
const DEFAULT_RETENTION_MS = 5 * YEAR_MS
/** How long one is remembered that its upstream says it does not have, milliseconds: the answer may be a mistake. */
const MISSING_RETENTION_MS = 7 * 24 * 3_600_000
/** Records that are read at a time to fill a page, and at most for one page. */
const STEP_RECORDS = 100
const MAX_RECORDS_READ = 5000

export const OWNERSHIP: ServiceKey<OwnershipStore> = serviceKey('ownership')

/**
 * Who owns the resources that upstreams keep, and where they are. Records are found by their owner only, so resources of
 * other callers look like unknown ones.
 */
export class OwnershipStore {
  readonly #store: Store
  readonly #now: () => number
  #last = 0

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store
    this.#now = now
  }

  /** Throws `unavailable` if the store fails. */
  async find(owner: string, kind: ResourceKind, id: string): Promise<OwnedResource | undefined> {
    const record = await this.#record(owner, kind, id)
    return record && resourceOf(record)
  }

  /** Whether it belongs to any key; also true if there are too many owners to search. */
  isOwned(kind: ResourceKind, id: string): Promise<boolean> {
    return isOwnedByAnyone(this.#store, namespaceOf(kind), id)
  }

  /**
   * Records the owner and place of an object, and of the resources that it contains. Throws `unavailable` if the store
   * fails.
   */
  async note(
    owner: string,
    kind: ResourceKind,
    upstream: string,
    id: string,
    object: JsonObject,
    lines?: number,
  ): Promise<void> {
    const ends = kind.expires === undefined ? undefined : timestampOf(object, kind.expires)
    await this.put(owner, kind, { id, upstream, object: truncateObject(object), lines }, ends)
    for (const { kind: other, path } of kind.produces) {
      const name = textAt(object, path)
      const brought = name === undefined ? undefined : idIn(name, other)
      const known = brought === undefined ? undefined : await this.find(owner, other, brought)
      if (brought === undefined || (known !== undefined && known.missing !== true)) continue
      await this.put(owner, other, { id: brought, upstream }, undefined)
    }
  }

  /** Its position in lists, without its content, stays for a client that reads page by page. */
  async forget(owner: string, kind: ResourceKind, id: string): Promise<void> {
    const record = await this.#record(owner, kind, id)
    if (record === undefined) return
    const place = { namespace: goneOf(kind), owner, key: id, created: record.created }
    // First, so that a list read meanwhile has its position.
    await keepPosition(this.#store, place, this.#now())
    await stored(this.#store.delete({ namespace: namespaceOf(kind), owner, key: id }))
  }

  /** Its upstream says that it does not have it: it leaves lists, and is forgotten unless an answer shows it in time. */
  async missing(owner: string, kind: ResourceKind, id: string): Promise<void> {
    const record = await this.#record(owner, kind, id)
    if (record === undefined) return
    const { id: _, ...known } = resourceOf(record)
    const expires = Math.min(record.expires, this.#now() + MISSING_RETENTION_MS)
    await stored(
      this.#store.replace(record, { value: Buffer.from(JSON.stringify({ ...known, missing: true })), expires }),
    )
  }

  /** The owner's resources by creation time, after `after`, that `wanted` selects. */
  async page(
    owner: string,
    kind: ResourceKind,
    { order, after, limit }: Range,
    wanted: (object: JsonObject) => boolean,
  ): Promise<ResourcePage> {
    const items: (OwnedResource & { created: number })[] = []
    let last = after
    let end = after
    for (let read = 0; read < MAX_RECORDS_READ; read += STEP_RECORDS) {
      const range = { order, limit: STEP_RECORDS, ...(last === undefined ? {} : { after: last }) }
      const records = await stored(this.#store.list(namespaceOf(kind), owner, range))
      for (const record of records) {
        const resource = resourceOf(record)
        last = { created: record.created, key: record.key }
        if (resource.missing === true || (resource.object !== undefined && !wanted(resource.object))) continue
        if (items.length === limit) return { items, more: true, end }
        items.push({ ...resource, created: record.created })
        end = last
      }
      if (records.length < STEP_RECORDS) return { items, more: false, end }
    }
    return { items, more: true, end: last }
  }

  /** The position of the owner's resource in lists, also of one that was just deleted. */
  async cursorOf(owner: string, kind: ResourceKind, key: string): Promise<Range['after'] | undefined> {
    const known = await positionOf(this.#store, { namespace: namespaceOf(kind), owner, key })
    return known ?? (await positionOf(this.#store, { namespace: goneOf(kind), owner, key }))
  }

  async #record(owner: string, kind: ResourceKind, key: string): Promise<StoredRecord | undefined> {
    const namespace = namespaceOf(kind)
    return isPlace({ namespace, owner, key }) ? await stored(this.#store.get(namespace, owner, key)) : undefined
  }

  private async put(
    owner: string,
    kind: ResourceKind,
    resource: OwnedResource,
    ends: number | undefined,
  ): Promise<void> {
    const place = { namespace: namespaceOf(kind), owner, key: resource.id }
    // Creation times are unique, so that lists are ordered within a millisecond, too.
    const created = Math.max(this.#now(), this.#last + 1)
    this.#last = created
    const expires = ends === undefined ? created + DEFAULT_RETENTION_MS : Math.max(ends, created + 1)
    const { upstream, object, lines } = resource
    const bytesWith = (counted: number | undefined): Buffer =>
      Buffer.from(JSON.stringify({ upstream, object, lines: counted }))
    for (;;) {
      const value = bytesWith(lines)
      const made = await stored(this.#store.create({ ...place, created, expires, value }))
      if (made !== undefined) return
      const known = await stored(this.#store.get(place.namespace, owner, resource.id))
      if (known === undefined) continue
      // Later answers about the resource do not contain the number of lines.
      const kept = lines === undefined ? bytesWith(resourceOf(known).lines) : value
      if ((await stored(this.#store.replace(known, { value: kept, expires }))) !== undefined) return
    }
  }
}

/** The id in a name of that kind; undefined if the name is of another kind, or not a valid key of the store. */
export function idIn(name: string, kind: ResourceKind): string | undefined {
  if (!name.startsWith(kind.prefix)) return undefined
  const id = name.slice(kind.prefix.length)
  return isPlace({ namespace: namespaceOf(kind), owner: 'x', key: id }) ? id : undefined
}

function namespaceOf({ name }: ResourceKind): string {
  return `held-${name}`
}

/** The positions of deleted ones. */
function goneOf({ name }: ResourceKind): string {
  return `gone-${name}`
}

function resourceOf({ key, value }: StoredRecord): OwnedResource {
  const { upstream, object, lines, missing } = JSON.parse(Buffer.from(value).toString('utf8')) as Omit<
    OwnedResource,
    'id'
  >
  return { id: key, upstream, object: isObject(object) ? object : undefined, lines, missing }
}
