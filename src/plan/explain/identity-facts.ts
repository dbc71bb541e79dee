import { jsonText } from '../../core/exact-json.js'
import {
  type CertificateIdentity,
  IDENTITY_MARK,
  type IdentityConfig,
  type IdentityProvider,
  type Mapping,
  type Said,
} from '../../core/identity.js'
import type { Json } from '../../core/json.js'
import type { SignedUrls } from '../../core/signed-url.js'
import { duration } from './format.js'

/** Callers without a key: an issuer of tokens, certificates, or signed URLs; how they are checked, and what they may do. */
export interface IdentityFacts {
  readonly name: string
  /** Absent for certificates of clients and signed URLs. */
  readonly issuer?: string
  /** Where its public keys are. */
  readonly keys?: string
  readonly checked: string
  readonly introspection?: string
  /** `name: PROVIDER:sub`, `group: claim team: ml → research, else staff`. */
  readonly caller: readonly string[]
}

export function identityFacts({ providers, certificates, signedUrls }: IdentityConfig): readonly IdentityFacts[] {
  return [
    ...Object.values(providers).map(providerFacts),
    ...(certificates === undefined ? [] : [certificateFacts(certificates)]),
    ...(signedUrls === undefined ? [] : [signedFacts(signedUrls)]),
  ]
}

function certificateFacts(certificates: CertificateIdentity): IdentityFacts {
  const checked = `certificates of clients, ${certificates.required ? 'needed by every request' : 'in place of a key'}`
  return { name: certificates.name, checked, caller: mappingText(certificates) }
}

function signedFacts({ previous, maxAge, routes }: SignedUrls): IdentityFacts {
  const before = previous.length === 0 ? '' : `, also with ${previous.length} of the secrets before`
  const checked = `signed in place of a key, for at most ${duration(maxAge)}${before}`
  return { name: 'signed URLs', checked, caller: [`key: the one that it names`, `routes: ${routes.join(', ')}`] }
}

/** Rows of the plan's text. */
export function identityRows({ name, issuer, keys, checked, introspection, caller }: IdentityFacts): string[][] {
  const from = issuer === undefined ? [] : [`${issuer}, ${keys}`]
  const lines = [...from, checked, ...(introspection === undefined ? [] : [introspection]), ...caller]
  return lines.map((line, at) => [at === 0 ? name : '', line])
}

function providerFacts(provider: IdentityProvider): IdentityFacts {
  const { name, issuer, audience, algorithms, clockSkew, acceptIn, introspection } = provider
  return {
    name,
    issuer,
    keys: keysText(provider),
    checked: `${algorithms.join(' ')} for ${audience.join(' ')}, skew ${duration(clockSkew)}, in ${acceptIn.join(' ')}`,
    ...(introspection === undefined
      ? {}
      : { introspection: `other tokens: asked as ${introspection.clientId}, for ${duration(introspection.cache)}` }),
    caller: mappingText(provider),
  }
}

function mappingText({ name, caller }: Mapping): readonly string[] {
  const terms = Object.entries(caller.terms).map(([term, said]) => `${term}: ${saidText(said)}`)
  const key = caller.key === undefined ? [] : [`key: ${saidText(caller.key)}`]
  const named = caller.key === undefined ? [`name: ${name}${IDENTITY_MARK} and the claim ${caller.name}`] : []
  return [...named, ...key, ...terms]
}

function keysText({ keys }: IdentityProvider): string {
  switch (keys.from) {
    case 'discovery':
      return 'keys by discovery'
    case 'address':
      return `keys at ${keys.url}`
    case 'file':
      return 'keys of a file'
  }
}

function saidText(said: Said): string {
  if ('value' in said) return valueText(said.value)
  const entries = (said.map ?? []).map(([name, value]) => `${name} → ${valueText(value)}`)
  const map = entries.length === 0 ? '' : `: ${entries.join('; ')}`
  const rest = said.default === undefined ? 'else refused' : `else ${valueText(said.default)}`
  return `claim ${said.claim}${map}, ${rest}`
}

function valueText(value: Json): string {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? (value as readonly Json[]).join(' ') : jsonText(value).replaceAll('"', '')
}
