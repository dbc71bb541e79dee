import { compatibleError } from '../../../core/error-bodies.js'
import { GatewayError } from '../../../core/errors.js'
import { isObject, type JsonObject, parseJson } from '../../../core/json.js'
import type { InnerExchange, Receiver } from '../../../kernel/inner.js'
import type { FramedSocket } from '../../../net/framed-socket.js'
import { textFrames } from '../../../wire/frames.js'
import { SseDecoder, WireLimitError } from '../../../wire/sse.js'
import type { LastTurn } from './last-turn.js'

const LIMITS = { line: 16 * 1024 * 1024, event: 16 * 1024 * 1024 }
/** Maximum length of a refusal that is passed on, characters. */
const MAX_REFUSAL_CHARS = 256 * 1024

/** One request of a session and the messages that answer it. */
export class SocketTurn implements Receiver {
  /** The request, once it was made. */
  request: InnerExchange | undefined
  readonly #stream: string | undefined
  readonly #socket: FramedSocket
  readonly #last: LastTurn
  readonly #onEnd: () => void
  readonly #decoder = new SseDecoder(LIMITS)
  #status = 0
  #refusal = ''
  #reported = false

  constructor(stream: string | undefined, socket: FramedSocket, last: LastTurn, onEnd: () => void) {
    this.#stream = stream
    this.#socket = socket
    this.#last = last
    this.#onEnd = onEnd
  }

  head(status: number): void {
    this.#status = status
  }

  data(bytes: Buffer): boolean {
    if (this.#status !== 200) {
      if (this.#refusal.length < MAX_REFUSAL_CHARS) this.#refusal += bytes.toString('utf8')
      return true
    }
    const texts: string[] = []
    for (const { event, data } of this.events(bytes)) {
      if (data === '[DONE]') continue
      this.#last.event(event, data)
      texts.push(marked(data, this.#stream))
    }
    if (texts.length === 0) return true
    this.#reported = true
    return this.#socket.send(textFrames(texts))
  }

  /** Empty if an event is too large for a message; then the answer was broken off. */
  private events(bytes: Buffer): ReturnType<SseDecoder['push']> {
    try {
      return this.#decoder.push(bytes)
    } catch (cause) {
      if (!(cause instanceof WireLimitError)) throw cause
      this.request?.destroy()
      return []
    }
  }

  end(): void {
    if (this.#status !== 200) this.refuse(this.#status, errorOf(this.#refusal))
    else if (!this.#reported) this.refuse(502, undefined)
    this.#onEnd()
  }

  broken(): void {
    this.refuse(502, undefined)
    this.#onEnd()
  }

  private refuse(status: number, said: JsonObject | undefined): void {
    this.#last.failed()
    const error = said ?? compatibleError(new GatewayError('upstream_failed', 'The answer ended early.'))
    this.#socket.send(textFrames([marked(errorEvent(status, error), this.#stream)]))
  }
}

/** Adds the stream's id to an event. Events are JSON objects, never empty. */
export function marked(event: string, stream: string | undefined): string {
  return stream === undefined ? event : `{"stream_id":"${stream}",${event.slice(1)}`
}

function errorOf(body: string): JsonObject | undefined {
  const parsed = parseJson(body)
  return isObject(parsed) && isObject(parsed.error) ? parsed.error : undefined
}

/** An error as an event of this transport. */
export function errorEvent(status: number, error: JsonObject): string {
  return JSON.stringify({ type: 'error', status, error })
}
