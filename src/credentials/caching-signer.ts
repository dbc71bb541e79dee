import { isDeepStrictEqual } from 'node:util'
import type { CredentialFault } from '../net/signer.js'
import type { AnswerHeaders, UpstreamRequest } from '../transport/client/handler.js'
import { type Fetched, TokenCache } from './token-cache.js'

const UNAUTHORIZED = 401

/** A signer whose credential is fetched ahead of its end, and once for all who wait. */
export abstract class CachingSigner<T> {
  protected readonly cache: TokenCache<T>
  /** The credential before the present one: requests that have it may still be under way. */
  #previous: T | undefined
  /** The credential that `#hidden` was made of, beside the previous one. */
  #hiddenOf: T | undefined
  #hidden: readonly string[] = []

  constructor(give: () => Promise<Fetched<T>>) {
    this.cache = new TokenCache(async () => {
      const { value, expires } = await give()
      const { present } = this.cache
      // The same object, so that what was refused is not sent again with it.
      if (present !== undefined && isDeepStrictEqual(this.sentOf(value), this.sentOf(present)))
        return { value: present, expires }
      this.#previous = present
      return { value, expires }
    })
  }

  /** What of a credential requests have: two that have the same are one. */
  protected sentOf(value: T): unknown {
    return value
  }

  /** The secrets in a credential. */
  protected abstract secretsOf(value: T): readonly string[]

  isRefusal(status: number, _headers: AnswerHeaders): boolean {
    return status === UNAUTHORIZED
  }

  renew(refused: UpstreamRequest): Promise<boolean> {
    return this.cache.renew(refused.signedWith as T | undefined)
  }

  async prepare(): Promise<void> {
    await this.cache.get()
  }

  /** The same list as long as the credential is the same. */
  get hidden(): readonly string[] {
    const { present } = this.cache
    if (present !== undefined && present !== this.#hiddenOf) {
      this.#hiddenOf = present
      const former = this.#previous === undefined ? [] : this.secretsOf(this.#previous)
      this.#hidden = [...this.secretsOf(present), ...former].flatMap(one => [one, encodeURIComponent(one)])
    }
    return this.#hidden
  }

  get fault(): CredentialFault | undefined {
    return this.cache.fault
  }

  set onChange(report: (fault: CredentialFault | undefined) => void) {
    this.cache.onChange = report
  }
}
