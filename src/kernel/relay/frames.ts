import type { Frame } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { parseJson } from '../../core/json.js'
import type { Route } from '../../core/plan.js'
import { JsonStreamDecoder } from '../../wire/json-stream.js'
import { SseDecoder, WireLimitError } from '../../wire/sse.js'

/** An upstream's stream, cut into frames. Throws `bad_upstream_response` where a frame is over its limit. */
export interface Frames {
  push(chunk: Buffer): readonly Frame[]
  /** The transfer has ended: what is left, where it is whole, or that something was cut in the middle. */
  end(): readonly Frame[] | 'cut'
}

/** Events, or JSON documents (a line each, or in one array), by the content type. */
export function framesOf(contentType: string, limits: Route['limits']): Frames {
  return contentType.startsWith('text/event-stream') ? new EventFrames(limits) : new DocumentFrames(limits)
}

const BLANK_LINE = Buffer.from('\n\n')

class EventFrames implements Frames {
  readonly #decoder: SseDecoder

  constructor({ line, event }: Route['limits']) {
    this.#decoder = new SseDecoder({ line, event })
  }

  push(chunk: Buffer): readonly Frame[] {
    return limited(() => this.#decoder.push(chunk), 'sse_')
  }

  /** Some servers leave out the last blank line: the end of the transfer stands for it. */
  end(): readonly Frame[] | 'cut' {
    const rest = this.push(BLANK_LINE)
    return rest.every(({ data }) => data === '[DONE]' || parseJson(data) !== undefined) ? rest : 'cut'
  }
}

class DocumentFrames implements Frames {
  readonly #decoder: JsonStreamDecoder

  constructor({ event }: Route['limits']) {
    this.#decoder = new JsonStreamDecoder({ event })
  }

  push(chunk: Buffer): readonly Frame[] {
    return limited(() => this.#decoder.push(chunk), 'json_').map(data => ({ data }))
  }

  end(): readonly Frame[] | 'cut' {
    return this.#decoder.end() === 'cut' ? 'cut' : []
  }
}

function limited<T>(read: () => T, prefix: string): T {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof WireLimitError)) throw cause
    throw new GatewayError('bad_upstream_response', 'The upstream sent a malformed event.', {
      phase: 'event',
      limit: prefix + cause.limit,
    })
  }
}
