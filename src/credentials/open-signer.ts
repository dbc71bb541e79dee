import type { CredentialSource, SigV4Source } from '../core/credential-source.js'
import type { Placement } from '../core/placement.js'
import type { CredentialFault, RequestSigner } from '../net/signer.js'
import type { UpstreamRequest } from '../transport/client/handler.js'
import { fetchAccess } from './aws/access.js'
import { type AwsAccess, signed } from './aws/sign.js'
import { tokenByCommand } from './exec.js'
import { fetchGcpToken } from './gcp.js'
import { fetchOAuthToken, type Outside } from './oauth2.js'
import { signJwt } from './sign-jwt.js'
import { type Fetched, TokenCache } from './token-cache.js'

/** The signer of an upstream, and the way by which it reaches token servers. `origin`: of the upstream. */
export function openSigner(
  source: CredentialSource,
  place: Placement,
  origin: string,
  outside: Outside,
): RequestSigner {
  if (source.type === 'aws-sigv4') return new RequestSignature(source, new URL(origin).host, outside)
  return new TokenPlacement(fetcherOf(source, outside), place)
}

function fetcherOf(source: Exclude<CredentialSource, SigV4Source>, outside: Outside): () => Promise<Fetched<string>> {
  switch (source.type) {
    case 'oauth2':
      return () => fetchOAuthToken(source, outside)
    case 'gcp':
      return () => fetchGcpToken(source, outside)
    case 'exec':
      return () => tokenByCommand(source)
    case 'jwt':
      return async () => {
        const expires = Date.now() + source.ttl
        return { value: await signJwt(source.key, source.claims, source.ttl), expires }
      }
  }
}

abstract class CachingSigner<T> {
  protected readonly cache: TokenCache<T>

  constructor(fetch: () => Promise<Fetched<T>>) {
    this.cache = new TokenCache(fetch)
  }

  renew(): Promise<boolean> {
    return this.cache.renew()
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

/** A token in a header or in the query. */
class TokenPlacement extends CachingSigner<string> implements RequestSigner {
  readonly #place: Placement
  /** The token that `#value` was made of. */
  #of: string | undefined
  /** As it is sent: a scheme and the token. Made once for each token. */
  #value = ''

  constructor(fetch: () => Promise<Fetched<string>>, place: Placement) {
    super(fetch)
    this.#place = place
  }

  sign(request: UpstreamRequest): UpstreamRequest | Promise<UpstreamRequest> {
    const token = this.cache.get()
    return typeof token === 'string' ? this.#placed(request, token) : token.then(one => this.#placed(request, one))
  }

  get hidden(): readonly string[] {
    const token = this.cache.present
    return token === undefined ? [] : [token, encodeURIComponent(token)]
  }

  #placed({ method, path, headers, body }: UpstreamRequest, token: string): UpstreamRequest {
    const place = this.#place
    if (place.in === 'query') {
      const parameter = `${encodeURIComponent(place.name)}=${encodeURIComponent(token)}`
      return { method, path: `${path}${path.includes('?') ? '&' : '?'}${parameter}`, headers, body }
    }
    if (token !== this.#of) {
      const before = place.in === 'header' ? (place.scheme === undefined ? '' : `${place.scheme} `) : place.prefix
      this.#value = before + token
      this.#of = token
    }
    const name = place.in === 'header' ? place.name : 'sec-websocket-protocol'
    return { method, path, headers: [...headers, name, this.#value], body }
  }
}

/** A signature of the whole request. */
class RequestSignature extends CachingSigner<AwsAccess> implements RequestSigner {
  readonly #source: SigV4Source
  readonly #host: string

  constructor(source: SigV4Source, host: string, outside: Outside) {
    super(() => fetchAccess(source, outside))
    this.#source = source
    this.#host = host
  }

  async sign(request: UpstreamRequest): Promise<UpstreamRequest> {
    return signed(request, this.#host, await this.cache.get(), this.#source)
  }

  get hidden(): readonly string[] {
    const { secret, session } = this.cache.present ?? {}
    return [secret, session].flatMap(one => (one === undefined ? [] : [one, encodeURIComponent(one)]))
  }
}
