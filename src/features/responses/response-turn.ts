import { GatewayError } from '../../core/errors.js'
import { jsonText, parseExact } from '../../core/exact-json.js'
import type { Json, JsonObject } from '../../core/json.js'
import { copyWith, exchangeOfKeeper } from '../../core/keeper.js'
import type { Exchange } from '../../core/plan.js'
import type { Transform } from '../../core/transform.js'
import { newId } from '../../kernel/own-ids.js'
import { type Slot, slot } from '../../kernel/slot.js'
import { type InputSize, sizeOfJson } from '../../wire/input-size.js'
import { findValue, removeMember, setValue } from '../../wire/json-edit.js'
import type { OpenItem } from './compactions.js'
import type { Conversation, Conversations, Found, NamedTurn } from './conversations.js'
import { itemElsewhere, previousElsewhere, tooManyItems } from './faults.js'
import { type Item, itemsOf, typeOf } from './items.js'
import { idOf, isReference, referencesIn } from './references.js'
import { type OwnResponse, outputOf, sizeOf } from './stored.js'

/** What the request says of its conversation, if its protocol has conversations. */
export const TURN_OPTIONS: Slot<TurnOptions> = slot('turn_options')

/** The conversation that the request continues, with its options. */
export const TURN: Slot<ResponseTurn> = slot('turn')

/** What a request says of its conversation. */
export interface TurnOptions {
  readonly previous: string | undefined
  /** The id of a conversation; `hidden` if the scan of the body's head did not reach it. */
  readonly conversation?: string | typeof HIDDEN | undefined
  /** Whether the response may be stored. */
  readonly store: boolean
  readonly background: boolean
  /** Ids of items that the input refers to; absent if not read yet. */
  readonly references?: readonly string[] | undefined
}

export const HIDDEN = Symbol('hidden')

/** Where a turn's history is kept. */
export type TurnHistory =
  /** There is no history. */
  | { readonly by: 'nobody' }
  /** The gateway has it. */
  | {
      readonly by: 'gateway'
      readonly conversation: Conversation
      readonly durable: boolean
      readonly named?: NamedTurn
    }
  /** That upstream has it. */
  | { readonly by: 'upstream'; readonly upstream: string }

/**
 * One request of a stateful protocol: its history, and what is stored of its answer. A request whose history an upstream
 * keeps is sent to that upstream; others get the whole conversation with each turn.
 */
export class ResponseTurn {
  /** The response's id, if the gateway chooses it. */
  readonly id: string
  readonly options: TurnOptions
  readonly history: TurnHistory
  readonly owner: string
  readonly #conversations: Conversations
  /** Opens compaction items for upstreams; undefined if the conversation cannot contain any of the gateway's. */
  open: OpenItem | undefined
  readonly #model: string
  readonly #created = Date.now()
  #named = false
  /** The response's id at the upstream that keeps it. */
  #keptAs: string | undefined
  /** The client's own items; references that are left are to items which an upstream keeps. */
  #input: readonly Item[] = []
  #inputBytes: number | undefined
  /** The targets of references, by id. */
  #found: ReadonlyMap<string, Found> = new Map()

  constructor(
    conversations: Conversations,
    owner: string,
    model: string,
    options: TurnOptions,
    before: TurnHistory,
    id: string = newId('resp_'),
  ) {
    this.#conversations = conversations
    this.owner = owner
    this.#model = model
    this.options = options
    this.history = before
    this.id = id
  }

  /** Number of items before the client's own in the whole conversation. */
  get inherited(): number {
    return this.history.by === 'gateway' ? this.history.conversation.items.length : 0
  }

  /** Their size as JSON, bytes. */
  get inheritedBytes(): number {
    return this.history.by === 'gateway' ? this.history.conversation.bytes : 0
  }

  /** What upstreams get beside the client's own items: the conversation so far, and referenced items. */
  get earlierItems(): readonly Item[] {
    return [...(this.history.by === 'gateway' ? this.history.conversation.items : []), ...this.meant]
  }

  /** Their size. */
  get earlierInput(): InputSize {
    const { meant } = this
    return sizeOfJson(this.earlierItems, this.inheritedBytes + (meant.length === 0 ? 0 : sizeOf(meant)))
  }

