import type { CredentialFault } from '../net/signer.js'
import type { UpstreamRequest } from '../transport/client/handler.js'
import { type Fetched, TokenCache } from './token-cache.js'

/** A signer whose credential is fetched ahead of its end, and once for all who wait. */
export abstract class CachingSigner<T> {
  protected readonly cache: TokenCache<T>

  constructor(fetch: () => Promise<Fetched<T>>) {
    this.cache = new TokenCache(fetch)
  }

  renew(refused: UpstreamRequest): Promise<boolean> {
    return this.cache.renew(refused.signedWith as T | undefined)
  }

  protected signedWith(value: T, request: UpstreamRequest): UpstreamRequest {
    return { ...request, signedWith: value }
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
