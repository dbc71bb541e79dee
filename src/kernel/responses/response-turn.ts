import { GatewayError } from '../../core/errors.js'
import { jsonText, parseExact } from '../../core/exact-json.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Exchange } from '../../core/plan.js'
import type { Transform } from '../../core/transform.js'
import { findValue, removeMember, setValue } from '../../wire/json-edit.js'
import { type Slot, slot } from '../slot.js'
import type { OpenItem } from './compactions.js'
import type { Conversation, Conversations, Found } from './conversations.js'
import { itemElsewhere, previousElsewhere, tooManyItems } from './faults.js'
import { newId } from './ids.js'
import { type Item, itemsOf, typeOf } from './items.js'
import { idOf, isReference } from './references.js'
import { type OwnResponse, outputOf, sizeOf } from './stored.js'

/** What the request says of its conversation, if its protocol has any. */
export const TURN_OPTIONS: Slot<TurnOptions> = slot('turn_options')

/** The conversation that the request continues, with its options. */
export const TURN: Slot<ResponseTurn> = slot('turn')

/** What a request says of the conversation that it belongs to. */
export interface TurnOptions {
  readonly previous: string | undefined
  /** The id of a conversation; `hidden` where it stands in the body, which has not been read that far. */
  readonly conversation?: string | typeof HIDDEN | undefined
  /** Whether the response may be kept. */
  readonly store: boolean
  readonly background: boolean
  /** Ids of items that the input refers to; absent where they have yet to be looked for. */
  readonly references?: readonly string[] | undefined
}

export const HIDDEN = Symbol('hidden')

/** Who keeps what came before this turn. */
export type TurnHistory =
  /** Nothing came before. */
  | { readonly by: 'nobody' }
  /** It is here. */
  | {
      readonly by: 'gateway'
      readonly conversation: Conversation
      readonly durable: boolean
      /** Its id, where it has one, and how many lines it had when the turn began. */
      readonly named?: { readonly id: string; readonly lines: number }
    }
  /** The upstream of that name has it. */
  | { readonly by: 'upstream'; readonly upstream: string }

/**
 * One request of a stateful protocol: what came before it, and what becomes of its answer. Upstreams that keep their
 * own state are sent on to; the others get the whole conversation with each turn.
 */
export class ResponseTurn {
  /** Of the response, where it is ours to name. */
  readonly id: string
  readonly options: TurnOptions
  readonly history: TurnHistory
  readonly owner: string
  readonly #conversations: Conversations
  /** Where the conversation may hold compaction items of ours: what upstreams get in their place. */
  open: OpenItem | undefined
  readonly #model: string
  readonly #created = Date.now()
  #named = false
  /** The response's id at the upstream that keeps it. */
  #keptAs: string | undefined
  #input: readonly Item[] = []
  #inputBytes: number | undefined
  /** What the client's items refer to by id. */
  #found: ReadonlyMap<string, Found> = new Map()

  constructor(
    conversations: Conversations,
    owner: string,
    model: string,
    wishes: TurnOptions,
    before: TurnHistory,
    id: string = newId('resp_'),
  ) {
    this.#conversations = conversations
    this.owner = owner
    this.#model = model
    this.options = wishes
    this.history = before
    this.id = id
  }

  /** How many items stand before the client's own once the conversation is put together. */
  get inherited(): number {
    return this.history.by === 'gateway' ? this.history.conversation.items.length : 0
  }

  /** How much JSON they are, in bytes. */
  get inheritedBytes(): number {
    return this.history.by === 'gateway' ? this.history.conversation.bytes : 0
  }

  /**
   * The conversation with this turn in it, for whoever goes on with a response that is not kept. `input` is what the client
   * sent, as far as it was not put together here; undefined where an upstream has what came before.
   */
  conversation(input: Json | undefined, output: readonly Item[]): Conversation | undefined {
    const { history } = this
    if (history.by === 'upstream') return undefined
    const { items, turns, bytes } = history.by === 'gateway' ? history.conversation : { items: [], turns: 0, bytes: 0 }
    const own = this.#input.length > 0 ? this.#input : itemsOf(input)
    const added = [...own, ...output]
    return { kind: 'own', items: [...items, ...added], turns: turns + 1, bytes: bytes + sizeOf(added) }
  }

