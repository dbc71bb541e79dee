import { isObject, type Json } from '../../core/json.js'
import { JsonScanner } from '../../wire/json-scan.js'
import { SseDecoder, WireLimitError } from '../../wire/sse.js'

/** Most bytes of an answer that are read, and its largest depth and width before the id. */
const MAX_BYTES = 8 * 1024 * 1024
const SHAPE = { depth: 256, members: 1_000_000 }

/** Observes an answer until its response's id has passed. Changes nothing. */
export class IdTap {
  readonly #found: (id: string) => void
  readonly #reader: Reader
  #left = MAX_BYTES
  #over = false

  /** `events`: the answer is an event stream rather than one document. */
  constructor(events: boolean, found: (id: string) => void) {
    this.#found = found
    this.#reader = events ? new EventReader() : new DocumentReader()
  }

  /** Whether nothing more will be read. */
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

/** Returns the id as soon as it is known; null if there will be none. */
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

/** Reads the first event of a stream: `{response: {id}}`. */
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
