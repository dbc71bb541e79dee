import { GatewayError } from '../../core/errors.js'
import { parseJson } from '../../core/json.js'
import { EVENTSTREAM_TYPE, EventStreamDecoder } from '../../wire/eventstream.js'
import { frameOf } from '../../wire/eventstream-frame.js'
import { SseDecoder } from '../../wire/sse.js'
import { sumOfUsage, usageOf } from '../../wire/usage.js'
import { responseHeaders, single, type UpstreamHeaders } from '../response-headers.js'
import type { Inspect } from '../stages.js'
import { HeldBytes, MAX_HELD_BYTES } from './held-bytes.js'
import type { Relay, Source } from './relay.js'
import { containsSecret } from './secrets.js'

/** What the upstream has begun its answer with. */
interface Begun {
  readonly status: number
  readonly headers: UpstreamHeaders
}

/**
 * Holds an answer that has begun well until it has content. One that ends without any, and that a stage calls a refusal, is left
 * for another target.
 */
export class InspectedRelay implements Relay {
  readonly #attempt: Source
  readonly #begun: Begun
  readonly #inspect: Inspect
  readonly #open: () => Relay | undefined
  readonly #type: string
  readonly #held = new HeldBytes()
  #relay: Relay | undefined
  #isOpen = false

  constructor(attempt: Source, begun: Begun, inspect: Inspect, open: () => Relay | undefined) {
    this.#attempt = attempt
    this.#begun = begun
    this.#inspect = inspect
    this.#open = open
    this.#type = single(begun.headers['content-type'])?.toLowerCase() ?? ''
    // What cannot be read here cannot be inspected.
    if (!/json|event-?stream/.test(this.#type) || begun.headers['content-encoding'] !== undefined)
      this.release(this.#held.take())
  }

  get step(): number | undefined {
    return this.#relay?.step
  }

  data(chunk: Buffer): void {
    if (this.#isOpen) {
      this.#relay?.data(chunk)
      return
    }
    this.#held.push(chunk)
    if (this.#held.isEnough) this.release(this.#held.take())
  }

  end(): void {
    if (!this.#isOpen) {
      const bytes = this.#held.take()
      const documents = documentsOf(bytes, this.#type)
      if (documents.some(document => this.#inspect(document))) {
        this.refuse(bytes, documents)
        return
      }
      this.release(bytes)
    }
    this.#relay?.end()
  }

  broken(error: GatewayError): boolean {
    return this.#relay?.broken(error) ?? false
  }

  settle(): void {
    this.#relay?.settle()
  }

  private release(bytes: Buffer): void {
    this.#isOpen = true
    this.#relay = this.#open()
    if (bytes.length > 0) this.#relay?.data(bytes)
  }

  /** The upstream bills what it has read. Where no other target is asked, a client of its protocol gets its own words. */
  private refuse(bytes: Buffer, documents: readonly Buffer[]): void {
    const attempt = this.#attempt
    const { exchange, route } = attempt
    const { status, headers } = this.#begun
    const paths = exchange.translation === undefined ? route.protocol?.usage : exchange.translation.usage
    for (const document of paths === undefined ? [] : documents) {
      const usage = paths && usageOf(parseJson(document.toString('utf8')), paths)
      if (usage !== undefined) attempt.usage = sumOfUsage(attempt.usage, usage)
    }
    const isFit = exchange.translation === undefined && !containsSecret(bytes, attempt)
    const answer = isFit ? { status, headers: responseHeaders(headers, exchange), body: bytes } : undefined
    const error = new GatewayError(
      'upstream_rejected',
      'The upstream refused to answer because of its content policy.',
      { phase: 'status' },
    )
    attempt.failed(
      status,
      error,
      answer,
      documents.find(document => this.#inspect(document)),
    )
  }
}

/** The data of all events, or the document itself. */
function documentsOf(bytes: Buffer, type: string): readonly Buffer[] {
  if (type.startsWith(EVENTSTREAM_TYPE)) return payloadsOf(bytes)
  if (!type.startsWith('text/event-stream')) return [bytes]
  const limits = { line: MAX_HELD_BYTES, event: MAX_HELD_BYTES }
  const frames = new SseDecoder(limits).push(Buffer.concat([bytes, Buffer.from('\n\n')]))
  return frames.map(({ data }) => Buffer.from(data))
}

/** Of binary messages; none where they are torn, which the relay reports. */
function payloadsOf(bytes: Buffer): readonly Buffer[] {
  try {
    const messages = new EventStreamDecoder({ event: MAX_HELD_BYTES }).push(bytes)
    return messages.map(message => Buffer.from(frameOf(message).data))
  } catch {
    return []
  }
}
