import { DEFAULTS } from '../core/defaults.generated.js'
import type { Secret } from '../core/secret.js'
import type { SignInConfig } from '../core/sign-in.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import { ruleOf } from './identity-terms.js'
import type { RawAdminSignIn } from './raw.generated.js'
import { readSecret } from './secrets.js'
import { readDuration } from './settings.js'

/** Undefined: its secret is not there, or there is a problem. */
export function readSignIn(raw: RawAdminSignIn, site: Site, context: Context): SignInConfig | undefined {
  const { issuer, client_id, client_secret, clock_skew, timeout, address, role } = raw
  const defaults = DEFAULTS.adminSignIn
  if (issuer.startsWith('http:')) {
    const message = 'keys come without TLS from this issuer: anyone on the way can sign in'
    context.report.warn('issuer-without-tls', site.child('issuer'), message)
  }
  const secret = client_secret && readClientSecret(client_secret, site.child('client_secret'), context)
  if (secret === 'none') return undefined
  const milliseconds = (written: string | undefined, otherwise: number, name: string): number =>
    written === undefined ? otherwise : readDuration(written, site.child(name), context)
  return {
    provider: {
      ...{ name: 'admin.oidc', issuer, audience: [client_id], keys: { from: 'discovery' }, acceptIn: [] },
      algorithms: raw.algorithms ?? defaults.algorithms,
      clockSkew: milliseconds(clock_skew, defaults.clock_skew, 'clock_skew'),
      timeout: milliseconds(timeout, defaults.timeout, 'timeout'),
      allow: raw.allow ?? defaults.allow,
      caller: { name: 'sub', terms: {} },
    },
    clientId: client_id,
    ...(secret === undefined ? {} : { clientSecret: secret }),
    scopes: raw.scopes ?? defaults.scopes,
    ...(address === undefined ? {} : { address: address.replace(/\/$/, '') }),
    name: raw.name ?? defaults.name,
    role: ruleOf(role, site.child('role')),
  }
}

function readClientSecret(
  raw: NonNullable<RawAdminSignIn['client_secret']>,
  site: Site,
  context: Context,
): Secret | 'none' {
  const result = readSecret(raw, site, context)
  if (result === 'broken') return 'none'
  if ('secret' in result) return result.secret
  context.report.warn('no-secret', site, `${result.absent}, so no one can sign in at the issuer`)
  return 'none'
}
