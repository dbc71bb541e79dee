import type { Exchange } from '../../core/plan.js'
import type { Store, StoredRecord } from '../../core/store.js'
import { isOwnId } from '../../kernel/own-ids.js'
import { stored } from '../../kernel/stored.js'
import { isOwnedByAnyone } from '../resources/is-owned.js'
import { exchangeForUnknownIds } from '../resources/unknown-ids.js'
import { STATE_BOUNDS, type StateBounds } from './bounds.js'
import { noItem, noPrevious, tooLong, tooManyOutside, unfinishedPrevious } from './faults.js'
import { ItemIndex } from './item-index.js'
import { type Item, withIds } from './items.js'
import { NamedConversations } from './named-conversations.js'
import { idOf, isReference } from './references.js'
import {
  decodeStored,
  encodeStored,
  headOf,
  isLost,
  isUnfinished,
  type KeptResponse,
  type OwnResponse,
  outputOf,
  type StoredHead,
  type StoredResponse,
} from './stored.js'

const RESPONSES = 'responses'
/** Most ids of one request that were made elsewhere: each is looked up for every key. */
const MAX_OUTSIDE = 32

/** A conversation with an id, and its number of lines when a turn began. */
export interface NamedTurn {
  readonly id: string
  readonly lines: number
}

/** A conversation up to one of its responses, as the next turn inherits it. */
export interface Conversation {
  readonly kind: 'own'
  readonly items: readonly Item[]
  readonly turns: number
  readonly bytes: number
  /** On a connection: the targets of references in the items. */
  readonly found?: ReadonlyMap<string, Found>
}

/** The target of a reference: the item itself, or the name of the upstream that keeps it. */
export type Found = { readonly item: Item } | { readonly upstream: string }

type Change = (response: OwnResponse) => OwnResponse | undefined

/** Responses that can be continued, by their owners only. */
export class Conversations {
  readonly bounds: StateBounds
  /** Conversations with ids. */
  readonly named: NamedConversations
  readonly #store: Store
  readonly #now: () => number
  readonly #onFault: (error: unknown) => void
  /** Responses being written. */
  readonly #pending = new Map<string, StoredResponse>()
  /** Their writes, which a deletion waits for. */
  readonly #writing = new Map<string, Promise<void>>()
  readonly #items: ItemIndex
  readonly #writes = new Set<Promise<unknown>>()

  /** `onFault` is called for each write that fails, whether or not a client waits for it. */
  constructor(
    store: Store,
    bounds: StateBounds = STATE_BOUNDS,
    now: () => number = Date.now,
    onFault: (error: unknown) => void = () => undefined,
  ) {
    this.#store = store
    this.bounds = bounds
    this.#now = now
    this.named = new NamedConversations(store, bounds, now)
    this.#items = new ItemIndex(store, bounds, now)
    this.#onFault = onFault
  }

  /** Throws `unavailable` if the store fails. */
  async find(owner: string, id: string): Promise<StoredResponse | undefined> {
    return this.#pending.get(addressOf(owner, id)) ?? (await this.load(owner, id))?.response
  }

