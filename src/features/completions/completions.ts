import { randomBytes } from 'node:crypto'
import { jsonText } from '../../core/exact-json.js'
import { isObject, type JsonObject, parseJson } from '../../core/json.js'
import type { Exchange } from '../../core/plan.js'
import { isPlace, type Range, type Store, type StoredRecord } from '../../core/store.js'
import { type ServiceKey, serviceKey } from '../../kernel/services.js'
import { stored } from '../../kernel/stored.js'
import { setValue } from '../../wire/json-edit.js'
import type { StateBounds } from '../responses/bounds.js'
import { type ConversationRecord, decodeConversation, encodeConversation } from '../responses/conversation-lines.js'
import { noCompletion } from '../responses/faults.js'

/** Completions, and the messages that led to them: apart, so that a list does not read the messages. */
const COMPLETIONS = 'completions'
const MESSAGES = 'completion-messages'
const NEWLINE = 10
/** Records that are read at a time to fill a page, and at most for one page. */
const STEP_RECORDS = 10
const MAX_RECORDS_READ = 5000
/** Most bytes of a page, which may then have fewer completions than its limit. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024
const PREFIX = 'chatcmpl-'
const TIME_DIGITS = 12
const RANDOM_BYTES = 10
const ID = /^chatcmpl-([0-9a-f]{12})[0-9a-f]{20}$/

/** What lists can filter by. */
export interface CompletionHead {
  /** The model as named by the client. */
  readonly model: string
  /** The model as named in the answer. */
  readonly answered: string
  readonly metadata: JsonObject
}

/** A stored completion: one line with its head, and its JSON, which is sent without being parsed. */
export interface StoredCompletion {
  readonly id: string
  readonly head: CompletionHead
  readonly json: Buffer
}

interface CompletionPage {
  readonly items: readonly StoredCompletion[]
  readonly more: boolean
}

export const COMPLETION_STORE: ServiceKey<Completions> = serviceKey('completions')

/** Chat completions that their clients asked to store, each readable by its owner only, kept as long as responses. */
export class Completions {
  readonly bounds: StateBounds
  readonly #store: Store
  readonly #now: () => number
  readonly #onFault: (error: unknown) => void
  readonly #writes = new Set<Promise<unknown>>()
  #last = 0

  /** `onFault` is called for each write that fails. */
  constructor(store: Store, bounds: StateBounds, onFault: (error: unknown) => void, now: () => number = Date.now) {
    this.#store = store
    this.bounds = bounds
    this.#onFault = onFault
    this.#now = now
  }

  /** A new id. It contains the creation time, which lists are ordered by, so that a list can continue after a deleted one. */
  newId(): { readonly id: string; readonly created: number } {
    const created = Math.max(this.#now(), this.#last + 1)
    this.#last = created
    const time = created.toString(16).padStart(TIME_DIGITS, '0')
    return { id: PREFIX + time + randomBytes(RANDOM_BYTES).toString('hex'), created }
  }

  /** The creation time in an id of {@link newId}; undefined in other ids. */
  momentIn(id: string): number | undefined {
    const digits = ID.exec(id)?.[1]
    return digits === undefined ? undefined : Number.parseInt(digits, 16)
  }

  /** Stores a completion with its messages. If that fails it is not stored, but the client gets its answer nevertheless. */
  async keep(
    owner: string,
    { id, head, json }: StoredCompletion,
    created: number,
    messages: ConversationRecord,
  ): Promise<void> {
    const expires = created + this.bounds.keep
    const create = async (): Promise<void> => {
      const place = { owner, key: id, created, expires }
      await this.#store.create({ ...place, namespace: MESSAGES, value: encodeConversation(messages) })
      await this.#store.create({ ...place, namespace: COMPLETIONS, value: encode(head, json) })
    }
    const work = create().catch(this.#onFault)
    this.#writes.add(work)
    await work
    this.#writes.delete(work)
  }

  /** Throws `not_found` if the owner has no such completion. */
  async find(owner: string, id: string): Promise<StoredCompletion> {
    return (await this.load(owner, id)).completion
  }

  /** The messages that led to it, each with an id. Throws `not_found`. */
  async messagesOf(owner: string, id: string): Promise<ConversationRecord> {
    const isKnown = isPlace({ namespace: MESSAGES, owner, key: id })
    const record = isKnown ? await stored(this.#store.get(MESSAGES, owner, id)) : undefined
    const messages = record && decodeConversation(record.value)
    if (messages === undefined) throw noCompletion(id)
    return messages
  }

  /** Replaces the metadata. Throws `not_found`. */
  async update(owner: string, id: string, metadata: JsonObject): Promise<StoredCompletion> {
    for (;;) {
      const { record, completion } = await this.load(owner, id)
      const head = { ...completion.head, metadata }
      const json = Buffer.from(setValue(completion.json, ['metadata'], jsonText(metadata), 'always'))
      if ((await stored(this.#store.replace(record, { value: encode(head, json) }))) !== undefined) {
        return { id, head, json }
      }
    }
  }

  /** False if there was none. */
  async forget(owner: string, id: string): Promise<boolean> {
    if (!isPlace({ namespace: COMPLETIONS, owner, key: id })) return false
    const gone = await stored(this.#store.delete({ namespace: COMPLETIONS, owner, key: id }))
    await stored(this.#store.delete({ namespace: MESSAGES, owner, key: id }))
    return gone
  }

  /** The owner's completions by creation time, after `after`, that `wanted` selects. */
  async page(
    owner: string,
    { order, after, limit }: Range,
    wanted: (head: CompletionHead) => boolean,
  ): Promise<CompletionPage> {
    const items: StoredCompletion[] = []
    let last = after
    let bytes = 0
    for (let read = 0; read < MAX_RECORDS_READ; read += STEP_RECORDS) {
      const range = { order, limit: STEP_RECORDS, ...(last === undefined ? {} : { after: last }) }
      const records = await stored(this.#store.list(COMPLETIONS, owner, range))
      for (const record of records) {
        last = { created: record.created, key: record.key }
        const completion = decode(record)
        if (completion === undefined || !wanted(completion.head)) continue
        bytes += completion.json.length
        if (items.length === limit || (items.length > 0 && bytes > MAX_PAGE_BYTES)) return { items, more: true }
        items.push(completion)
      }
      if (records.length < STEP_RECORDS) return { items, more: false }
    }
    return { items, more: true }
  }

  /** Resolves when no write is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#writes)
  }

  private async load(
    owner: string,
    id: string,
  ): Promise<{ readonly record: StoredRecord; readonly completion: StoredCompletion }> {
    const isKnown = isPlace({ namespace: COMPLETIONS, owner, key: id })
    const record = isKnown ? await stored(this.#store.get(COMPLETIONS, owner, id)) : undefined
    const completion = record && decode(record)
    if (record === undefined || completion === undefined) throw noCompletion(id)
    return { record, completion }
  }
}

function encode(head: CompletionHead, json: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${jsonText({ ...head })}\n`), json])
}

/** Undefined if the bytes are not a completion. */
function decode({ key, value }: StoredRecord): StoredCompletion | undefined {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  const end = bytes.indexOf(NEWLINE)
  const head = end < 0 ? undefined : parseJson(bytes.toString('utf8', 0, end))
  if (!isObject(head)) return undefined
  return { id: key, head: head as unknown as CompletionHead, json: bytes.subarray(end + 1) }
}

/** A chat completion to be stored. */
export interface CompletionDraft {
  readonly id: string
  /** The exchanges with answers that have this id. */
  named(exchanges: readonly Exchange[]): readonly Exchange[]
}