  private get meant(): readonly Item[] {
    return [...this.#found.values()].flatMap(found => ('item' in found ? [found.item] : []))
  }

  /**
   * The conversation including this turn, for a client that continues a response which is not stored. `input`: the client's
   * own, used if the turn did not resolve it; undefined if an upstream has the history.
   */
  conversation(input: Json | undefined, output: readonly Item[]): Conversation | undefined {
    const { history } = this
    if (history.by === 'upstream') return undefined
    const { items, turns, bytes } = history.by === 'gateway' ? history.conversation : { items: [], turns: 0, bytes: 0 }
    const own = this.#input.length > 0 ? this.#input : itemsOf(input).flatMap(item => this.meantBy(item))
    const added = [...own, ...output]
    const grown = { items: [...items, ...added], turns: turns + 1, bytes: bytes + sizeOf(added) }
    return { kind: 'own', ...grown, found: this.#found }
  }

  /** Ids for this answer's objects; the first response gets the turn's own id. */
  readonly newId = (prefix: string): string => {
    if (prefix !== 'resp_' || this.#named) return newId(prefix)
    this.#named = true
    return this.id
  }

  /**
   * Looks up the client's references, before any upstream is called. Throws `not_found` for items that are not this owner's,
   * and for items that were made elsewhere unless one of the exchanges is declared to accept these.
   */
  async findReferences(references: readonly string[], exchanges: readonly Exchange[] = []): Promise<void> {
    const { history } = this
    const earlier = history.by === 'gateway' ? history.conversation.items : []
    // What a connection remembers has references to items that an upstream keeps.
    const all = history.by === 'gateway' && !history.durable ? [...referencesIn(earlier), ...references] : references
    const before = history.by === 'gateway' ? history.conversation.found : undefined
    this.#found = await this.#conversations.locate(this.owner, all, earlier, exchanges, before)
  }

  /**
   * The exchanges that can continue the conversation: if an upstream keeps a part of it, only that one. Throws
   * `previous_response_not_found`, and `invalid_parameter` if a part is kept by an upstream that is not among them.
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
      const able = exchanges.filter(one => one.translation === undefined)
      const [keeper = ''] = keepers
      const left = able.flatMap(one => exchangeOfKeeper(one, keeper) ?? [])
      if (keepers.size === 1 && left.length > 0) return left
      throw history.by === 'upstream' ? previousElsewhere(this.#model) : itemElsewhere(this.#model)
    }
    // Background responses of the gateway and of an upstream cannot replace each other: keep to one kind.
    const [first] = exchanges
    if (!options.background || first?.translation !== undefined) return exchanges
    return exchanges.filter(one => one.translation === undefined)
  }

  /**
   * The request without state: the conversation so far and the new items, in one list. Throws `invalid_parameter` if that is
   * over a bound, and `not_found` for a reference without a target.
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
   * The same for an upstream that speaks this protocol itself but does not have the conversation; every other byte is
   * unchanged. Reasoning that the upstream did not make, and could not open, is left out.
   */
  relayed(bytes: Uint8Array): Uint8Array {
    const { history } = this
    if (history.by !== 'gateway' && this.meant.length === 0 && this.open === undefined) return bytes
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

  /** What later turns of a connection get of an item: of a reference, its target if the gateway has it. */
  private meantBy(item: Item): readonly Item[] {
    const found = isReference(item) ? this.#found.get(idOf(item)) : { item }
    if (found === undefined) return []
    return ['item' in found ? found.item : item]
  }

  /** What is stored of the client's own items: no references, since later turns may go to other upstreams. */
  private get storedInput(): readonly Item[] {
    return this.#input.filter(item => !isReference(item))
  }

  private opened(items: readonly Item[]): readonly Item[] {
    return this.open === undefined ? items : items.map(this.open)
  }

  /** What an upstream gets instead of an item: of a reference, its target if the gateway has it. */
  private standsFor(item: Item): readonly Item[] {
    const found = isReference(item) ? this.#found.get(idOf(item)) : undefined
    if (found === undefined || !('item' in found)) return [item]
    return travels(found.item) ? [found.item] : []
  }

  /** Whether the response, or its output, must be stored here. */
  get keeps(): boolean {
    return this.stores || this.conversationId !== undefined
  }

  /** The id of the turn's named conversation, if it has one. */
  get conversationId(): string | undefined {
    return this.named?.id
  }

  private get named(): NamedTurn | undefined {
    return this.history.by === 'gateway' ? this.history.named : undefined
  }

  private get stores(): boolean {
    return this.options.store && (this.history.by !== 'gateway' || this.history.durable)
  }

  /** Adds the input and output to the turn's named conversation. Rejects if that fails. */
  async extend(response: JsonObject): Promise<void> {
    const { named } = this
    if (named === undefined || !GIVEN.has(response.status)) return
    await this.#conversations.extend(this.owner, named, [...this.storedInput, ...outputOf({ response })])
  }

  /**
   * Stores the response as the client gets it, if requested. Returns the response to send: if it could not be stored, or has
   * more items than a conversation may have, one that says so (`store: false`).
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

  /** Throws `invalid_parameter` if the response could not be stored, even with an empty output. */
  checkKept(): void {
    const { items } = this.#conversations.bounds
    if (this.inherited + this.storedInput.length > items) throw tooManyItems(items)
  }

  /** The response in its stored form. */
  draft(response: JsonObject): OwnResponse & { readonly items: number } {
    const input = this.storedInput
    const { turns, bytes } = this.history.by === 'gateway' ? this.history.conversation : { turns: 0, bytes: 0 }
    return {
      kind: 'own',
      id: this.id,
      created: this.#created,
      model: this.#model,
      previous: this.options.previous,
      ...(this.named && { conversation: this.named }),
      turns: turns + 1,
      bytes: bytes + this.inputBytes + sizeOf(response.output ?? []),
      items: this.inherited + input.length + (Array.isArray(response.output) ? response.output.length : 0),
      input,
      response,
      background: false,
    }
  }

  /** Records that an upstream keeps the response `id` itself. */
  kept(id: string, upstream: string): void {
    if (!this.options.store || !SOUND_ID.test(id)) return
    const { background } = this.options
    const response = { kind: 'kept', id, created: this.#created, model: this.#model, upstream, background } as const
    this.#keptAs = id
    // The answer is being sent: if this fails, the next turn gets the error that the response is not found.
    this.#conversations.remember(this.owner, response).catch(() => undefined)
  }

  /** Records the item ids of that response. */
  keptItems(ids: readonly string[]): void {
    if (this.#keptAs === undefined) return
    this.#conversations.refer(this.owner, { id: this.#keptAs, created: this.#created }, ids).catch(() => undefined)
  }

  /** An error about an item, with the item's index in the client's own input. */
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

  /** Size of the client's own items as JSON, bytes; computed once, since there may be many. */
  private get inputBytes(): number {
    this.#inputBytes ??= sizeOf(this.storedInput)
    return this.#inputBytes
  }

  /** `own`: bytes of the client's own items; `count`: their number. */
  private checkSize(own: number, count: number): void {
    if (this.history.by !== 'gateway') return
    const { turns, bytes, items } = this.history.conversation
    this.#conversations.checkSize({ turns: turns + 1, bytes: bytes + own, items: items.length + count })
  }
}

/** The exchange, with the conversation added to its answers: the upstream does not know it. */
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
  return copyWith(exchange, { response })
}

/** Statuses of responses whose output becomes part of the conversation. */
const GIVEN = new Set<unknown>(['completed', 'incomplete'])

/** Whether an upstream that did not make an item can use it. */
function travels(item: Item): boolean {
  if (typeOf(item) !== 'reasoning') return true
  const sealed = item.encrypted_content
  return typeof sealed === 'string' && sealed !== '' && !sealed.startsWith(WRAPPED)
}

/** An upstream's id is put into paths. */
const SOUND_ID = /^\w[\w.:-]{0,199}$/

/** Prefix of seals of other protocols, written by `codecs/seal.ts`. */
const WRAPPED = 'gw1.'
