import type { Json, JsonObject } from './json.js'
import type { Secret } from './secret.js'
import type { SignedUrls } from './signed-url.js'

/** Callers who present something other than a key. */
export interface IdentityConfig {
  /** Issuers of tokens, by the operator's names. */
  readonly providers: Readonly<Record<string, IdentityProvider>>
  /** Absent: certificates of clients name no one. */
  readonly certificates?: CertificateIdentity
  /** Absent: no addresses are signed. */
  readonly signedUrls?: SignedUrls
}

/** Callers by the certificates that they show. */
export interface CertificateIdentity {
  readonly name: typeof CERTIFICATE_PROVIDER
  /** Whether every request needs one, also beside a key. */
  readonly required: boolean
  readonly caller: CallerMapping
}

/** In place of the name of a provider. */
export const CERTIFICATE_PROVIDER = 'certificate'

/** All that says who callers are. */
export function mappingsOf({ providers, certificates }: IdentityConfig): readonly Mapping[] {
  return [...Object.values(providers), ...(certificates === undefined ? [] : [certificates])]
}

/** What claims mean, by a name. */
export interface Mapping {
  readonly name: string
  readonly caller: CallerMapping
}

/** An issuer of tokens. Durations in milliseconds. */
export interface IdentityProvider {
  readonly name: string
  /** The `iss` of its tokens, exactly. */
  readonly issuer: string
  /** A token's `aud` has one of these. */
  readonly audience: readonly string[]
  readonly algorithms: readonly string[]
  readonly clockSkew: number
  /** Where its public keys are. */
  readonly keys: KeySource
  readonly acceptIn: readonly ('header' | 'query' | 'subprotocol')[]
  /** As for fetching media. */
  readonly allow: readonly string[]
  /** For one call. */
  readonly timeout: number
  /** Absent: its tokens are all JWTs. */
  readonly introspection?: Introspection
  readonly caller: CallerMapping
}

export type KeySource =
  | { readonly from: 'discovery' }
  | { readonly from: 'address'; readonly url: string }
  | { readonly from: 'file'; readonly set: JsonObject }

/** Asks the issuer about tokens that are not JWTs (RFC 7662). */
export interface Introspection {
  /** Absent: as discovery says. */
  readonly url?: string
  readonly clientId: string
  readonly clientSecret: Secret
  /** How long its word counts, milliseconds. */
  readonly cache: number
}

/** What the holder of a token may do. */
export interface CallerMapping {
  /** Claim that names the caller. */
  readonly name: string
  /** The key that such callers stand for. */
  readonly key?: Said
  readonly terms: Readonly<Partial<Record<IdentityTerm, Said>>>
}

export const IDENTITY_TERMS = ['models', 'group', 'limits', 'priority', 'regions'] as const
export type IdentityTerm = (typeof IDENTITY_TERMS)[number]

/** A value of the file, or a claim that says it. */
export type Said = { readonly value: Json } | ClaimRule

export interface ClaimRule {
  /** A claim's name, or a JSON pointer. */
  readonly claim: string
  /** What its values mean, in the order of the file. Absent: the claim has it as it is. */
  readonly map?: readonly (readonly [value: string, meaning: Json])[]
  readonly default?: Json
}

/** Every value of the file that a rule may give. */
export function valuesOf(said: Said): readonly Json[] {
  if ('value' in said) return [said.value]
  return [...(said.map ?? []).map(([, meaning]) => meaning), ...(said.default === undefined ? [] : [said.default])]
}

/** Between the name of a provider and the name of a caller; no name of a key contains it. */
export const IDENTITY_MARK = ':'
