import { resolve } from 'node:path'
import { DEFAULTS } from '../core/defaults.generated.js'
import {
  CERTIFICATE_PROVIDER,
  type CertificateIdentity,
  type IdentityConfig,
  type IdentityProvider,
  type Introspection,
  type KeySource,
  mappingsOf,
} from '../core/identity.js'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import type { ListenConfig } from '../core/process-config.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import { type Named, readMapping } from './identity-terms.js'
import type { RawIdentity, RawIdentityCertificates, RawIdentityProvider, RawIntrospection } from './raw.generated.js'
import { quoted } from './report.js'
import { readSecret } from './secrets.js'
import { readDuration } from './settings.js'
import { checkSignedUrls, readSignedUrls } from './signed-urls.js'

/** Largest file of public keys. */
const MAX_JWKS_BYTES = 512 * 1024

/** Callers who present something other than a key; nothing where the file has none. */
export function readIdentity(
  written: RawIdentity | undefined,
  site: Site,
  named: Named,
  context: Context,
): IdentityConfig | undefined {
  if (written === undefined) return undefined
  const raw = interpolate(written, site, context)
  const providers: Record<string, IdentityProvider> = Object.create(null)
  const issuers = new Map<string, string>()
  for (const [name, provider] of Object.entries(raw.providers ?? {})) {
    const place = site.child('providers', name)
    if (name === CERTIFICATE_PROVIDER) {
      context.report.error('reserved-name', place, 'callers with certificates have this name', { on: 'key' })
    }
    const owner = issuers.get(provider.issuer)
    if (owner !== undefined) {
      const message = `the provider ${quoted(owner)} has this issuer, so a token would be of both`
      context.report.error('shared-issuer', place.child('issuer'), message)
    }
    issuers.set(provider.issuer, name)
    const other = Object.values(providers).find(one => one.introspection !== undefined)
    if (other !== undefined && provider.introspection !== undefined) {
      const message = `the provider ${quoted(other.name)} is asked about tokens that are not JWTs: they do not say whose they are`
      context.report.error('second-introspection', place.child('introspection'), message, { on: 'key' })
    }
    providers[name] = readProvider(name, provider, place, named, context)
  }
  const certificates =
    raw.certificates && readCertificates(raw.certificates, site.child('certificates'), named, context)
  const signedUrls = raw.signed_urls && readSignedUrls(raw.signed_urls, site.child('signed_urls'), context)
  return { providers, ...(certificates && { certificates }), ...(signedUrls && { signedUrls }) }
}

function readCertificates(
  raw: RawIdentityCertificates,
  site: Site,
  named: Named,
  context: Context,
): CertificateIdentity {
  const { required = DEFAULTS.identityCertificates.required } = raw
  return { name: CERTIFICATE_PROVIDER, required, caller: readMapping(raw.caller, site.child('caller'), named, context) }
}

/** Reports what does not fit the listener and the routes. */
export function checkIdentity(
  identity: IdentityConfig | undefined,
  listen: ListenConfig,
  routes: ReadonlyMap<string, unknown>,
  site: (section: string) => Site,
  context: Context,
): void {
  checkCertificates(identity, listen, site, context)
  if (identity?.signedUrls !== undefined) {
    checkSignedUrls(identity.signedUrls, routes, site('identity').child('signed_urls'), context)
  }
}

/** Certificates need a listener that asks for them, and one that asks needs to know what they mean. */
function checkCertificates(
  identity: IdentityConfig | undefined,
  { tls }: ListenConfig,
  site: (section: string) => Site,
  { report }: Context,
): void {
  const isAsked = tls?.clientCa !== undefined
  if (identity?.certificates !== undefined && !isAsked) {
    const message = 'no client is asked for a certificate: listen.tls.client_ca is missing'
    report.error('missing-key', site('identity').child('certificates'), message, { on: 'key' })
  }
  if (identity?.certificates === undefined && isAsked) {
    const message = 'clients are asked for certificates, and no one is known by them: identity.certificates is missing'
    report.error('missing-key', site('listen').child('tls', 'client_ca'), message, { on: 'key' })
  }
}

