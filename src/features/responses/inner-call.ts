import { GatewayError } from '../../core/errors.js'
import type { Call } from '../../kernel/call.js'
import { InnerExchange, type InnerRequest, type Serve } from '../../kernel/inner.js'
import type { Work } from '../../kernel/watchdog.js'

/** The whole answer to a request that was made inside the process. */
export interface InnerAnswer {
  readonly status: number
  /** A flat name, value list. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

interface InnerCallOptions extends InnerRequest {
  /** Largest answer that is accepted, bytes. */
  readonly maxBytes: number
}

/**
 * Makes a request on behalf of a call, with the headers of the call's own, and returns the whole answer. It is cancelled when
 * the call ends. Rejects with `client_gone` if the call is over, and `bad_upstream_response` if the answer is cut or too large.
 */
export function callInner(call: Call, serve: Serve, ask: InnerCallOptions): Promise<InnerAnswer> {
  return new Promise((resolve, reject) => {
    const asking = new InnerCall(ask.maxBytes, resolve, reject)
    const { trace, generation } = call
    const request = new InnerExchange(call.request, { ...ask, inside: { ...ask.inside, trace, generation } }, asking)
    asking.begin(request)
    call.work = asking
    serve(request)
  })
}

class InnerCall implements Work {
  readonly #maxBytes: number
  readonly #resolve: (answer: InnerAnswer) => void
  readonly #reject: (error: GatewayError) => void
  readonly #chunks: Buffer[] = []
  #size = 0
  #status = 0
  #headers: readonly string[] = []
  #request: InnerExchange | undefined

  constructor(maxBytes: number, resolve: (answer: InnerAnswer) => void, reject: (error: GatewayError) => void) {
    this.#maxBytes = maxBytes
    this.#resolve = resolve
    this.#reject = reject
  }

  begin(request: InnerExchange): void {
    this.#request = request
  }

  check(): void {
    // The inner request has time limits of its own.
  }

  cancel(): void {
    this.#request?.destroy()
  }

  cut(): boolean {
    return false
  }

  head(status: number, headers: readonly string[]): void {
    this.#status = status
    this.#headers = headers
  }

  data(bytes: Buffer): boolean {
    this.#size += bytes.length
    if (this.#size <= this.#maxBytes) this.#chunks.push(bytes)
    else this.cancel()
    return true
  }

  end(): void {
    this.#resolve({ status: this.#status, headers: this.#headers, body: Buffer.concat(this.#chunks) })
  }

  broken(): void {
    const why = this.#size > this.#maxBytes ? 'is too large' : 'ended early'
    this.#reject(new GatewayError('bad_upstream_response', `The upstream's answer ${why}.`, { phase: 'body' }))
  }
}
