import { type ErrorDetails, GatewayError } from '../../core/errors.js'
import { parseJson } from '../../core/json.js'
import type { Translator } from '../../translate/translator.js'
import type { Relay, Source } from '../relay/relay.js'
import type { UpstreamHeaders } from '../response-headers.js'
import { errorOfStatus } from '../upstream-errors.js'
import { upstreamMessage } from '../upstream-words.js'
import { translatedHeaders } from './headers.js'
import { mapUpstreamError } from './map-upstream-error.js'

/** Maximum size of a refusal's body; of a larger one only the status counts. */
const MAX_REFUSAL_BYTES = 64 * 1024

/** Codes by which upstreams refuse the gateway's own credential with a status that is not 401 or 403. */
const OF_CREDENTIAL = new Set(['invalid_api_key', 'authentication_error'])

/** Statuses that families have errors for; others become 502. */
const FAILURES = new Set([500, 501, 503, 504, 529])

/** Reads an upstream's refusal and sends it to the client in the client's own protocol. */
export class TranslatedRefusal implements Relay {
  readonly #attempt: Source
  readonly #translator: Translator
  readonly #status: number
  readonly #headers: UpstreamHeaders
  readonly #chunks: Buffer[] = []
  #size = 0
  #reported = false

  constructor(attempt: Source, translator: Translator, status: number, headers: UpstreamHeaders) {
    this.#attempt = attempt
    this.#translator = translator
    this.#status = status
    this.#headers = headers
  }

  data(chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size <= MAX_REFUSAL_BYTES) this.#chunks.push(chunk)
    else this.report()
  }

  end(): void {
    this.report()
  }

  broken(_error: GatewayError): boolean {
    this.report()
    return true
  }

  settle(): void {}

  private report(): void {
    if (this.#reported) return
    this.#reported = true
    const error = this.read()
    if (error.code === 'upstream_auth')
      this.#attempt.call.kernel.onRefusedCredential(this.#attempt.exchange.upstream.name)
    const said = this.#size <= MAX_REFUSAL_BYTES ? Buffer.concat(this.#chunks) : undefined
    this.#attempt.failed(this.#status, error, undefined, said)
  }

  private read(): GatewayError {
    const body = this.#size <= MAX_REFUSAL_BYTES ? Buffer.concat(this.#chunks).toString('utf8') : ''
    const cause = body === '' ? undefined : upstreamMessage(body, this.#attempt)
    const plain = errorOfStatus(this.#status, this.#headers, cause, this.#attempt.exchange.resets)
    if (plain.code === 'upstream_auth' || this.#status < 400) return plain
    const said = this.#translator.error(this.#status, this.#size <= MAX_REFUSAL_BYTES ? parseJson(body) : undefined)
    if (said.code !== undefined && OF_CREDENTIAL.has(said.code)) return errorOfStatus(401, this.#headers, cause)
    const details: ErrorDetails = {
      ...plain.details,
      ...(FAILURES.has(this.#status) && { status: this.#status }),
      retryAfter: plain.details.retryAfter ?? said.retryAfter,
      ...(said.code !== undefined && plain.status < 500 && { familyCode: said.code }),
    }
    const error = new GatewayError(plain.code, said.message || plain.message, details)
    return mapUpstreamError(error, this.#attempt, translatedHeaders(this.#headers, this.#attempt.exchange))
  }
}