  /** Ids of what is made for this answer; the first response is this turn's. */
  readonly newId = (prefix: string): string => {
    if (prefix !== 'resp_' || this.#named) return newId(prefix)
    this.#named = true
    return this.id
  }

  /**
   * Looks up what the client's items refer to, before any upstream hears of it. Throws `not_found` for what is not this
   * owner's, and for what was made elsewhere unless one of the exchanges is declared to take it.
   */
  async meet(references: readonly string[], exchanges: readonly Exchange[] = []): Promise<void> {
    const earlier = this.history.by === 'gateway' ? this.history.conversation.items : []
    this.#found = await this.#conversations.locate(this.owner, references, earlier, exchanges)
  }

  /**
   * Those of the exchanges that can go on with the conversation: where an upstream keeps a part of it, that upstream.
   * Throws `previous_response_not_found`, and `invalid_parameter` where a part is kept by an upstream that cannot be asked.
   */
  narrow(exchanges: readonly Exchange[]): readonly Exchange[] {
    const able = this.able(exchanges)
    const id = this.conversationId
    return id === undefined ? able : able.map(exchange => inConversation(exchange, id))
  }

  private able(exchanges: readonly Exchange[]): readonly Exchange[] {
    const { history, options } = this
    const keepers = new Set([...this.#found.values()].flatMap(found => ('upstream' in found ? [found.upstream] : [])))
    if (history.by === 'upstream') keepers.add(history.upstream)
    if (keepers.size > 0) {
      const left = exchanges.filter(one => one.translation === undefined && keepers.has(one.upstream.name))
      if (keepers.size === 1 && left.length > 0) return left
      throw history.by === 'upstream' ? previousElsewhere(this.#model) : itemElsewhere(this.#model)
    }
    // What runs in the background here and what runs there cannot stand in for one another.
    const [first] = exchanges
    if (!options.background || first?.translation !== undefined) return exchanges
    return exchanges.filter(one => one.translation === undefined)
  }

  /**
   * The request as it would be without any state: the conversation so far and the new items, in one list. Throws
   * `invalid_parameter` where that is over a bound, and `not_found` for a reference that leads nowhere.
   */
  async expand(document: JsonObject): Promise<JsonObject> {
    const earlier = this.history.by === 'gateway' ? this.history.conversation.items : []
    const own = await this.#conversations.resolve(this.owner, itemsOf(document.input), earlier)
    this.#input = own
    this.#inputBytes = undefined
    if (this.history.by === 'nobody') {
      return Array.isArray(document.input) ? { ...document, input: this.opened(own) } : document
    }
    this.checkSize(this.inputBytes, own.length)
    const { previous_response_id: _, conversation: __, ...rest } = document
    return { ...rest, input: this.opened([...earlier, ...own]) }
  }

  /**
   * The same for an upstream that speaks this protocol itself but does not have the conversation; every other byte stays
   * as it came. Thoughts that the upstream never had, and could not open, are left out.
   */
  relayed(bytes: Uint8Array): Uint8Array {
    const { history } = this
    const refersToUs = [...this.#found.values()].some(found => 'item' in found)
    if (history.by !== 'gateway' && !refersToUs && this.open === undefined) return bytes
    const document = parseExact(Buffer.from(bytes).toString('utf8')) as JsonObject
    this.#input = itemsOf(document.input).flatMap(item => this.meantBy(item))
    this.#inputBytes = undefined
    const own = itemsOf(document.input).flatMap(item => this.standsFor(item))
    if (history.by !== 'gateway') return setValue(bytes, ['input'], jsonText(this.opened(own)), 'always')
    this.checkSize(sizeOf(own), own.length)
    const input = jsonText(this.opened([...history.conversation.items.filter(travels), ...own]))
    const bare = removeMember(removeMember(bytes, ['previous_response_id']), ['conversation'])
    return setValue(bare, ['input'], input, 'always')
  }

  /** What is kept of an item: of a reference, what it refers to, where that is here. */
  private meantBy(item: Item): readonly Item[] {
    if (!isReference(item)) return [item]
    const found = this.#found.get(idOf(item))
    return found !== undefined && 'item' in found ? [found.item] : []
  }

  private opened(items: readonly Item[]): readonly Item[] {
    return this.open === undefined ? items : items.map(this.open)
  }

  /** What an upstream gets in an item's place: of a reference to what is kept here, that. */
  private standsFor(item: Item): readonly Item[] {
    const found = isReference(item) ? this.#found.get(idOf(item)) : undefined
    if (found === undefined || !('item' in found)) return [item]
    return travels(found.item) ? [found.item] : []
  }

  /** Whether anything is to be kept here of the response, or of its output. */
  get keeps(): boolean {
    return this.stores || this.conversationId !== undefined
  }

  /** The id of the conversation that this turn belongs to, where it has one. */
  get conversationId(): string | undefined {
    return this.history.by === 'gateway' ? this.history.named?.id : undefined
  }

  private get stores(): boolean {
    return this.options.store && (this.history.by !== 'gateway' || this.history.durable)
  }

  /** Adds what was said and answered to the conversation that the turn belongs to. Rejects where that fails. */
  async extend(response: JsonObject): Promise<void> {
    const id = this.conversationId
    if (id === undefined || !GIVEN.has(response.status)) return
    await this.#conversations.extend(this.owner, id, [...this.#input, ...outputOf({ response })])
  }

  /**
   * Keeps the whole response, as the client gets it, where that was asked for. Gives the response to be sent: where it
   * could not be kept, or has more items than a conversation may have, one that says so (`store: false`).
   */
  async keep(response: JsonObject): Promise<JsonObject> {
    if (this.conversationId !== undefined) await this.extend(response)
    if (!this.stores) return response
    const draft = this.draft(response)
    if (draft.items > this.#conversations.bounds.items) return { ...response, store: false }
    try {
      await this.#conversations.remember(this.owner, draft)
      return response
    } catch {
      return { ...response, store: false }
    }
  }

  /** Throws `invalid_parameter` where the response could not be kept, whatever is answered. */
  checkKept(): void {
    const { items } = this.#conversations.bounds
    if (this.inherited + this.#input.length > items) throw tooManyItems(items)
  }

  /** The response as it is kept. */
  draft(response: JsonObject): OwnResponse & { readonly items: number } {
    const input = this.#input
    const { turns, bytes } = this.history.by === 'gateway' ? this.history.conversation : { turns: 0, bytes: 0 }
    return {
      kind: 'own',
      id: this.id,
      created: this.#created,
      model: this.#model,
      previous: this.options.previous,
      ...(this.history.by === 'gateway' && this.history.named && { conversation: this.history.named }),
      turns: turns + 1,
      bytes: bytes + this.inputBytes + sizeOf(response.output ?? []),
      items: this.inherited + input.length + (Array.isArray(response.output) ? response.output.length : 0),
      input,
      response,
      background: false,
    }
  }

  /** Notes that an upstream keeps the response `id` itself. */
  kept(id: string, upstream: string): void {
    if (!this.options.store || !SOUND_ID.test(id)) return
    const { background } = this.options
    const response = { kind: 'kept', id, created: this.#created, model: this.#model, upstream, background } as const
    this.#keptAs = id
    // The answer is on its way: if this fails, the next turn is told that the response is not found.
    this.#conversations.remember(this.owner, response).catch(() => undefined)
  }

  /** Notes which items came with that response. */
  keptItems(ids: readonly string[]): void {
    if (this.#keptAs === undefined) return
    this.#conversations.refer(this.owner, { id: this.#keptAs, created: this.#created }, ids).catch(() => undefined)
  }

  /** An error about an item, by the place that the item has in what the client sent. */
  placed(error: GatewayError): GatewayError {
    const { param } = error.details
    const index = /^input\[(\d+)\]/.exec(param ?? '')?.[1]
    if (index === undefined || param === undefined || this.inherited === 0) return error
    const own = Number(index) - this.inherited
    if (own < 0) return new GatewayError(error.code, error.message, { ...error.details, param: 'previous_response_id' })
    const [from, to] = [`input[${index}]`, `input[${own}]`]
    const message = error.message.replaceAll(from, to)
    return new GatewayError(error.code, message, { ...error.details, param: param.replace(from, to) })
  }

  /** Of the client's own items, as JSON; told once, since they may be many. */
  private get inputBytes(): number {
    this.#inputBytes ??= sizeOf(this.#input)
    return this.#inputBytes
  }

  /** `own`: bytes and number of the client's own items. */
  private checkSize(own: number, count: number): void {
    if (this.history.by !== 'gateway') return
    const { turns, bytes, items } = this.history.conversation
    this.#conversations.checkSize({ turns: turns + 1, bytes: bytes + own, items: items.length + count })
  }
}

/** The exchange with answers that name the conversation, which only the gateway knows. */
function inConversation(exchange: Exchange, id: string): Exchange {
  if (exchange.translation !== undefined) return exchange
  const { response: declared } = exchange
  const json = JSON.stringify({ id })
  const response: Transform = bytes => {
    const document = declared?.(bytes) ?? bytes
    const path = findValue(document, ['response', 'output']) === undefined ? [] : ['response']
    if (path.length === 0 && findValue(document, ['output']) === undefined) return document
    return setValue(document, [...path, 'conversation'], json, 'always')
  }
  return { ...exchange, response }
}

/** How responses end whose output counts as said. */
const GIVEN = new Set<unknown>(['completed', 'incomplete'])

/** Whether an upstream that never saw it can make use of an item. */
function travels(item: Item): boolean {
  if (typeOf(item) !== 'reasoning') return true
  const sealed = item.encrypted_content
  return typeof sealed === 'string' && sealed !== '' && !sealed.startsWith(WRAPPED)
}

/** An upstream's id becomes part of a path. */
const SOUND_ID = /^\w[\w.:-]{0,199}$/

/** How seals of other protocols begin; `codecs/seal.ts` writes them. */
const WRAPPED = 'gw1.'
