import { networkMeant, parseNetwork } from '../core/client-address.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { FileContent, ListenConfig } from '../core/process-config.js'
import { readAuthorities, readPair, readRevocations } from './certificates.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import type { RawListen } from './raw.generated.js'

export interface ListenOverrides {
  readonly host?: string
  readonly port?: number
}

/** Where to listen; what the command line says wins over the file. */
export function readListen(written: RawListen, site: Site, overrides: ListenOverrides, context: Context): ListenConfig {
  const raw = interpolate(written, site, context)
  const pair = raw.tls && readTls(raw.tls, site.child('tls'), context)
  const ca = raw.tls?.client_ca
  const clientCa = ca === undefined ? undefined : readAuthorities(ca, site.child('tls', 'client_ca'), context)
  const revoked = raw.tls && readRevoked(raw.tls, site.child('tls'), context)
  const tls =
    pair === undefined || clientCa === undefined
      ? pair
      : { ...pair, clientCa, ...(revoked === undefined ? {} : { clientCrl: revoked }) }
  const origins = raw.cors?.origins.map((origin, index) =>
    readOrigin(origin, site.child('cors', 'origins', index), context),
  )
  const proxies = raw.trusted_proxies?.map((network, index) =>
    readNetwork(network, site.child('trusted_proxies', index), context),
  )
  return {
    host: readHost(overrides.host ?? raw.host, DEFAULTS.listen.host, site.child('host'), context),
    port: overrides.port ?? readPort(raw.port, DEFAULTS.listen.port, site.child('port'), context),
    backlog: raw.backlog ?? DEFAULTS.listen.backlog,
    ...(tls === undefined ? {} : { tls }),
    ...(origins === undefined ? {} : { cors: { origins } }),
    ...(proxies === undefined ? {} : { trusted_proxies: proxies }),
  }
}

/** Only certificates that clients are asked for can be revoked. */
function readRevoked(
  { client_ca, client_crl }: NonNullable<RawListen['tls']>,
  site: Site,
  context: Context,
): FileContent | undefined {
  if (client_crl === undefined) return undefined
  const place = site.child('client_crl')
  if (client_ca !== undefined) return readRevocations(client_crl, place, context)
  const message = 'no client is asked for a certificate: client_ca is missing'
  context.report.error('missing-key', place, message, { on: 'key' })
  return undefined
}

export function readHost(raw: string | undefined, usual: string, site: Site, { report }: Context): string {
  if (raw !== '') return raw ?? usual
  report.error('bad-value', site, 'an empty host would be every address: write 0.0.0.0 or :: for that')
  return usual
}

export function readPort(raw: number | string | undefined, usual: number, site: Site, { report }: Context): number {
  if (typeof raw !== 'string') return raw ?? usual
  if (/^\d{1,5}$/.test(raw) && Number(raw) <= 65_535) return Number(raw)
  if (!report.unfilled.has(raw))
    report.error('bad-value', site, 'this variable has to be a port, a number from 0 to 65535')
  return usual
}

/** Scheme, host and port as browsers send them (RFC 6454 section 6.2). */
function readOrigin(text: string, site: Site, { report }: Context): string {
  if (text === '*') return text
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.origin === text) return text
  const meant = url === undefined || url.origin === 'null' ? undefined : url.origin
  report.error('bad-value', site, 'expected an origin as browsers send it: scheme, host and port, nothing else', {
    meant: () => meant,
  })
  return text
}

/** An address or a network, as it is written. */
export function readNetwork(text: string, site: Site, { report }: Context): string {
  if (parseNetwork(text) === undefined) {
    const message = 'expected an address or a network, such as 192.0.2.10 or 10.0.0.0/8'
    report.error('bad-value', site, message, { meant: () => networkMeant(text) })
  }
  return text
}

export function readTls(
  raw: Pick<NonNullable<RawListen['tls']>, 'cert' | 'key'>,
  site: Site,
  context: Context,
): ListenConfig['tls'] {
  const pair = readPair([raw.cert, site.child('cert')], [raw.key, site.child('key')], context)
  return pair && { cert: pair.certificate, key: pair.key }
}
