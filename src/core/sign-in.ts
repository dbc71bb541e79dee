import type { ClaimRule, IdentityProvider } from './identity.js'
import type { Secret } from './secret.js'

/** How people sign in to the console at an OpenID Connect issuer. */
export interface SignInConfig {
  /** How its identity tokens are checked. */
  readonly provider: IdentityProvider
  readonly clientId: string
  /** Absent: a public client. */
  readonly clientSecret?: Secret
  /** Beside `openid`. */
  readonly scopes: readonly string[]
  /** Where browsers reach the console, without a slash at its end. Absent: as the request says. */
  readonly address?: string
  /** Claim that names a person. */
  readonly name: string
  /** Its values are `viewer` and `admin`. */
  readonly role: ClaimRule
}
