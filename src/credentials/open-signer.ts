import type { CredentialSource, ModuleSource, SigV4Source } from '../core/credential-source.js'
import type { Placement } from '../core/placement.js'
import type { ModuleWarning } from '../core/user-module.js'
import type { RequestSigner } from '../net/signer.js'
import type { AnswerHeaders, UpstreamRequest } from '../transport/client/handler.js'
import { fetchAccess } from './aws/access.js'
import { type AwsAccess, signed } from './aws/sign.js'
import { CachingSigner } from './caching-signer.js'
import { tokenByCommand } from './exec.js'
import { fetchGcpToken } from './gcp.js'
import { ModuleSigner } from './module-signer.js'
import { fetchOAuthToken, type Outside } from './oauth2.js'
import { TokenPlace } from './place-token.js'
import { signJwt } from './sign-jwt.js'
import type { Fetched } from './token-cache.js'

const FORBIDDEN = 403

/**
 * The signer of an upstream, and the way by which it reaches token servers. `origin`: of the upstream. `warn` hears what a module
 * of the user's own says.
 */
export function openSigner(
  source: CredentialSource,
  place: Placement,
  origin: string,
  outside: Outside,
  warn: ModuleWarning,
): RequestSigner {
  if (source.type === 'aws-sigv4') return new RequestSignature(source, new URL(origin).host, outside)
  if (source.type === 'module') return new ModuleSigner(source, place, new URL(origin).origin, warn)
  return new TokenPlacement(fetcherOf(source, outside), place)
}

function fetcherOf(
  source: Exclude<CredentialSource, SigV4Source | ModuleSource>,
  outside: Outside,
): () => Promise<Fetched<string>> {
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
        return { value: await signJwt(source.key, source.claims, source.ttl, source.backdate), expires }
      }
  }
}

/** A token in a header or in the query. */
class TokenPlacement extends CachingSigner<string> implements RequestSigner {
  readonly #place: TokenPlace

  constructor(fetch: () => Promise<Fetched<string>>, place: Placement) {
    super(fetch)
    this.#place = new TokenPlace(place)
  }

  sign(request: UpstreamRequest): UpstreamRequest | Promise<UpstreamRequest> {
    const token = this.cache.get()
    if (typeof token === 'string') return this.#place.put(request, token, token)
    return token.then(one => this.#place.put(request, one, one))
  }

  protected secretsOf(token: string): readonly string[] {
    return [token]
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

  /** AWS refuses keys with 403; it denies with that, too, what a valid key may not do. */
  override isRefusal(status: number, headers: AnswerHeaders): boolean {
    const isDenied = String(headers['x-amzn-errortype']).startsWith('AccessDenied')
    return super.isRefusal(status, headers) || (status === FORBIDDEN && !isDenied)
  }

  async sign(request: UpstreamRequest): Promise<UpstreamRequest> {
    const access = await this.cache.get()
    return { ...(await signed(request, this.#host, access, this.#source)), signedWith: access }
  }

  protected secretsOf({ secret, session }: AwsAccess): readonly string[] {
    return session === undefined ? [secret] : [secret, session]
  }
}
