import { isObject, type Json } from '../../core/json.js'
import { JsonScanner } from '../../wire/json-scan.js'
import { SseDecoder, WireLimitError } from '../../wire/sse.js'

/** What is looked at of an answer at most, in bytes, and how deep and wide it may be until the id has come. */
const MAX_BYTES = 8 * 1024 * 1024
const SHAPE = { depth: 256, members: 1_000_000 }

/** Watches an answer on its way to the client until the id of its response has come by. Changes nothing. */
export class IdTap {
  readonly #found: (id: string) => void
  readonly #reader: Reader
  #left = MAX_BYTES
  #over = false

  /** `events`: whether the answer is an event stream, and not one document. */
  constructor(events: boolean, found: (id: string) => void) {
    this.#found = found
    this.#reader = events ? new EventReader() : new DocumentReader()
  }

  /** Whether there is nothing left to be seen. */
  get over(): boolean {
    return this.#over
  }

  push(bytes: Uint8Array): void {
    if (this.#over) return
    this.#left -= bytes.length
    const id = this.#reader.push(bytes)
    this.#over = id !== undefined || this.#left <= 0
    if (typeof id === 'string') this.#found(id)
  }
}

/** Gives the id as soon as it knows it; null where there will be none. */
interface Reader {
  push(bytes: Uint8Array): string | null | undefined
}

class DocumentReader implements Reader {
  readonly #scanner = new JsonScanner({ control: ['id'], ...SHAPE })

  push(bytes: Uint8Array): string | undefined {
    this.#scanner.push(bytes)
    const value = this.#scanner.found('id')?.value
    return typeof value === 'string' ? value : undefined
  }
}

/** The first event of a stream says what is answered: `{response: {id}}`. */
class EventReader implements Reader {
  readonly #decoder = new SseDecoder({ line: MAX_BYTES, event: MAX_BYTES })

  push(bytes: Uint8Array): string | null | undefined {
    try {
      for (const { data } of this.#decoder.push(bytes)) {
        const id = idOf(data)
        if (id !== undefined) return id
      }
      return undefined
    } catch (cause) {
      if (cause instanceof WireLimitError || cause instanceof SyntaxError) return null
      throw cause
    }
  }
}

function idOf(data: string): string | undefined {
  const event = JSON.parse(data) as Json
  if (!isObject(event) || !isObject(event.response)) return undefined
  return typeof event.response.id === 'string' ? event.response.id : undefined
}
