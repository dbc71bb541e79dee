import { hash } from 'node:crypto'
import type { SignInConfig } from '../../core/sign-in.js'
import type { Egress } from '../../net/egress.js'
import { fetchJson, IssuerFault } from './fetch-json.js'
import { KeySet } from './key-set.js'
import { byClaim, claimOf } from './mapping.js'
import { TokenFault, verify } from './verify.js'

/** What only the browser that began knows. */
export interface Begun {
  readonly state: string
  readonly nonce: string
  /** Of PKCE (RFC 7636). */
  readonly verifier: string
}

/** A person who has signed in. */
interface Person {
  readonly name: string
  readonly role: 'viewer' | 'admin'
}

const MAX_NAME_CHARS = 120

/** The authorization code flow with PKCE (OpenID Connect Core §3.1), for one issuer. */
export class SignIn {
  readonly config: SignInConfig
  readonly #keys: KeySet
  readonly #egress: () => Egress | undefined

  constructor(config: SignInConfig, egress: () => Egress | undefined) {
    this.config = config
    this.#egress = egress
    this.#keys = new KeySet(config.provider, egress)
  }

  /** Where the browser goes first. Throws {@link IssuerFault}. */
  async address({ state, nonce, verifier }: Begun, redirect: string): Promise<string> {
    const { authorization } = await this.#keys.signInAddresses()
    const url = new URL(authorization)
    const query = {
      ...{ response_type: 'code', client_id: this.config.clientId, redirect_uri: redirect },
      ...{ scope: [...new Set(['openid', ...this.config.scopes])].join(' '), state, nonce },
      ...{ code_challenge: hash('sha256', verifier, 'base64url'), code_challenge_method: 'S256' },
    }
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url.href
  }

  /** Who has signed in, by the code that came back. Throws {@link TokenFault}, or {@link IssuerFault} where the issuer gives none. */
  async person(code: string, { nonce, verifier }: Begun, redirect: string): Promise<Person> {
    const { clientId, provider, name, role } = this.config
    const { token } = await this.#keys.signInAddresses()
    const form = {
      ...{ grant_type: 'authorization_code', code, redirect_uri: redirect },
      ...{ client_id: clientId, code_verifier: verifier },
    }
    const { id_token } = await fetchJson(token, provider, this.#egress(), { form, ...this.#login() })
    if (typeof id_token !== 'string') throw new IssuerFault('its answer has no id_token')
    const { claims } = await verify(id_token, provider, this.#keys)
    if (claims.nonce !== nonce) throw new TokenFault('the claim nonce is another one')
    const said = claimOf(claims, name)
    if (typeof said !== 'string' || said === '') throw new TokenFault(`the claim ${name} is not a name`)
    const found = byClaim(role, claims)
    if (found !== 'viewer' && found !== 'admin') throw new TokenFault(`the claim ${role.claim} gives no role`)
    return { name: said.slice(0, MAX_NAME_CHARS), role: found }
  }

  /** RFC 6749 §2.3.1. */
  #login(): { readonly authorization?: string } {
    const { clientId, clientSecret } = this.config
    if (clientSecret === undefined) return {}
    const pair = [clientId, clientSecret.reveal()].map(encodeURIComponent).join(':')
    return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
  }
}
