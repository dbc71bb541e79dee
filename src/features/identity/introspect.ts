import type { IdentityProvider } from '../../core/identity.js'
import type { Json } from '../../core/json.js'
import type { Egress } from '../../net/egress.js'
import { fetchJson } from './fetch-json.js'
import type { KeySet } from './key-set.js'
import { TokenFault, type Verified } from './verify.js'

const MS_PER_SECOND = 1000

/** Asks the issuer about a token that is not a JWT (RFC 7662). Throws `TokenFault`, or `IssuerFault` if it is away. */
export async function introspect(
  token: string,
  provider: IdentityProvider,
  keySet: KeySet,
  egress: Egress | undefined,
): Promise<Verified> {
  const { introspection, issuer, audience, clockSkew } = provider
  if (introspection === undefined) throw new TokenFault('unknown')
  const { clientId, clientSecret, cache } = introspection
  const url = introspection.url ?? (await keySet.introspectionAddress())
  const login = [clientId, clientSecret.reveal()].map(formEncoded).join(':')
  const claims = await fetchJson(url, provider, egress, {
    form: { token, token_type_hint: 'access_token' },
    authorization: `Basic ${Buffer.from(login).toString('base64')}`,
  })
  const now = Date.now()
  if (claims.active !== true) throw new TokenFault('its issuer says that it is not active')
  if (claims.iss !== undefined && claims.iss !== issuer) throw new TokenFault('the claim iss does not fit')
  const aud: readonly Json[] = Array.isArray(claims.aud) ? claims.aud : [claims.aud ?? null]
  if (!aud.some(one => audience.some(allowed => allowed === one))) throw new TokenFault('the claim aud does not fit')
  const { exp, nbf } = claims
  if (typeof nbf === 'number' && nbf * MS_PER_SECOND - clockSkew > now)
    throw new TokenFault('the claim nbf does not fit')
  const until = typeof exp === 'number' ? exp * MS_PER_SECOND + clockSkew : now + cache
  if (now >= until) throw new TokenFault('expired')
  return { claims, until }
}

/** As RFC 6749 §2.3.1 has names and secrets of clients. */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}
