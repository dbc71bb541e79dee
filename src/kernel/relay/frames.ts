import type { Frame } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { parseJson } from '../../core/json.js'
import type { Route } from '../../core/plan.js'
import type { Transform } from '../../core/transform.js'
import { EVENTSTREAM_TYPE, EventStreamDecoder, EventStreamError } from '../../wire/eventstream.js'
import { frameOf } from '../../wire/eventstream-frame.js'
import { costNow } from '../../wire/json-cost.js'
import { JsonStreamDecoder } from '../../wire/json-stream.js'
import { SseDecoder, WireLimitError } from '../../wire/sse.js'

/** An upstream's stream, cut into frames. Throws `bad_upstream_response` if a frame is over its limit. */
export interface Frames {
  push(chunk: Buffer): readonly Frame[]
  /** The transfer has ended: returns the rest if it is complete, or reports that a message was cut. */
  end(): readonly Frame[] | 'cut'
}

/**
 * Events, binary messages, or JSON documents (one per line, or in one array), by the content type. `change`: the declared changes of JSON
 * answers, applied to each message.
 */
export function framesOf(contentType: string, limits: Route['limits'], change?: Transform): Frames {
  const frames = contentType.startsWith('text/event-stream')
    ? new EventFrames(limits)
    : contentType.startsWith(EVENTSTREAM_TYPE)
      ? new BinaryFrames(limits)
      : new DocumentFrames(limits)
  return change === undefined ? frames : new ChangedFrames(frames, change)
}

const BLANK_LINE = Buffer.from('\n\n')
const NOTHING = Buffer.alloc(0)

class EventFrames implements Frames {
  readonly #decoder: SseDecoder

  readonly #values: number

  constructor({ line, event, values }: Route['limits']) {
    this.#values = values
    this.#decoder = new SseDecoder({ line, event })
  }

  push(chunk: Buffer): readonly Frame[] {
    return limited(() => this.#decoder.push(chunk), 'sse_', this.#values)
  }

  /** Some servers omit the last blank line: the end of the transfer replaces it. */
  end(): readonly Frame[] | 'cut' {
    const rest = this.push(BLANK_LINE)
    return rest.every(({ data }) => data === '[DONE]' || parseJson(data) !== undefined) ? rest : 'cut'
  }
}

class DocumentFrames implements Frames {
  readonly #decoder: JsonStreamDecoder

  readonly #values: number

  constructor({ event, values }: Route['limits']) {
    this.#values = values
    this.#decoder = new JsonStreamDecoder({ event })
  }

  push(chunk: Buffer): readonly Frame[] {
    return limited(() => this.#decoder.push(chunk).map(data => ({ data })), 'json_', this.#values)
  }

  end(): readonly Frame[] | 'cut' {
    return this.#decoder.end() === 'cut' ? 'cut' : []
  }
}

class BinaryFrames implements Frames {
  readonly #decoder: EventStreamDecoder

  readonly #values: number

  constructor({ event, values }: Route['limits']) {
    this.#values = values
    this.#decoder = new EventStreamDecoder({ event })
  }

  push(chunk: Buffer): readonly Frame[] {
    return limited(() => this.#decoder.push(chunk).map(frameOf), 'eventstream_', this.#values)
  }

  end(): readonly Frame[] | 'cut' {
    // A fault behind whole messages is reported now.
    this.push(NOTHING)
    return this.#decoder.end() === 'cut' ? 'cut' : []
  }
}

class ChangedFrames implements Frames {
  readonly #frames: Frames
  readonly #change: Transform
  /** Of a message that came behind good ones. */
  #fault: GatewayError | undefined

  constructor(frames: Frames, change: Transform) {
    this.#frames = frames
    this.#change = change
  }

  push(chunk: Buffer): readonly Frame[] {
    return this.allChanged(this.#frames.push(chunk))
  }

  end(): readonly Frame[] | 'cut' {
    const rest = this.#frames.end()
    return rest === 'cut' && this.#fault === undefined ? rest : this.allChanged(rest === 'cut' ? [] : rest)
  }

  private allChanged(frames: readonly Frame[]): readonly Frame[] {
    if (this.#fault !== undefined) throw this.#fault
    const { changed, fault } = changedFrames(frames, this.#change)
    if (fault === undefined) return changed
    const details = { phase: 'event', cause: fault }
    this.#fault = new GatewayError('bad_upstream_response', 'The upstream sent a malformed event.', details)
    if (changed.length === 0) throw this.#fault
    return changed
  }
}

/** The frames as a transform changes them, up to one that it cannot read, and why it cannot. */
export function changedFrames(
  frames: readonly Frame[],
  change: Transform,
): { readonly changed: readonly Frame[]; readonly fault: Error | undefined } {
  const changed: Frame[] = []
  try {
    for (const frame of frames) {
      // Verbs change objects; other data, such as [DONE], is not changed.
      const isObject = frame.data.trimStart().startsWith('{')
      changed.push(isObject ? { ...frame, data: Buffer.from(change(Buffer.from(frame.data))).toString() } : frame)
    }
  } catch (cause) {
    return { changed, fault: cause as Error }
  }
  return { changed, fault: undefined }
}

/** Maximum nesting of a message, and the minimum length of one that deep: an opening and a closing bracket per level. */
const MAX_DEPTH = 2000
const MIN_DEEP_CHARS = 2 * MAX_DEPTH

function limited(read: () => readonly Frame[], prefix: string, values: number): readonly Frame[] {
  try {
    const frames = read()
    for (const { data } of frames) if (data.length > MIN_DEEP_CHARS) checkMessage(data, values)
    return frames
  } catch (cause) {
    if (!(cause instanceof WireLimitError || cause instanceof EventStreamError)) throw cause
    throw new GatewayError('bad_upstream_response', 'The upstream sent a malformed event.', {
      phase: 'event',
      ...(cause instanceof WireLimitError ? { limit: prefix + cause.limit } : { cause }),
    })
  }
}

/** Throws if a message's objects would take too much memory. */
function checkMessage(data: string, maxValues: number): void {
  const { values, depth } = costNow(Buffer.from(data), maxValues)
  if (values <= maxValues && depth <= MAX_DEPTH) return
  throw new GatewayError('bad_upstream_response', 'The upstream sent a malformed event.', {
    phase: 'event',
    limit: values > maxValues ? 'values' : 'depth',
  })
}
