import { readExact } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Tap } from '../../kernel/tap.js'
import { SseDecoder, WireLimitError } from '../../wire/sse.js'

/** Largest answer, or last event of a stream, that is read, bytes. */
const MAX_BYTES = 16 * 1024 * 1024
/** Final events of a response that did not fail; they contain it whole. */
const LAST = ['response.completed', 'response.incomplete'] as const
const MARKS = LAST.map(name => Buffer.from(name))

/** Observes an answer for the whole response, and reports it once, before the last bytes are sent. Changes nothing. */
export class ResponseTap implements Tap {
  kept: Promise<void> | undefined
  readonly #events: boolean
  readonly #found: (response: JsonObject) => Promise<void>
  #pieces: Buffer[] = []
  #size = 0

  /** `events`: the answer is an event stream, pushed in whole events, rather than one document. `found` never rejects. */
  constructor(events: boolean, found: (response: JsonObject) => Promise<void>) {
    this.#events = events
    this.#found = found
  }

  push(bytes: Uint8Array): void {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    if (this.#events) {
      if (MARKS.some(mark => piece.includes(mark))) this.report(lastResponse(piece))
      return
    }
    this.#size += piece.length
    if (this.#size <= MAX_BYTES) this.#pieces.push(piece)
    else this.#pieces = []
  }

  end(): void {
    const bytes = Buffer.concat(this.#pieces)
    this.#pieces = []
    if (bytes.length > 0) this.report(readExact(bytes.toString('utf8')))
  }

  private report(response: Json | undefined): void {
    if (this.kept === undefined && isObject(response) && Array.isArray(response.output))
      this.kept = this.#found(response)
  }
}

function lastResponse(bytes: Buffer): JsonObject | undefined {
  try {
    for (const { data } of new SseDecoder({ line: MAX_BYTES, event: MAX_BYTES }).push(bytes)) {
      const event = LAST.some(name => data.includes(name)) ? readExact(data) : undefined
      const isLast = isObject(event) && LAST.some(name => name === event.type)
      if (isLast && isObject(event.response)) return event.response
    }
    return undefined
  } catch (cause) {
    if (cause instanceof WireLimitError) return undefined
    throw cause
  }
}
