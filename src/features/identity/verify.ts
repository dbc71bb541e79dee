import type { JWK, JWTVerifyOptions } from 'jose'
import type { IdentityProvider } from '../../core/identity.js'
import type { JsonObject } from '../../core/json.js'
import type { KeySet, Keys } from './key-set.js'

const MS_PER_SECOND = 1000
/** Most keys that are tried for a token that names none. */
const MAX_TRIED = 8

/** Claims of a good token. */
export interface Verified {
  readonly claims: JsonObject
  /** End of its validity, milliseconds since the epoch. */
  readonly until: number
  /** What it was checked by. */
  readonly keys?: Keys
}

/** Why a token is refused: for the log. */
export class TokenFault extends Error {
  override readonly name: string = 'TokenFault'
}

/** The token is in a place where those of its issuer are not taken. */
export class MisplacedToken extends TokenFault {
  override readonly name = 'MisplacedToken'
}

/** Checks a signed token (RFC 7519). Throws {@link TokenFault}, or `IssuerFault` where there are no keys. */
export async function verify(token: string, provider: IdentityProvider, keySet: KeySet): Promise<Verified> {
  const { errors } = await import('jose')
  const known = await keySet.current()
  try {
    return await verifyBy(token, known, provider)
  } catch (cause) {
    if (!(cause instanceof errors.JWKSNoMatchingKey)) throw await faultOf(cause)
  }
  const newer = await keySet.newer(known)
  try {
    return await verifyBy(token, newer, provider)
  } catch (cause) {
    throw await faultOf(cause)
  }
}

async function verifyBy(token: string, keys: Keys, provider: IdentityProvider): Promise<Verified> {
  const { createLocalJWKSet, errors, jwtVerify } = await import('jose')
  const { issuer, audience, algorithms, clockSkew } = provider
  const options: JWTVerifyOptions = {
    issuer,
    audience: [...audience],
    algorithms: [...algorithms],
    clockTolerance: clockSkew / MS_PER_SECOND,
    requiredClaims: ['exp', 'aud', 'iss'],
  }
  const find = createLocalJWKSet({ keys: keys.keys as unknown as JWK[] })
  try {
    const { payload } = await jwtVerify(token, find, options)
    return verified(payload as unknown as JsonObject, clockSkew, keys)
  } catch (cause) {
    if (!(cause instanceof errors.JWKSMultipleMatchingKeys)) throw cause
    let tried = 0
    for await (const key of cause) {
      if (++tried > MAX_TRIED) break
      const payload = await jwtVerify(token, key, options).then(
        result => result.payload,
        (reason: unknown) => {
          if (reason instanceof errors.JWSSignatureVerificationFailed) return undefined
          throw reason
        },
      )
      if (payload !== undefined) return verified(payload as unknown as JsonObject, clockSkew, keys)
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

function verified(claims: JsonObject, clockSkew: number, keys: Keys): Verified {
  return { claims, until: Number(claims.exp) * MS_PER_SECOND + clockSkew, keys }
}

async function faultOf(cause: unknown): Promise<Error> {
  const { errors } = await import('jose')
  if (cause instanceof errors.JWTExpired) return new TokenFault('expired')
  if (cause instanceof errors.JWTClaimValidationFailed) return new TokenFault(`the claim ${cause.claim} does not fit`)
  if (cause instanceof errors.JOSEAlgNotAllowed) return new TokenFault('its algorithm is not permitted')
  if (cause instanceof errors.JWKSNoMatchingKey) return new TokenFault('its issuer has no such key')
  if (cause instanceof errors.JWSSignatureVerificationFailed) return new TokenFault('its signature is wrong')
  if (cause instanceof errors.JOSEError) return new TokenFault(`malformed (${cause.code})`)
  if (cause instanceof TypeError) return new TokenFault('its algorithm does not fit the key')
  return cause instanceof Error ? cause : new TokenFault('unreadable')
}
