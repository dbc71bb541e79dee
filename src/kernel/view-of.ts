import type { AmountPaths } from '../core/amounts.js'
import { type Request, RequestView } from '../wire/request-view.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import { threadsOf } from './threads.js'

const NO_GROUPS: readonly string[] = []

/** What conditions and strategies may read of a call. */
export function viewOf(call: Call, body: Body): RequestView {
  return new RequestView(new CallRequest(call, body))
}

/** Most of it is not asked for, so it is looked up then. */
class CallRequest implements Request {
  readonly #call: Call
  readonly #body: Body

  constructor(call: Call, body: Body) {
    this.#call = call
    this.#body = body
  }

  get body(): Buffer | undefined {
    return this.#body.type === 'bytes' ? this.#body.bytes : undefined
  }

  get form(): Request['form'] {
    return this.#body.type === 'form' ? this.#body : undefined
  }

  get stream(): boolean {
    return this.#call.stream
  }

  get key(): string {
    return this.#call.key
  }

  get groups(): readonly string[] {
    return this.#call.caller?.policy?.groups ?? NO_GROUPS
  }

  get paths(): AmountPaths | undefined {
    return this.#call.route?.protocol?.amounts
  }

  header(name: string): string | undefined {
    const value = this.#call.request.headers[name]
    return typeof value === 'string' ? value : value?.[0]
  }

  thread(response: string): Uint8Array | undefined {
    return threadsOf(this.#call).digestOf(this.#call.key, response)
  }
}
