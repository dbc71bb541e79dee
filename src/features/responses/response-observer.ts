import { isObject, type Json, parseJson } from '../../core/json.js'
import type { Tap } from '../../kernel/tap.js'
import { parseWithin } from '../../wire/json-cost.js'
import { SseDecoder, WireLimitError } from '../../wire/sse.js'
import { IdTap } from './id-tap.js'

/** Most bytes of a document, or of a piece of a stream, that are read. */
const MAX_BYTES = 8 * 1024 * 1024
/** Most values of a document that is read. */
const MAX_VALUES = 250_000
/** The event that contains a whole item; a piece of a stream is searched for it. */
const ITEM_DONE = 'response.output_item.done'
const MARK = Buffer.from(ITEM_DONE)

/** Callbacks for an answer's ids. */
interface ResponseEvents {
  /** The id of its response, before any item. */
  response(id: string): void
  items(ids: readonly string[]): void
}

/** Observes an answer that an upstream stores, for the ids that later requests may refer to. Changes nothing. */
export class ResponseObserver implements Tap {
  readonly #id: IdTap
  readonly #items: EventItems | DocumentItems

  /** `isStream`: the answer is an event stream rather than one document. */
  constructor(isStream: boolean, events: ResponseEvents) {
    this.#id = new IdTap(isStream, id => events.response(id))
    this.#items = isStream ? new EventItems(events) : new DocumentItems(events)
  }

  /** Reads the next piece; of a stream, whole events. */
  push(bytes: Uint8Array): void {
    this.#id.push(bytes)
    this.#items.push(bytes)
  }

  /** The answer is complete. Called before its last byte is sent, so that the ids are known before the client uses them. */
  end(): void {
    this.#items.end()
  }
}

/** Most pieces contain no whole item, which a search for one word shows. */
class EventItems {
  readonly #observed: ResponseEvents

  constructor(events: ResponseEvents) {
    this.#observed = events
  }

  push(bytes: Uint8Array): void {
    if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(MARK) < 0) return
    const ids = eventsOf(bytes).flatMap(data => {
      const event = data.includes(ITEM_DONE) ? parseJson(data) : undefined
      return isObject(event) && event.type === ITEM_DONE ? idsOf([event.item ?? null]) : []
    })
    if (ids.length > 0) this.#observed.items(ids)
  }

  end(): void {
    // Each item was reported when it arrived.
  }
}

class DocumentItems {
  readonly #observed: ResponseEvents
  #pieces: Uint8Array[] | undefined = []
  #size = 0

  constructor(events: ResponseEvents) {
    this.#observed = events
  }

  push(bytes: Uint8Array): void {
    this.#size += bytes.length
    if (this.#size > MAX_BYTES) this.#pieces = undefined
    this.#pieces?.push(bytes)
  }

  end(): void {
    const document = this.#pieces && parseWithin(Buffer.concat(this.#pieces), MAX_VALUES)
    this.#pieces = undefined
    const ids = isObject(document) ? idsOf(document.output) : []
    if (ids.length > 0) this.#observed.items(ids)
  }
}

function eventsOf(bytes: Uint8Array): readonly string[] {
  try {
    return new SseDecoder({ line: MAX_BYTES, event: MAX_BYTES }).push(bytes).map(({ data }) => data)
  } catch (cause) {
    if (cause instanceof WireLimitError) return []
    throw cause
  }
}

function idsOf(items: Json | undefined): readonly string[] {
  if (!Array.isArray(items)) return []
  return items.flatMap(item => (isObject(item) && typeof item.id === 'string' ? [item.id] : []))
}
