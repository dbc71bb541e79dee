import type { JsonObject } from '../../core/json.js'
import { isPlace, type Store, type StoredRecord } from '../../core/store.js'
import { itemId, newId } from '../../kernel/own-ids.js'
import { stored } from '../../kernel/stored.js'
import { yieldToEventLoop } from '../../kernel/translate/steps.js'
import { isOwnedByAnyone } from '../resources/is-owned.js'
import type { StateBounds } from './bounds.js'
import {
  type ConversationHead,
  type ConversationRecord,
  decodeConversation,
  encodeConversation,
  hasItem,
  itemLines,
  parsedItem,
  withItems,
  withoutItem,
} from './conversation-lines.js'
import { noConversation, noConversationItem, tooLongConversation } from './faults.js'
import { type Item, typeOf } from './items.js'

const CONVERSATIONS = 'conversations'
/** A valid id of an item. */
const SOUND_ID = /^[\x21-\x7e]{1,128}$/
/** Most bytes of items that are parsed in one turn of the event loop. */
const STEP_BYTES = 256 * 1024

/** A conversation with its id. */
export interface NamedConversation extends ConversationRecord {
  readonly id: string
}

type Change = (current: NamedConversation) => ConversationRecord

/** Conversations that clients created, each visible to its owner only. They expire, as responses do, when no longer used. */
export class NamedConversations {
  readonly #store: Store
  readonly #bounds: StateBounds
  readonly #now: () => number
  /** The latest change of each conversation, while it is written. */
  readonly #writes = new Map<string, Promise<unknown>>()

  constructor(store: Store, bounds: StateBounds, now: () => number) {
    this.#store = store
    this.#bounds = bounds
    this.#now = now
  }

  /** Throws `invalid_parameter` if the items are over a bound, and `unavailable` if the store fails. */
  async create(owner: string, metadata: JsonObject, items: readonly Item[]): Promise<NamedConversation> {
    const id = newId('conv_')
    const created = this.#now()
    const empty = { id, head: { created, metadata, lines: 0, items: 0, bytes: 0 }, lines: Buffer.alloc(0) }
    const record = withItems(empty, withFreshIds(items, empty))
    this.check(record)
    const place = { namespace: CONVERSATIONS, owner, key: id }
    const expires = created + this.#bounds.keep
    await stored(this.#store.create({ ...place, created, expires, value: encodeConversation(record) }))
    return { id, ...record }
  }

  /** Throws `not_found` if the owner has no such conversation. */
  async find(owner: string, id: string): Promise<NamedConversation> {
    await this.#writes.get(addressOf(owner, id))?.catch(() => undefined)
    return (await this.load(owner, id)).conversation
  }

  /** Whether any key has a conversation with that id. */
  isOwned(id: string): Promise<boolean> {
    return isOwnedByAnyone(this.#store, CONVERSATIONS, id)
  }

  /** All items, or those of the first `lines` lines, from line `first` on. Throws `not_found`. */
  async itemsOf(conversation: NamedConversation, lines?: number, first?: number): Promise<readonly Item[]> {
    const items: Item[] = []
    let step = 0
    for (const line of itemLines(conversation, lines, first)) {
      items.push(parsedItem(line))
      step += line.json.length
      if (step < STEP_BYTES) continue
      step = 0
      await yieldToEventLoop(Number.POSITIVE_INFINITY)
    }
    return items
  }

  /** Replaces the metadata. */
  update(owner: string, id: string, metadata: JsonObject): Promise<NamedConversation> {
    return this.change(owner, id, ({ head, lines }) => ({ head: { ...head, metadata }, lines }))
  }

  /**
   * Adds items, and returns them as stored: each with an id. `given`: number of lines that the turn was given which adds them.
   * Without it throws `invalid_parameter` if there are too many then; the output of a response was sent already.
   */
  async add(owner: string, id: string, items: readonly Item[], given?: number): Promise<readonly Item[]> {
    let added: readonly Item[] = []
    await this.change(owner, id, current => {
      added = withFreshIds(items, current)
      const next = withItems(current, added)
      if (given === undefined) this.check(next)
      return given === undefined ? next : withSeen(next, current.head, given)
    })
    return added
  }

  /** Throws `not_found` if the conversation has no such item. */
  remove(owner: string, id: string, item: string): Promise<NamedConversation> {
    return this.change(owner, id, current => {
      const next = withoutItem(current, item)
      if (next === undefined) throw noConversationItem(item, id)
      return next
    })
  }

  /** False if there was none. */
  async forget(owner: string, id: string): Promise<boolean> {
    const place = { namespace: CONVERSATIONS, owner, key: id }
    return isPlace(place) && (await stored(this.#store.delete(place)))
  }

  /** Resolves when no write is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#writes.values())
  }

  /** Changes of a conversation are made one after another. */
  private async change(owner: string, id: string, change: Change): Promise<NamedConversation> {
    const address = addressOf(owner, id)
    const before = this.#writes.get(address)
    const work = (before ?? Promise.resolve()).catch(() => undefined).then(() => this.write(owner, id, change))
    this.#writes.set(address, work)
    try {
      return await work
    } finally {
      if (this.#writes.get(address) === work) this.#writes.delete(address)
    }
  }

  private async write(owner: string, id: string, change: Change): Promise<NamedConversation> {
    for (;;) {
      const { record, conversation } = await this.load(owner, id)
      const next = change(conversation)
      const value = encodeConversation(next)
      const expires = this.#now() + this.#bounds.keep
      if ((await stored(this.#store.replace(record, { value, expires }))) !== undefined) return { id, ...next }
    }
  }

  private async load(
    owner: string,
    id: string,
  ): Promise<{ readonly record: StoredRecord; readonly conversation: NamedConversation }> {
    const isKnown = isPlace({ namespace: CONVERSATIONS, owner, key: id })
    const record = isKnown ? await stored(this.#store.get(CONVERSATIONS, owner, id)) : undefined
    const decoded = record && decodeConversation(record.value)
    if (record === undefined || decoded === undefined) throw noConversation(id)
    return { record, conversation: { id, ...decoded } }
  }

  private check({ head }: ConversationRecord): void {
    const { items, bytes } = this.#bounds
    if (head.items > items) throw tooLongConversation(`has more than ${items} items`, 'conversation_items')
    if (head.bytes > bytes) throw tooLongConversation(`takes more than ${bytes} bytes`, 'conversation_bytes')
  }
}

/** Marks as seen what a turn was given, and what it adds unless others have added items meanwhile. */
function withSeen({ head, lines }: ConversationRecord, before: ConversationHead, given: number): ConversationRecord {
  const seen = Math.max(before.seen ?? 0, given)
  return { head: { ...head, seen: seen === before.lines ? head.lines : seen }, lines }
}

/** The items, each with a unique id: its own, or a new one if that is invalid or taken. */
function withFreshIds(items: readonly Item[], current: ConversationRecord): readonly Item[] {
  const taken = new Set<string>()
  return items.map(item => {
    const { id, ...rest } = item
    const isFree = typeof id === 'string' && SOUND_ID.test(id) && !taken.has(id) && !hasItem(current, id)
    const chosen = isFree ? id : itemId(typeOf(item))
    taken.add(chosen)
    return { id: chosen, ...rest, ...(item.status === undefined && hasStatus(item) && { status: 'completed' }) }
  })
}

/** Whether items of that type have a status. */
function hasStatus(item: Item): boolean {
  return typeOf(item) === 'message' || /^(function|custom_tool)_call/.test(typeOf(item))
}

function addressOf(owner: string, id: string): string {
  return `${owner} ${id}`
}
