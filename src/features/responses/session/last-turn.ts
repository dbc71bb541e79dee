import { GatewayError } from '../../../core/errors.js'
import { readExact } from '../../../core/exact-json.js'
import { isObject, type JsonObject } from '../../../core/json.js'
import { newId } from '../../../kernel/own-ids.js'
import { STATE_BOUNDS } from '../bounds.js'
import type { Conversation } from '../conversations.js'
import { blankResponse } from '../echo.js'
import { noPrevious } from '../faults.js'
import type { LocalMemory } from '../inside.js'
import { type Item, itemsOf } from '../items.js'
import type { ResponseTurn } from '../response-turn.js'
import { sizeOf } from '../stored.js'

/**
 * The last response of one connection, for clients that do not let it be stored (`store: false`): it can be continued while
 * the connection is open. A turn that continues it and fails removes it, as the protocol demands.
 */
export class LastTurn implements LocalMemory {
  /** `ahead`: input for the turn that continues it, which no stage has seen yet. */
  #last: { readonly id: string; readonly conversation: Conversation; readonly ahead: readonly Item[] } | undefined
  #turn: ResponseTurn | undefined
  #message: JsonObject = {}

  find(id: string): Conversation | undefined {
    return this.#last?.id === id ? this.#last.conversation : undefined
  }

  /** A request was received. Returns it with the input that was sent ahead for it, which passes the same stages. */
  asked(message: JsonObject): JsonObject {
    const { id, ahead = [] } = this.#last ?? {}
    const isAhead = ahead.length > 0 && message.previous_response_id === id
    this.#message = isAhead ? { ...message, input: [...ahead, ...itemsOf(message.input)] } : message
    this.#turn = undefined
    return this.#message
  }

  began(turn: ResponseTurn): void {
    this.#turn = turn
  }

  /** An event was sent to the client. */
  event(name: string | undefined, data: string): void {
    if (name === 'response.failed') this.failed()
    if ((name !== 'response.completed' && name !== 'response.incomplete') || this.#message.store !== false) return
    const event = readExact(data)
    if (!isObject(event) || !isObject(event.response)) return
    const { id, output } = event.response
    const items = Array.isArray(output) ? output.filter(isObject) : []
    const conversation = this.#turn?.conversation(this.#message.input, items)
    if (typeof id === 'string') this.keep(id, conversation)
  }

  /** The request failed. */
  failed(): void {
    if (this.#last !== undefined && this.#message.previous_response_id === this.#last.id) this.#last = undefined
  }

  /**
   * Takes a turn's input without an answer of a model; returns the events that say so. Throws `previous_response_not_found`
   * if it continues another response than the last one.
   */
  warm(message: JsonObject): readonly JsonObject[] {
    const previous = message.previous_response_id
    const before = typeof previous === 'string' && this.#last?.id === previous ? this.#last : undefined
    if (typeof previous === 'string' && before === undefined) throw noPrevious(previous)
    const { conversation, ahead } = before ?? NOTHING_BEFORE
    const input = [...ahead, ...itemsOf(message.input)]
    const id = newId('resp_')
    if (conversation.bytes + sizeOf(input) > STATE_BOUNDS.bytes)
      throw new GatewayError('too_large', 'The conversation is too large.')
    this.keep(id, conversation, input)
    const now = Date.now()
    return [
      { type: 'response.created', sequence_number: 0, response: blankResponse(id, now, message, 'in_progress') },
      { type: 'response.completed', sequence_number: 1, response: blankResponse(id, now, message, 'completed') },
    ]
  }

  private keep(id: string, conversation: Conversation | undefined, ahead: readonly Item[] = []): void {
    const { bytes, items } = STATE_BOUNDS
    const count = ahead.length + (conversation?.items.length ?? 0)
    const fits = conversation !== undefined && conversation.bytes <= bytes && count <= items
    this.#last = fits ? { id, conversation, ahead } : undefined
  }
}

const NOTHING_BEFORE = { conversation: { kind: 'own', items: [], turns: 0, bytes: 0 }, ahead: [] } as const
