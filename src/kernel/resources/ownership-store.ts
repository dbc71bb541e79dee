import { isObject, type JsonObject } from '../../core/json.js'
import type { ResourceKind } from '../../core/resources.js'
import { isPlace, type Range, type Store, type StoredRecord } from '../../core/store.js'
import { stored } from '../responses/faults.js'
import { isOwnedByAnyone } from './is-owned.js'
import { textAt, timestampOf } from './read-object.js'
import { truncateObject } from './truncate-object.js'

/** What is written down of a thing that an upstream keeps. */
export interface OwnedResource {
  readonly id: string
  /** The upstream that has it. */
  readonly upstream: string
  /** The object as it was last seen; absent where only its id has been. */
  readonly object?: JsonObject | undefined
}

interface ResourcePage {
  readonly items: readonly (OwnedResource & { readonly created: number })[]
  readonly more: boolean
}

const YEAR_MS = 365 * 24 * 3_600_000
/** How long a thing is remembered of which nobody says when it ends, milliseconds. */
const DEFAULT_RETENTION_MS = 5 * YEAR_MS
/** Records that are read at a time while a page is put together, and at most for one page. */
const STEP_RECORDS = 100
const MAX_RECORDS_READ = 5000

/**
 * Who owns what upstreams keep, and where it is. A record is found with its owner's name only, so that what is not one's
 * own and what does not exist are the same.
 */
export class OwnershipStore {
  readonly #store: Store
  readonly #now: () => number
  #last = 0

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store
    this.#now = now
  }

  /** Throws `unavailable` where the store fails. */
  async find(owner: string, kind: ResourceKind, id: string): Promise<OwnedResource | undefined> {
    const place = { namespace: namespaceOf(kind), owner, key: id }
    if (!isPlace(place)) return undefined
    const record = await stored(this.#store.get(place.namespace, owner, id))
    return record && resourceOf(record)
  }

  /** Whether it belongs to any key, as far as can be told. */
  isOwned(kind: ResourceKind, id: string): Promise<boolean> {
    return isOwnedByAnyone(this.#store, namespaceOf(kind), id)
  }

  /**
   * Writes down that the object is the owner's and where it is, and so for what it brings. Throws `unavailable` where the
   * store fails.
   */
  async note(owner: string, kind: ResourceKind, upstream: string, id: string, object: JsonObject): Promise<void> {
    const ends = kind.expires === undefined ? undefined : timestampOf(object, kind.expires)
    await this.put(owner, kind, { id, upstream, object: truncateObject(object) }, ends)
    for (const { kind: other, path } of kind.produces) {
      const name = textAt(object, path)
      const brought = name === undefined ? undefined : idIn(name, other)
      if (brought === undefined || (await this.find(owner, other, brought)) !== undefined) continue
      await this.put(owner, other, { id: brought, upstream }, undefined)
    }
  }

  async forget(owner: string, kind: ResourceKind, id: string): Promise<void> {
    await stored(this.#store.delete({ namespace: namespaceOf(kind), owner, key: id }))
  }

  /** The owner's things in the order in which they came, from the one behind `after` on; `wanted` chooses among them. */
  async page(
    owner: string,
    kind: ResourceKind,
    { order, after, limit }: Range,
    wanted: (object: JsonObject) => boolean,
  ): Promise<ResourcePage> {
    const items: (OwnedResource & { created: number })[] = []
    let last = after
    for (let read = 0; read < MAX_RECORDS_READ; read += STEP_RECORDS) {
      const range = { order, limit: STEP_RECORDS, ...(last === undefined ? {} : { after: last }) }
      const records = await stored(this.#store.list(namespaceOf(kind), owner, range))
      for (const record of records) {
        const resource = resourceOf(record)
        last = { created: record.created, key: record.key }
        if (resource.object !== undefined && !wanted(resource.object)) continue
        if (items.length === limit) return { items, more: true }
        items.push({ ...resource, created: record.created })
      }
      if (records.length < STEP_RECORDS) return { items, more: false }
    }
    return { items, more: true }
  }

  /** When the owner's thing came, to go on behind it in a list. */
  async cursorOf(owner: string, kind: ResourceKind, id: string): Promise<Range['after'] | undefined> {
    const place = { namespace: namespaceOf(kind), owner, key: id }
    const record = isPlace(place) ? await stored(this.#store.get(place.namespace, owner, id)) : undefined
    return record && { created: record.created, key: record.key }
  }

  private async put(
    owner: string,
    kind: ResourceKind,
    resource: OwnedResource,
    ends: number | undefined,
  ): Promise<void> {
    const place = { namespace: namespaceOf(kind), owner, key: resource.id }
    // Lists are in the order in which things came, also within a millisecond.
    const created = Math.max(this.#now(), this.#last + 1)
    this.#last = created
    const expires = ends === undefined ? created + DEFAULT_RETENTION_MS : Math.max(ends, created + 1)
    const value = Buffer.from(JSON.stringify({ upstream: resource.upstream, object: resource.object }))
    for (;;) {
      const made = await stored(this.#store.create({ ...place, created, expires, value }))
      if (made !== undefined) return
      const known = await stored(this.#store.get(place.namespace, owner, resource.id))
      if (known !== undefined && (await stored(this.#store.replace(known, { value, expires }))) !== undefined) return
    }
  }
}

/** The id in a name of that kind; undefined where the name is of another kind, or none that could be looked up. */
export function idIn(name: string, kind: ResourceKind): string | undefined {
  if (!name.startsWith(kind.prefix)) return undefined
  const id = name.slice(kind.prefix.length)
  return isPlace({ namespace: namespaceOf(kind), owner: 'x', key: id }) ? id : undefined
}

function namespaceOf({ name }: ResourceKind): string {
  return `held-${name}`
}

function resourceOf({ key, value }: StoredRecord): OwnedResource {
  const { upstream, object } = JSON.parse(Buffer.from(value).toString('utf8')) as Omit<OwnedResource, 'id'>
  return { id: key, upstream, object: isObject(object) ? object : undefined }
}
