import type { GatewayError } from '../../core/errors.js'
import { responseHeaders, type UpstreamHeaders } from '../response-headers.js'
import { errorOfStatus, presentable } from '../upstream-errors.js'
import type { Relay, Source } from './relay.js'

/** What is kept of a refusal's body; a larger one is not passed on. */
const MOST = 64 * 1024

/** Statuses of which nothing but our own error is shown: redirects and refusals of the gateway's credential. */
function hidden(status: number): boolean {
  return status < 400 || status === 401 || status === 403 || status === 407
}

/** Gathers an upstream's refusal (3xx, 4xx, 5xx), so that another target may be tried or the refusal be passed on. */
export class RefusalRelay implements Relay {
  readonly #attempt: Source
  readonly #status: number
  readonly #headers: UpstreamHeaders
  readonly #chunks: Buffer[] = []
  #size = 0

  constructor(attempt: Source, status: number, headers: UpstreamHeaders) {
    this.#attempt = attempt
    this.#status = status
    this.#headers = headers
  }

  data(chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size <= MOST) this.#chunks.push(chunk)
    else this.fail()
  }

  end(): void {
    this.fail()
  }

  broken(_error: GatewayError): boolean {
    this.fail()
    return true
  }

  settle(): void {}

  private fail(): void {
    const { call, exchange } = this.#attempt
    const error = errorOfStatus(this.#status, this.#headers)
    if (error.code === 'upstream_auth') call.kernel.onRefusedCredential()
    const body = Buffer.concat(this.#chunks)
    const fit = !hidden(this.#status) && this.#size <= MOST && presentable(body, call, exchange)
    const headers = responseHeaders(this.#headers, exchange)
    this.#attempt.failed(this.#status, error, fit ? { status: this.#status, headers, body } : undefined)
  }
}
