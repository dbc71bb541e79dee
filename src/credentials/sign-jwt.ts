import { createPrivateKey, randomUUID } from 'node:crypto'
import type { SigningKey } from '../core/credential-source.js'
import type { JsonObject } from '../core/json.js'
import { CredentialFault } from '../net/signer.js'

/**
 * A JWT with these claims, `iat`, `exp` and `jti`. `ttlMs`: how long it is valid; `backdateMs`: and how long before, as `nbf`.
 * Rejects with a {@link CredentialFault} if the key does not fit the algorithm.
 */
export async function signJwt(
  { algorithm, key, id }: SigningKey,
  claims: JsonObject,
  ttlMs: number,
  backdateMs?: number,
): Promise<string> {
  const { importPKCS8, SignJWT } = await import('jose')
  const now = Math.floor(Date.now() / 1000)
  const header = { alg: algorithm, typ: 'JWT', ...(id === undefined ? {} : { kid: id }) }
  try {
    const isSecret = algorithm.startsWith('HS')
    const signing = isSecret ? Buffer.from(key.reveal()) : await importPKCS8(pkcs8(key.reveal()), algorithm)
    const begins = backdateMs === undefined ? {} : { nbf: now - Math.ceil(backdateMs / 1000) }
    return await new SignJWT({ ...claims, ...begins })
      .setProtectedHeader(header)
      .setIssuedAt(now)
      .setExpirationTime(now + Math.floor(ttlMs / 1000))
      .setJti(randomUUID())
      .sign(signing)
  } catch {
    // The library's message may quote the key.
    throw new CredentialFault(`the private key cannot sign with ${algorithm}: expected a PEM key that fits it`)
  }
}

/** In the form that the library reads: `BEGIN PRIVATE KEY`. */
function pkcs8(pem: string): string {
  if (pem.includes('BEGIN PRIVATE KEY')) return pem
  return createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' }).toString()
}
