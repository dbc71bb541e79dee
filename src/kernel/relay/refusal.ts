import { codecOf } from '../../codecs/index.js'
import { GatewayError } from '../../core/errors.js'
import { parseJson } from '../../core/json.js'
import type { UpstreamAnswer } from '../failure.js'
import { presentable } from '../passed-refusal.js'
import { responseHeaders, type UpstreamHeaders } from '../response-headers.js'
import { errorOfStatus } from '../upstream-errors.js'
import { upstreamMessage } from '../upstream-words.js'
import type { Relay, Source } from './relay.js'

/** Maximum size of a refusal's body; a larger one is not passed on. */
const MAX_REFUSAL_BYTES = 64 * 1024

/** Statuses that clients see only as the gateway's own error: redirects and refusals of the gateway's credential. */
function hidden(status: number): boolean {
  return status < 400 || status === 401 || status === 403 || status === 407
}

/**
 * Abandons an attempt because its upstream reports an error: another target may succeed, or else the client gets the
 * upstream's own answer if it may be shown.
 */
export function abandonAttempt(
  attempt: Source,
  status: number,
  error: GatewayError,
  answer: UpstreamAnswer | undefined,
): void {
  const { call, exchange } = attempt
  const isAuth = error.code === 'upstream_auth'
  if (isAuth) call.kernel.onRefusedCredential(exchange.upstream.name)
  const fit = answer !== undefined && !isAuth && !hidden(status) && presentable(answer.body, call, exchange)
  attempt.failed(status, error, fit ? answer : undefined, answer?.body)
}

/** Collects an upstream's refusal (3xx, 4xx, 5xx), so that another target may be tried or the refusal be passed on. */
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
    if (this.#size <= MAX_REFUSAL_BYTES) this.#chunks.push(chunk)
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
    const body = Buffer.concat(this.#chunks)
    const said = this.#size <= MAX_REFUSAL_BYTES ? upstreamMessage(body, this.#attempt) : undefined
    const { resets } = this.#attempt.exchange
    const refused = this.#status === 400 || WITH_WAIT.has(this.#status) ? this.read(body) : undefined
    const isAuth = this.#status === 400 && refused?.code !== undefined && OF_CREDENTIAL.has(refused.code)
    const known = errorOfStatus(isAuth ? 401 : this.#status, this.#headers, said, resets)
    const wait = known.details.retryAfter ?? refused?.retryAfter
    const error =
      wait === known.details.retryAfter
        ? known
        : new GatewayError(known.code, known.message, { ...known.details, retryAfter: wait })
    const headers = responseHeaders(this.#headers, this.#attempt.exchange)
    const answer = { status: this.#status, headers, body }
    abandonAttempt(this.#attempt, this.#status, error, this.#size <= MAX_REFUSAL_BYTES ? answer : undefined)
  }

  /** Some protocols report with status 400 that the gateway's key is wrong, or in the error itself how long to wait. */
  private read(body: Buffer): { readonly code?: string; readonly retryAfter?: number } | undefined {
    const codec = codecOf(this.#attempt.route.protocol?.name ?? '')
    return codec?.client.decodeError(this.#status, parseJson(body.toString('utf8')))
  }
}

/** Statuses whose errors may say how long to wait. */
const WITH_WAIT: ReadonlySet<number> = new Set([429, 503, 529])

/** Codes by which upstreams refuse the gateway's own credential with a status that is not 401 or 403. */
const OF_CREDENTIAL: ReadonlySet<string> = new Set(['invalid_api_key', 'authentication_error'])
