import { hash } from 'node:crypto'
import type { Caller } from '../../core/caller.js'
import type { CertificateIdentity, IdentityConfig, IdentityProvider } from '../../core/identity.js'
import type { JsonObject } from '../../core/json.js'
import { LruCache } from '../../core/lru.js'
import type { Plan } from '../../core/plan.js'
import { issuerOf, isToken } from '../../core/token-form.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { ClientCertificate } from '../../transport/client-certificate.js'
import { CALLERS } from '../keys/callers.js'
import { claimsOf } from './certificate.js'
import { IssuerFault } from './fetch-json.js'
import { introspect } from './introspect.js'
import { KeySet, type Keys } from './key-set.js'
import { type Identity, identityOf } from './mapping.js'
import { MisplacedToken, TokenFault, type Verified, verify } from './verify.js'

/** Most checked tokens of a plan are twice as many. */
const HALF_CHECKED = 5_000
/** Longest time that a checked token is not checked again, milliseconds. */
const CHECKED_MS = 60_000

/** Most tokens that are being asked about at once. */
const MAX_ASKED = 64

/** Most texts of a plan that its issuer has refused a moment ago are twice as many. */
const HALF_REFUSED = 1000
/** Longest time that an issuer is not asked again about a text that it refused, milliseconds. */
const REFUSED_MS = 10_000

/** A caller by a token. */
export interface Identified {
  readonly caller: Caller
  readonly identity: Identity
  readonly provider: string
  /** End of the token's validity, milliseconds since the epoch. */
  readonly until: number
  /** Only where the plan has checks, which may ask. */
  readonly claims?: JsonObject
}

interface Checked extends Identified {
  /** Checked again after that, milliseconds since the epoch. */
  readonly again: number
  readonly keys: Keys | undefined
  readonly keySet: KeySet
}