/** Whether some of them have limits of their own, which only a gateway that counts can hold. */
export function limitsCallers(identity: IdentityConfig): boolean {
  return mappingsOf(identity).some(({ caller }) => caller.terms.limits !== undefined)
}

function readProvider(
  name: string,
  raw: RawIdentityProvider,
  site: Site,
  named: Named,
  context: Context,
): IdentityProvider {
  const { issuer, audience, clock_skew, timeout, introspection, caller } = raw
  if (issuer.startsWith('http:')) {
    const message = 'keys come without TLS from this issuer: anyone on the way can make tokens'
    context.report.warn('issuer-without-tls', site.child('issuer'), message)
  }
  const defaults = DEFAULTS.identityProvider
  const asked = introspection && readIntrospection(introspection, site.child('introspection'), context)
  return {
    name,
    issuer,
    audience: typeof audience === 'string' ? [audience] : audience,
    algorithms: raw.algorithms ?? defaults.algorithms,
    clockSkew:
      clock_skew === undefined ? defaults.clock_skew : readDuration(clock_skew, site.child('clock_skew'), context),
    keys: readKeySource(raw, site, context),
    acceptIn: raw.accept_in ?? defaults.accept_in,
    allow: raw.allow ?? defaults.allow,
    timeout: timeout === undefined ? defaults.timeout : readDuration(timeout, site.child('timeout'), context),
    ...(asked === undefined ? {} : { introspection: asked }),
    caller: readMapping(caller, site.child('caller'), named, context),
  }
}

function readKeySource({ jwks, jwks_file }: RawIdentityProvider, site: Site, context: Context): KeySource {
  if (jwks !== undefined && jwks_file !== undefined) {
    context.report.error('conflicting-keys', site.child('jwks_file'), 'the keys are said twice: jwks names an address')
  }
  if (jwks_file === undefined) return jwks === undefined ? { from: 'discovery' } : { from: 'address', url: jwks }
  const place = site.child('jwks_file')
  const set = readJwks(jwks_file, place, context)
  if (typeof set === 'string') context.report.error('bad-jwks', place, set)
  return { from: 'file', set: typeof set === 'string' ? {} : set }
}

/** What is wrong with the file, or what it holds. */
function readJwks(written: string, site: Site, { files }: Context): JsonObject | string {
  const result = files.read(resolve(site.document.source.folder, written), MAX_JWKS_BYTES)
  if (!('bytes' in result)) return `cannot read this file: ${result.reason}`
  let value: Json
  try {
    value = JSON.parse(result.bytes.toString('utf8')) as Json
  } catch {
    return 'this file is not JSON'
  }
  if (!isObject(value) || !Array.isArray(value.keys)) return 'this file is not a JSON Web Key Set: { "keys": […] }'
  if (value.keys.some(key => isObject(key) && (key.kty === 'oct' || key.d !== undefined))) {
    return 'this file has a private or a shared key: only public keys belong here'
  }
  return value
}

/** Undefined where its secret is not there. */
function readIntrospection(raw: RawIntrospection, site: Site, context: Context): Introspection | undefined {
  const place = site.child('client_secret')
  const result = readSecret(raw.client_secret, place, context)
  if (result === 'broken') return undefined
  if ('absent' in result) {
    context.report.warn('no-secret', place, `${result.absent}, so the issuer is not asked about tokens`)
    return undefined
  }
  const { url, client_id, cache } = raw
  return {
    ...(url === undefined ? {} : { url }),
    clientId: client_id,
    clientSecret: result.secret,
    cache: cache === undefined ? DEFAULTS.introspection.cache : readDuration(cache, site.child('cache'), context),
  }
}
