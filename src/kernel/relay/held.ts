import { GatewayError } from '../../core/errors.js'
import { single, type UpstreamHeaders } from '../response-headers.js'
import { HeldBytes } from './held-bytes.js'
import type { Relay, Source } from './relay.js'

interface HeldOptions {
  /** Opens the relay that the answer gets. */
  readonly open: () => Relay | undefined
  /** Whether another attempt is under way, which may answer instead. */
  readonly hasRival: () => boolean
  /** This answer is the first of those under way to have content: the others are given up. */
  readonly claim: () => void
}

/** Holds an answer that has begun well until it has content: so long another target may answer in its place. */
export class HeldRelay implements Relay {
  readonly #attempt: Source
  readonly #isStream: boolean
  readonly #options: HeldOptions
  readonly #held = new HeldBytes()
  #relay: Relay | undefined
  #isReleased = false
  #hasBegun = false

  constructor(attempt: Source, headers: UpstreamHeaders, options: HeldOptions) {
    this.#attempt = attempt
    this.#isStream = /^(?:text\/event-stream|application\/vnd\.amazon\.eventstream)/i.test(
      single(headers['content-type']) ?? '',
    )
    this.#options = options
  }

  get step(): number | undefined {
    return this.#relay?.step
  }

  data(chunk: Buffer): void {
    if (this.#isReleased) {
      this.#relay?.data(chunk)
      return
    }
    this.#held.push(chunk)
    if (!this.#hasBegun && (!this.#isStream || this.#held.hasEvent)) {
      this.#hasBegun = true
      this.#attempt.content()
    }
    // Of a whole answer any byte is content.
    if (!this.#isStream || this.#held.isEnough) this.release()
  }

  private release(): void {
    this.#isReleased = true
    const relay = this.#options.open()
    // One that is refused by its head wins nothing.
    if (relay === undefined) return
    this.#options.claim()
    this.#relay = relay
    const bytes = this.#held.take()
    if (bytes.length > 0) relay.data(bytes)
  }

  end(): void {
    if (!this.#isReleased && this.#options.hasRival()) {
      const message = 'The upstream ended its answer without content.'
      this.#attempt.failed('bad_response', new GatewayError('bad_upstream_response', message, { phase: 'fin' }))
      return
    }
    if (!this.#isReleased) this.release()
    this.#relay?.end()
  }

  broken(error: GatewayError): boolean {
    return this.#relay?.broken(error) ?? false
  }

  settle(): void {
    this.#relay?.settle()
  }
}
