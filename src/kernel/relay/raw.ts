import { GatewayError } from '../../core/errors.js'
import type { Relay, Source } from './relay.js'

/** Passes bytes on unchanged. A broken transfer stays visible: it ends short of its length, or without a last chunk. */
export class RawRelay implements Relay {
  readonly #attempt: Source
  readonly #status: number
  readonly #headers: string[]
  readonly #mayBeEmpty: boolean
  #begun = false

  /** `mayBeEmpty`: an empty body is a valid answer, such as the text of a silent recording. No 204 has a length (RFC 9110 §8.6). */
  constructor(attempt: Source, status: number, headers: string[], length: number | undefined, mayBeEmpty = false) {
    this.#attempt = attempt
    this.#status = status
    this.#headers = headers
    this.#mayBeEmpty = mayBeEmpty
    if (length !== undefined && status !== 204) headers.push('content-length', String(length))
  }

  data(chunk: Buffer): void {
    this.begin()
    this.#attempt.content()
    this.#attempt.write(chunk)
  }

  end(): void {
    if (!this.#begun && !this.#mayBeEmpty && this.#attempt.route.protocol?.binary) {
      const message = 'The upstream sent a malformed answer. It is empty.'
      this.#attempt.failed('bad_response', new GatewayError('bad_upstream_response', message, { phase: 'body' }))
      return
    }
    this.begin()
    this.#attempt.complete(true)
    this.#attempt.call.end()
  }

  broken(error: GatewayError): boolean {
    if (!this.#begun) return false
    this.#attempt.brokeOff(error)
    this.#attempt.call.breakOff()
    return true
  }

  settle(): void {}

  private begin(): void {
    if (this.#begun) return
    this.#begun = true
    this.#attempt.call.begin(this.#status, this.#headers)
  }
}
