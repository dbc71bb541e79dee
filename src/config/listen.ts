import { createPrivateKey, X509Certificate } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { parseNetwork } from '../core/client-address.js'
import type { FileContent, ListenConfig } from '../core/config.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import { Secret } from '../core/secret.js'
import { warnOfValidity } from './certificates.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import type { RawListen } from './raw.generated.js'

/** Largest certificate or key file. */
const MAX_PEM_BYTES = 1024 * 1024

export interface ListenOverrides {
  readonly host?: string
  readonly port?: number
}

/** Where to listen; what the command line says wins over the file. */
export function readListen(written: RawListen, site: Site, overrides: ListenOverrides, context: Context): ListenConfig {
  const raw = interpolate(written, site, context)
  const tls = raw.tls && readTls(raw.tls, site.child('tls'), context)
  const origins = raw.cors?.origins.map((origin, index) =>
    readOrigin(origin, site.child('cors', 'origins', index), context),
  )
  const proxies = raw.trusted_proxies?.map((network, index) =>
    readNetwork(network, site.child('trusted_proxies', index), context),
  )
  return {
    host: overrides.host ?? raw.host ?? DEFAULTS.listen.host,
    port: overrides.port ?? readPort(raw.port, DEFAULTS.listen.port, site.child('port'), context),
    backlog: raw.backlog ?? DEFAULTS.listen.backlog,
    ...(tls === undefined ? {} : { tls }),
    ...(origins === undefined ? {} : { cors: { origins } }),
    ...(proxies === undefined ? {} : { trusted_proxies: proxies }),
  }
}

export function readPort(raw: number | string | undefined, usual: number, site: Site, { report }: Context): number {
  if (typeof raw !== 'string') return raw ?? usual
  if (/^\d{1,5}$/.test(raw) && Number(raw) <= 65_535) return Number(raw)
  if (!raw.includes('${')) report.error('bad-value', site, 'this variable has to be a port, a number from 0 to 65535')
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
    report.error('bad-value', site, 'expected an address or a network, such as 192.0.2.10 or 10.0.0.0/8')
  }
  return text
}

export function readTls(raw: NonNullable<RawListen['tls']>, site: Site, context: Context): ListenConfig['tls'] {
  const cert = readPem(raw.cert, site.child('cert'), context)
  const key = readPem(raw.key, site.child('key'), context)
  if (cert === undefined || key === undefined) return undefined
  const fault = faultOf(cert, key)
  if (fault === undefined) {
    warnOfValidity(cert.content.reveal(), site.child('cert'), context)
    return { cert, key }
  }
  context.report.error('bad-certificate', site.child(fault.at), fault.message)
  return undefined
}

function readPem(written: string, site: Site, { files, report }: Context): FileContent | undefined {
  const path = resolve(dirname(site.document.source.file), written)
  const result = files.read(path, MAX_PEM_BYTES)
  if ('bytes' in result) return { path, content: new Secret(result.bytes.toString('utf8')) }
  report.error('unreadable-file', site, `cannot read this file: ${result.reason}`)
  return undefined
}

function faultOf(
  cert: FileContent,
  key: FileContent,
): { readonly at: 'cert' | 'key'; readonly message: string } | undefined {
  const certificate = attempt(() => new X509Certificate(cert.content.reveal()))
  if (certificate === undefined) return { at: 'cert', message: 'this file does not contain a PEM certificate' }
  const privateKey = attempt(() => createPrivateKey(key.content.reveal()))
  if (privateKey === undefined)
    return { at: 'key', message: 'this file does not contain an unencrypted PEM private key' }
  if (!certificate.checkPrivateKey(privateKey))
    return { at: 'key', message: 'this key does not belong to the certificate' }
  return undefined
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}
