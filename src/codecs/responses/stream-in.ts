import type { Frame, StreamDecoder } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { TextEvent } from '../../core/text.js'
import { errorInside } from '../compatible-errors.js'
import { MadeIds } from '../made-ids.js'
import { arrayOf, badUpstream, numberOf, objectOf, parseEvent, stringOf, truncated } from '../read.js'
import { ItemIn } from './item-in.js'
import { readUsage } from './response-object.js'
import { endOf, MAX_ITEMS, refuseUnfinished } from './result-in.js'

const NOTHING: readonly TextEvent[] = []

/**
 * Events of a stream of ResponseStreamEvent. It ends with `response.completed` or `response.incomplete`; `response.failed`
 * and `error` are errors; the end of the transfer alone is not one of these.
 */
export class ResponsesStreamDecoder implements StreamDecoder {
  readonly #items = new Map<number, ItemIn>()
  /** Places of items by their ids: some servers send no `output_index`. */
  readonly #places = new Map<string, number>()
  /** Number of the next canonical part. */
  readonly #next = { index: 0 }
  #started = false
  #ids = new MadeIds('')
  #done = false

  push(frame: Frame): readonly TextEvent[] {
    if (this.#done || frame.data === '' || frame.data.startsWith('[DONE]')) return NOTHING
    const events: TextEvent[] = []
    try {
      this.read(parseEvent(frame.data), events)
    } catch (error) {
      this.fail(error instanceof GatewayError ? error : badUpstream('An event cannot be read.'), events)
    }
    return events
  }

  end(): readonly TextEvent[] {
    return this.#done ? NOTHING : this.fail(truncated(), [])
  }

  private read(event: JsonObject, events: TextEvent[]): void {
    const type = stringOf(event.type) ?? ''
    switch (type) {
      case 'response.output_text.delta':
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
      case 'response.refusal.delta':
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.item(event, events).delta(type, event, events)
        return
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        this.start(objectOf(event.response), events)
        return
      case 'response.output_item.added':
        this.add(event, events)
        return
      case 'response.output_item.done':
        this.finishItem(event, events)
        return
      case 'response.completed':
      case 'response.incomplete':
        this.finish(objectOf(event.response) ?? {}, events)
        return
      case 'response.failed':
        throw errorInside(objectOf(event.response) ?? {}, 'stream_error')
      case 'error':
        throw errorInside(event, 'stream_error')
      default:
        this.other(type, event, events)
    }
  }

  private other(type: string, event: JsonObject, events: TextEvent[]): void {
    if (type === '' && isObject(event.error)) throw errorInside(event, 'stream_error')
    if (type === '') throw badUpstream('An event of the stream has no type.')
    const index = numberOf(event.output_index) ?? this.#places.get(stringOf(event.item_id) ?? '')
    if (index !== undefined && this.#items.has(index)) {
      this.item(event, events).other(type, event, events)
    }
  }

  private start(response: JsonObject | undefined, events: TextEvent[]): void {
    if (this.#started) return
    this.#started = true
    const created = numberOf(response?.created_at)
    const id = stringOf(response?.id) ?? ''
    this.#ids = new MadeIds(id)
    const head = { id, model: stringOf(response?.model) ?? '' }
    events.push({ type: 'start', ...head, ...(created !== undefined && { created }) })
  }

  private add(event: JsonObject, events: TextEvent[]): void {
    const item = objectOf(event.item)
    if (item === undefined) throw badUpstream('An item is not an object.')
    const at = this.placeOf(event.output_index, item.id, this.#items.size)
    if (!this.#items.has(at)) this.open(at, item, events)
  }

  private open(at: number, item: JsonObject, events: TextEvent[]): ItemIn {
    this.start(undefined, events)
    const opened = new ItemIn(item, this.#ids.of(0, at), this.#next)
    this.#items.set(at, opened)
    const id = stringOf(item.id) ?? ''
    if (id !== '') this.#places.set(id, at)
    opened.open(events)
    return opened
  }

  /** The item that an event speaks of; one that was never announced is taken for what its first event says. */
  private item(event: JsonObject, events: TextEvent[]): ItemIn {
    const at = this.placeOf(event.output_index, event.item_id, Math.max(0, this.#items.size - 1))
    return this.#items.get(at) ?? this.open(at, { type: typeOfEvent(event), id: event.item_id ?? '' }, events)
  }

  private placeOf(index: Json | undefined, id: Json | undefined, otherwise: number): number {
    const known = index === undefined ? this.#places.get(stringOf(id) ?? '') : undefined
    return known ?? indexOf(index, otherwise)
  }

  private finishItem(event: JsonObject, events: TextEvent[]): void {
    const item = objectOf(event.item)
    if (item === undefined) throw badUpstream('An item is not an object.')
    const at = this.placeOf(event.output_index, item.id, this.#items.size)
    const state = this.#items.get(at) ?? this.open(at, item, events)
    state.complete(item, events)
    state.end(events)
  }

  private finish(response: JsonObject, events: TextEvent[]): void {
    refuseUnfinished(response)
    this.start(response, events)
    this.settle(arrayOf(response.output), events)
    const states = [...this.#items.values()]
    const end = endOf(
      response,
      states.some(state => state.isCall),
      states.some(state => state.refused),
    )
    const usage = readUsage(response.usage)
    const serviceTier = stringOf(response.service_tier)
    events.push({ type: 'end', candidate: 0, end })
    const facts = { ...(usage !== undefined && { usage }), ...(serviceTier !== undefined && { serviceTier }) }
    events.push({ type: 'finish', ...facts })
    this.#done = true
  }

  /** Ends all items; what servers send only at the end, whole items among it, is sent now. */
  private settle(output: readonly Json[], events: TextEvent[]): void {
    for (const [at, item] of this.#items) {
      const whole = output[at]
      if (!item.isDone && isObject(whole) && item.isSame(whole)) item.complete(whole, events)
      item.end(events)
    }
    const unseen = [...output.entries()].filter(
      ([at, item]) => !this.#items.has(at) && !this.#places.has(stringOf(objectOf(item)?.id) ?? ''),
    )
    for (const [output_index, item] of unseen) if (isObject(item)) this.finishItem({ output_index, item }, events)
  }

  private fail(error: GatewayError, events: TextEvent[]): readonly TextEvent[] {
    this.#done = true
    events.push({ type: 'error', error })
    return events
  }
}

function indexOf(value: Json | undefined, fallback: number): number {
  const index = value === undefined || value === null ? fallback : numberOf(value)
  if (index !== undefined && Number.isInteger(index) && index >= 0 && index < MAX_ITEMS) return index
  throw badUpstream('An item has an invalid index.')
}

function typeOfEvent({ type }: JsonObject): string {
  const name = String(type)
  if (name.includes('reasoning')) return 'reasoning'
  if (name.includes('function_call') || name.includes('custom_tool')) {
    throw badUpstream('Arguments came for a call that was never announced.')
  }
  return 'message'
}