interface Refused {
  readonly fault: TokenFault
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Finds callers by tokens. Tokens are kept by their digests alone. */
export class Identities {
  readonly #kernel: Kernel
  /** By what decides where an issuer's keys are. */
  #keySets = new Map<string, KeySet>()
  /** Tokens that an issuer is being asked about, by their digests: all who wait share one answer. */
  readonly #asking = new Map<string, Promise<Verified>>()
  readonly #checked = new WeakMap<Plan, LruCache<Checked>>()
  readonly #refused = new WeakMap<Plan, LruCache<Refused>>()
  /** Callers by certificates that count, by their fingerprints. */
  readonly #shown = new WeakMap<Plan, LruCache<Identified>>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** Keeps the keys of issuers that the plan still has. */
  adopt({ identity }: Plan): void {
    const places = new Set(Object.values(identity?.providers ?? {}).map(placeOf))
    for (const place of this.#keySets.keys()) if (!places.has(place)) this.#keySets.delete(place)
  }

  /** A token that was checked a moment ago. */
  known(plan: Plan, token: string, now: number): Identified | undefined {
    const checked = this.#checked.get(plan)?.get(hash('sha256', token))
    if (checked === undefined || now >= Math.min(checked.again, checked.until)) return undefined
    // Keys that its issuer has withdrawn check nothing any more.
    if (checked.keys !== undefined && !checked.keySet.holds(checked.keys)) return undefined
    const { key } = checked.identity
    if (key === undefined) return checked
    // A key of the file may expire: that is looked at each time.
    const caller = plan.keys.named(key, now)
    return caller === undefined || 'refused' in caller ? undefined : checked
  }

  /** Throws `TokenFault`, or `IssuerFault` if the issuer is needed and away. */
  async find(plan: Plan, token: string, place: string, now: number): Promise<Identified> {
    const { identity: config } = plan
    if (config === undefined) throw new TokenFault('no identity provider is declared')
    const provider = providerOf(config, token)
    const keySet = this.#keySetOf(provider)
    if (!provider.acceptIn.some(one => one === place)) {
      throw new MisplacedToken(`${provider.name} does not accept tokens in the ${place} (accept_in)`)
    }
    const verified = isToken(token)
      ? await verify(token, provider, keySet)
      : await this.#introspected(plan, token, provider, keySet)
    const found = this.identified(plan, provider.name, identityOf(provider, verified.claims), verified.until)
    const again = now + Math.min(CHECKED_MS, provider.introspection?.cache ?? CHECKED_MS)
    const identified = { ...found, ...claimsFor(plan, verified.claims) }
    this.#keep(plan, token, { ...identified, again, keys: verified.keys, keySet })
    return identified
  }

  /** The caller of a certificate that has been checked. Throws `TokenFault` if what it says fits no caller. */
  byCertificate(plan: Plan, declared: CertificateIdentity, certificate: ClientCertificate): Identified {
    const cache = this.#shown.get(plan) ?? new LruCache<Identified>(HALF_CHECKED)
    this.#shown.set(plan, cache)
    const known = cache.get(certificate.fingerprint)
    if (known !== undefined) return known
    const claims = claimsOf(certificate)
    const identity = identityOf(declared, claims)
    const found = { ...this.identified(plan, declared.name, identity, certificate.until), ...claimsFor(plan, claims) }
    // A key of the file may expire: that is looked at each time.
    if (identity.key === undefined) cache.set(certificate.fingerprint, found)
    return found
  }

  /** The caller that an identity is in a plan. Throws `TokenFault` if its terms do not fit. */
  identified(plan: Plan, provider: string, identity: Identity, until: number): Identified {
    const { name, key, terms } = identity
    if (key !== undefined) {
      const caller = plan.keys.named(key, Date.now())
      if (caller === undefined) throw new TokenFault('its claims name no key of the file')
      if ('refused' in caller) throw new TokenFault(`the key that it stands for is ${caller.refused}`)
      return { caller, identity, provider, until }
    }
    const holder = this.#kernel.need(CALLERS).compile({ name, terms }, plan)
    if (holder === undefined) throw new TokenFault('its claims do not fit the file: an unknown group, region or limit')
    return { caller: holder.caller, identity, provider, until }
  }

  async #introspected(plan: Plan, token: string, provider: IdentityProvider, keySet: KeySet): Promise<Verified> {
    const digest = hash('sha256', token)
    const asking = this.#asking.get(digest)
    if (asking !== undefined) return await asking
    const refused = this.#refused.get(plan) ?? new LruCache<Refused>(HALF_REFUSED)
    this.#refused.set(plan, refused)
    const before = refused.get(digest)
    if (before !== undefined && Date.now() < before.until) throw before.fault
    if (this.#asking.size >= MAX_ASKED) throw new IssuerFault('too many tokens are being asked about')
    const asked = introspect(token, provider, keySet, this.#kernel.generation.egressOf(''))
      .catch((fault: unknown) => {
        const holds = Math.min(REFUSED_MS, provider.introspection?.cache ?? 0)
        if (fault instanceof TokenFault) refused.set(digest, { fault, until: Date.now() + holds })
        throw fault
      })
      .finally(() => this.#asking.delete(digest))
    this.#asking.set(digest, asked)
    return await asked
  }

  #keep(plan: Plan, token: string, checked: Checked): void {
    const cache = this.#checked.get(plan) ?? new LruCache<Checked>(HALF_CHECKED)
    this.#checked.set(plan, cache)
    cache.set(hash('sha256', token), checked)
  }

  #keySetOf(provider: IdentityProvider): KeySet {
    const place = placeOf(provider)
    const known = this.#keySets.get(place)
    if (known !== undefined) return known
    const made = new KeySet(provider, () => this.#kernel.generation.egressOf(''))
    made.onFault = cause => {
      const why = cause instanceof IssuerFault ? cause.message : 'the gateway failed'
      this.#kernel.onNotice({ provider: provider.name, cause: why }, 'keys of an identity provider cannot be fetched')
    }
    this.#keySets.set(place, made)
    return made
  }
}

function claimsFor({ checks }: Plan, claims: JsonObject): Pick<Identified, 'claims'> {
  return checks.length === 0 ? {} : { claims }
}

function placeOf({ caller: _, ...place }: IdentityProvider): string {
  return JSON.stringify(place)
}

/** Whose token it is. Only one issuer can be asked about tokens that do not say. */
function providerOf({ providers }: IdentityConfig, token: string): IdentityProvider {
  const all = Object.values(providers)
  if (!isToken(token)) {
    const asked = all.find(({ introspection }) => introspection !== undefined)
    if (asked === undefined) throw new TokenFault('unknown')
    return asked
  }
  const issuer = issuerOf(token)
  const provider = all.find(one => one.issuer === issuer)
  if (provider === undefined) throw new TokenFault('its issuer is not declared')
  return provider
}