  /** Whether any key has a response with that id. */
  async isOwned(id: string): Promise<boolean> {
    const isPending = [...this.#pending.values()].some(response => response.id === id)
    return isPending || (await isOwnedByAnyone(this.#store, RESPONSES, id))
  }

  /**
   * The whole conversation that ends with a response, oldest item first, or the upstream that keeps it. Throws
   * `previous_response_not_found`, and `invalid_parameter` if the response is still running or if the conversation is over a
   * bound, which is checked before it is read.
   */
  async upTo(owner: string, id: string): Promise<Conversation | KeptResponse> {
    const turns: (readonly Item[])[] = []
    const met: StoredRecord[] = []
    let last: OwnResponse | undefined
    for (let at: string | undefined = id; at !== undefined && turns.length <= this.bounds.turns; ) {
      const { record, response } = await this.known(owner, at, last === undefined)
      // An upstream that keeps the last response also keeps the earlier ones.
      if (response.kind === 'kept') {
        if (last === undefined) return response
        throw noPrevious(at)
      }
      if (record !== undefined) met.push(record)
      if (isUnfinished(response) && !isLost(response, this.#now())) throw unfinishedPrevious(at)
      last ??= response
      turns.push([...response.input, ...outputOf(response)])
      at = response.previous
      if (response.conversation !== undefined) turns.push(await this.inheritedFrom(owner, response.conversation))
    }
    if (last === undefined) throw noPrevious(id)
    this.renew(met)
    return { kind: 'own', items: turns.reverse().flat(), turns: last.turns, bytes: last.bytes }
  }

  /**
   * The items that led to a response: inherited ones and its client's own, each with an id, oldest first.
   */
  async inputOf(owner: string, { id, input, previous, conversation }: OwnResponse): Promise<readonly Item[]> {
    const turns: (readonly Item[])[] = [withIds(input, id)]
    if (conversation !== undefined) turns.push(await this.inheritedFrom(owner, conversation))
    for (let before = previous; before !== undefined && turns.length <= this.bounds.turns; ) {
      const { response } = await this.known(owner, before)
      if (response.kind === 'kept') throw noPrevious(before)
      turns.push([...withIds(response.input, response.id), ...outputOf(response)])
      before = response.previous
      if (response.conversation !== undefined) turns.push(await this.inheritedFrom(owner, response.conversation))
    }
    return turns.reverse().flat()
  }

  /** The items that a response inherited from its named conversation, without those deleted since. */
  private async inheritedFrom(
    owner: string,
    { id, lines }: NonNullable<OwnResponse['conversation']>,
  ): Promise<readonly Item[]> {
    return this.named.itemsOf(await this.named.find(owner, id), lines)
  }

  /**
   * Finds what each id refers to: an item of the conversation so far, an item of one of the owner's responses, or one that an
   * upstream keeps for the owner, or accepts though it belongs to no key. Throws `not_found` for any other. `before`: what was
   * found for earlier turns.
   */
  async locate(
    owner: string,
    ids: readonly string[],
    earlier: readonly Item[],
    exchanges: readonly Exchange[] = [],
    before?: ReadonlyMap<string, Found>,
  ): Promise<ReadonlyMap<string, Found>> {
    const known = new Map<string, Found>()
    if (ids.length === 0) return known
    for (const item of earlier) {
      if (typeof item.id === 'string' && !isReference(item)) known.set(item.id, { item })
    }
    const wanted = new Set(ids)
    let asked = 0
    let outside = 0
    for (const id of wanted) {
      if (known.has(id)) continue
      const target = before?.get(id)
      if (target !== undefined && isTaken(target, exchanges)) {
        known.set(id, target)
        continue
      }
      if (asked++ < this.bounds.references) await this.learn(owner, id, known)
      if (known.has(id)) continue
      const upstream = outside++ < MAX_OUTSIDE ? await this.outsideItem(id, exchanges) : undefined
      if (upstream === undefined) throw outside > MAX_OUTSIDE ? tooManyOutside(MAX_OUTSIDE) : noItem(id)
      known.set(id, { upstream })
    }
    for (const id of known.keys()) if (!wanted.has(id)) known.delete(id)
    return known
  }

  /**
   * The name of the upstream that accepts an id which was made elsewhere; undefined if none does, or if the id belongs to a
   * key or was made here. Throws `invalid_parameter` if several do.
   */
  async outside(id: string, exchanges: readonly Exchange[], param?: string): Promise<string | undefined> {
    if (!mayPass(id, exchanges) || (await this.isOwned(id))) return undefined
    return exchangeForUnknownIds(exchanges, id, param)?.upstream.name
  }

  /** The same for an item's id. */
  private async outsideItem(id: string, exchanges: readonly Exchange[]): Promise<string | undefined> {
    if (!mayPass(id, exchanges) || (await this.#items.isOwned(id))) return undefined
    return exchangeForUnknownIds(exchanges, id, 'input')?.upstream.name
  }

  /** The same for a conversation's id. */
  async outsideConversation(id: string, exchanges: readonly Exchange[]): Promise<string | undefined> {
    if (!mayPass(id, exchanges) || (await this.named.isOwned(id))) return undefined
    return exchangeForUnknownIds(exchanges, id, 'conversation')?.upstream.name
  }

  /** The items with references replaced by their items. Throws `not_found` if an item is not stored here. */
  async resolve(owner: string, items: readonly Item[], earlier: readonly Item[]): Promise<readonly Item[]> {
    const ids = items.filter(isReference).map(idOf)
    if (ids.length === 0) return items
    const known = await this.locate(owner, ids, earlier)
    return items.map(item => {
      const found = isReference(item) ? known.get(idOf(item)) : { item }
      if (found === undefined || !('item' in found)) throw noItem(idOf(item))
      return found.item
    })
  }

  /** Resolves when no write is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#writes)
    await this.named.settled()
  }

  /** Stores a response. Rejects with a `StoreError` if it cannot. */
  remember(owner: string, response: StoredResponse): Promise<void> {
    const address = addressOf(owner, response.id)
    const work = this.write(owner, response)
    this.#writing.set(address, work)
    const done = (): void => void this.#writing.delete(address)
    work.then(done, done)
    return this.track(work)
  }

  /** Adds a turn's input and output to the conversation with an id that it was given. */
  extend(owner: string, { id, lines }: NamedTurn, items: readonly Item[]): Promise<unknown> {
    return this.track(this.named.add(owner, id, items, lines))
  }

  /** Records the item ids of a response that an upstream keeps. */
  refer(owner: string, response: Pick<StoredResponse, 'id' | 'created'>, items: readonly string[]): Promise<void> {
    return this.track(this.#items.note(owner, response, items))
  }

  private async write(owner: string, response: StoredResponse): Promise<void> {
    const address = addressOf(owner, response.id)
    this.#pending.set(address, response)
    try {
      const { id: key, created } = response
      const expires = this.#now() + this.bounds.keep
      const value = await encodeStored(response)
      await this.#store.create({ namespace: RESPONSES, owner, key, created, expires, value })
      if (response.kind === 'own') await this.#items.note(owner, response, itemIdsOf(response))
    } finally {
      this.#pending.delete(address)
    }
  }

  /**
   * Changes a stored response; `change` returns undefined if there is nothing to change. Returns what is stored in the end, or
   * undefined if the response is gone. `soon`: the expected result, for reads before it is written.
   */
  update(owner: string, id: string, change: Change, soon?: OwnResponse): Promise<OwnResponse | undefined> {
    const address = addressOf(owner, id)
    if (soon !== undefined) this.#pending.set(address, soon)
    const changed = this.change(owner, id, change).finally(() => {
      if (soon !== undefined) this.#pending.delete(address)
    })
    return this.track(changed)
  }

  private async change(owner: string, id: string, change: Change): Promise<OwnResponse | undefined> {
    for (;;) {
      const found = await this.load(owner, id)
      if (found?.response.kind !== 'own') return undefined
      const next = change(found.response)
      if (next === undefined) return found.response
      if ((await stored(this.#store.replace(found.record, { value: await encodeStored(next) }))) === undefined) continue
      await stored(this.#items.note(owner, next, itemIdsOf(next)))
      return next
    }
  }

  /** False if there was none. */
  async forget(owner: string, response: StoredResponse): Promise<boolean> {
    // A write under way would bring it back.
    await this.#writing.get(addressOf(owner, response.id))?.catch(() => undefined)
    const gone = await stored(this.#store.delete({ namespace: RESPONSES, owner, key: response.id }))
    if (gone && response.kind === 'own') await this.#items.forget(owner, itemIdsOf(response))
    return gone
  }

  private track<T>(work: Promise<T>): Promise<T> {
    this.#writes.add(work)
    const done = (): void => void this.#writes.delete(work)
    work.then(done, (error: unknown) => {
      done()
      this.#onFault(error)
    })
    return work
  }

  /** Throws `invalid_parameter` if a conversation of that size cannot be continued. */
  checkSize({ turns, bytes, items }: StoredHead): void {
    const { bounds } = this
    if (turns > bounds.turns) throw tooLong(`has more than ${bounds.turns} turns`, 'conversation_turns')
    if (bytes > bounds.bytes) throw tooLong(`takes more than ${bounds.bytes} bytes`, 'conversation_bytes')
    if (items > bounds.items) throw tooLong(`has more than ${bounds.items} items`, 'conversation_items')
  }

  /** `goesOn`: the conversation gets another turn. */
  private async load(
    owner: string,
    id: string,
    goesOn = false,
  ): Promise<{ readonly record: StoredRecord; readonly response: StoredResponse } | undefined> {
    const record = await stored(this.#store.get(RESPONSES, owner, id))
    if (record === undefined) return undefined
    const head = goesOn ? headOf(record.value) : undefined
    if (head !== undefined) this.checkSize({ ...head, turns: head.turns + 1 })
    const response = await decodeStored(record.value)
    return response && { record, response }
  }

  private async known(
    owner: string,
    id: string,
    goesOn = false,
  ): Promise<{ readonly record: StoredRecord | undefined; readonly response: StoredResponse }> {
    const pending = this.#pending.get(addressOf(owner, id))
    const found = pending === undefined ? await this.load(owner, id, goesOn) : { record: undefined, response: pending }
    if (found === undefined) throw noPrevious(id)
    return found
  }

  /** Extends the life of earlier turns of a conversation that is continued. */
  private renew(records: readonly StoredRecord[]): void {
    const now = this.#now()
    for (const record of records) {
      if (record.expires - now > this.bounds.keep / 2) continue
      // A failure here is harmless until the record expires.
      this.#store.replace(record, { value: record.value, expires: now + this.bounds.keep }).catch(() => undefined)
    }
  }

  private async learn(owner: string, id: string, known: Map<string, Found>): Promise<void> {
    const entry = await this.#items.responseOf(owner, id)
    const response = entry === undefined ? undefined : await this.find(owner, entry)
    if (response?.kind === 'kept') known.set(id, { upstream: response.upstream })
    if (response?.kind !== 'own') return
    for (const item of outputOf(response)) if (typeof item.id === 'string') known.set(item.id, { item })
  }
}

/** Whether the upstream of an item that was made elsewhere takes such items still. */
function isTaken(found: Found, exchanges: readonly Exchange[]): boolean {
  return exchanges.some(
    ({ upstream }) => 'upstream' in found && upstream.name === found.upstream && upstream.passesUnknown,
  )
}

/** Whether an id may have been made elsewhere, and some upstream accepts such ids. */
function mayPass(id: string, exchanges: readonly Exchange[]): boolean {
  return id !== '' && !isOwnId(id) && exchanges.some(({ upstream }) => upstream.passesUnknown)
}

function itemIdsOf(response: OwnResponse): readonly string[] {
  return outputOf(response).flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
}

function addressOf(owner: string, id: string): string {
  return `${owner} ${id}`
}
