import type { CredentialFault } from '../net/signer.js'
import type { UpstreamRequest } from '../transport/client/handler.js'
import { type Fetched, TokenCache } from './token-cache.js'

/** A signer whose credential is fetched ahead of its end, and once for all who wait. */
export abstract class CachingSigner<T> {
  protected readonly cache: TokenCache<T>
  /** What requests were signed with. */
  readonly #used = new WeakMap<UpstreamRequest, T>()

  constructor(fetch: () => Promise<Fetched<T>>) {
    this.cache = new TokenCache(fetch)
  }

  renew(refused: UpstreamRequest): Promise<boolean> {
    return this.cache.renew(this.#used.get(refused))
  }

  protected signedWith(value: T, request: UpstreamRequest): UpstreamRequest {
    this.#used.set(request, value)
    return request
  }

  async prepare(): Promise<void> {
    await this.cache.get()
  }

  get fault(): CredentialFault | undefined {
    return this.cache.fault
  }

  set onChange(report: (fault: CredentialFault | undefined) => void) {
    this.cache.onChange = report
  }
}
