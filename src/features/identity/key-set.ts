import type { IdentityProvider } from '../../core/identity.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Egress } from '../../net/egress.js'
import { fetchJson, IssuerFault } from './fetch-json.js'

/** Keys older than this are fetched again, while the old ones are in use, milliseconds. */
const MAX_AGE_MS = 5 * 60_000
/** Most fetches at once, after a time without any; then one for each pause. */
const MAX_BURST = 5
const PAUSE_MS = 15_000
/** Most keys of an issuer. */
const MAX_KEYS = 100
const PUBLIC_TYPES: readonly Json[] = ['RSA', 'EC', 'OKP']

/** Public keys of an issuer. */
export interface Keys {
  readonly keys: readonly JsonObject[]
}

/** What an issuer says of itself. */
interface Described {
  readonly jwksUri: string | undefined
  readonly introspection: string | undefined
  readonly authorization: string | undefined
  readonly token: string | undefined
}

/**
 * The public keys of an issuer: fetched when first needed, and again when they are old or lack the key of a token. All who wait
 * share one fetch, and fetches have a rate, so tokens with made-up keys cost the issuer nothing. While it is away the known
 * keys stay valid.
 */
export class KeySet {
  readonly #provider: IdentityProvider
  readonly #egress: () => Egress | undefined
  #known: Keys | undefined
  #described: Described | undefined
  #fetchedAt = Number.NEGATIVE_INFINITY
  #fetching: Promise<Keys> | undefined
  /** All who come at once share one question. */
  #discovering: Promise<Described> | undefined
  #fetches = MAX_BURST
  #countedAt = performance.now()
  /** Hears of each fetch that failed. */
  onFault: (cause: unknown) => void = () => undefined

  constructor(provider: IdentityProvider, egress: () => Egress | undefined) {
    this.#provider = provider
    this.#egress = egress
    if (provider.keys.from === 'file') this.#known = { keys: publicKeys(provider.keys.set) }
  }

  /** The keys that are known; throws {@link IssuerFault} if there are none yet and they cannot be fetched. */
  async current(): Promise<Keys> {
    if (this.#known === undefined) return await this.#fetch()
    if (performance.now() - this.#fetchedAt > MAX_AGE_MS) this.#fetch().catch(() => undefined)
    return this.#known
  }

  /** Keys that are newer than `than`; the same ones if there are none, or the issuer is away. */
  async newer(than: Keys): Promise<Keys> {
    if (this.#known !== undefined && this.#known !== than) return this.#known
    return await this.#fetch().catch(() => than)
  }

  /** Whether these are the keys of the moment. */
  holds(keys: Keys): boolean {
    return keys === this.#known
  }

  /** Where tokens are asked about, as discovery says. */
  async introspectionAddress(): Promise<string> {
    const { introspection } = await this.#description()
    if (introspection === undefined) throw new IssuerFault('its discovery names no introspection_endpoint')
    return introspection
  }

  /** Where people sign in, and where codes become tokens, as discovery says. */
  async signInAddresses(): Promise<{ readonly authorization: string; readonly token: string }> {
    const { authorization, token } = await this.#description()
    if (authorization === undefined || token === undefined)
      throw new IssuerFault('its discovery names no authorization_endpoint or no token_endpoint')
    // A browser goes where it is sent.
    const { protocol = '' } = URL.canParse(authorization) ? new URL(authorization) : {}
    if (protocol !== 'https:' && protocol !== new URL(this.#provider.issuer).protocol)
      throw new IssuerFault('blocked: its authorization_endpoint is not an https address')
    return { authorization, token }
  }

  /** Questions have the rate of fetches: texts that no one knows cost an issuer that is away nothing. */
  async #description(): Promise<Described> {
    if (this.#described !== undefined) return this.#described
    if (this.#discovering === undefined) {
      this.#take()
      this.#discovering = this.#discover().finally(() => {
        this.#discovering = undefined
      })
    }
    return await this.#discovering
  }

  #fetch(): Promise<Keys> {
    if (this.#provider.keys.from === 'file' && this.#known !== undefined) return Promise.resolve(this.#known)
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  async #fetchOnce(): Promise<Keys> {
    this.#take()
    try {
      const { keys: source } = this.#provider
      const address = source.from === 'address' ? source.url : (await this.#discover()).jwksUri
      if (address === undefined) throw new IssuerFault('its discovery names no jwks_uri')
      const keys = publicKeys(await fetchJson(address, this.#provider, this.#egress()))
      this.#fetchedAt = performance.now()
      // The same keys are the same object: what was checked by them stays checked.
      if (this.#known === undefined || JSON.stringify(this.#known.keys) !== JSON.stringify(keys)) this.#known = { keys }
      return this.#known
    } catch (cause) {
      this.onFault(cause)
      throw cause
    }
  }

  async #discover(): Promise<Described> {
    const { issuer } = this.#provider
    const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    const document = await fetchJson(address, this.#provider, this.#egress())
    if (document.issuer !== issuer) throw new IssuerFault('its discovery names another issuer')
    const { jwks_uri, introspection_endpoint, authorization_endpoint, token_endpoint } = document
    this.#described = {
      jwksUri: textOf(jwks_uri),
      introspection: textOf(introspection_endpoint),
      authorization: textOf(authorization_endpoint),
      token: textOf(token_endpoint),
    }
    return this.#described
  }

  /** Throws if too many fetches have been made. */
  #take(): void {
    const now = performance.now()
    const earned = Math.floor((now - this.#countedAt) / PAUSE_MS)
    if (earned > 0) {
      this.#fetches = Math.min(MAX_BURST, this.#fetches + earned)
      this.#countedAt += earned * PAUSE_MS
    }
    if (this.#fetches === 0) throw new IssuerFault('asked too often: waiting')
    this.#fetches -= 1
  }
}

/** Keys with a shared secret, and those for encryption, check no signature. */
function publicKeys({ keys }: JsonObject): readonly JsonObject[] {
  if (!Array.isArray(keys)) throw new IssuerFault('there are no keys in its answer')
  const found = (keys as readonly Json[]).filter(isObject)
  return found.filter(({ kty, use }) => PUBLIC_TYPES.includes(kty ?? null) && use !== 'enc').slice(0, MAX_KEYS)
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
