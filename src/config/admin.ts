import { isIP } from 'node:net'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { AdminConfig, MetricsConfig } from '../core/process-config.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import { readKeySecret } from './keys.js'
import { readHost, readPort, readTls } from './listen.js'
import type { RawAdmin, RawKeySecret } from './raw.generated.js'
import { quoted } from './report.js'
import { readSignIn } from './sign-in.js'

/** Where the admin key is, unless the file says. */
const DEFAULT_SECRET: RawKeySecret = { env: 'GATEWAY_ADMIN_KEY', generate: true }

/** The admin listener; `port` of the command line wins over the file, and 0 switches it off. */
export function readAdmin(
  written: RawAdmin | undefined,
  site: Site,
  port: number | undefined,
  context: Context,
): { readonly admin?: AdminConfig } {
  if (written === undefined && port === undefined) return {}
  const raw = interpolate(written ?? {}, site, context)
  const host = readHost(raw.host, DEFAULTS.admin.host, site.child('host'), context)
  const tls = raw.tls && readTls(raw.tls, site.child('tls'), context)
  const filePort = readPort(raw.port, DEFAULTS.admin.port, site.child('port'), context)
  const secret = readKeySecret(raw.secret ?? DEFAULT_SECRET, site.child('secret'), context)[0]
  if ((port ?? filePort) === 0) return {}
  const metrics = readMetrics(raw.metrics)
  const oidc = raw.oidc && readSignIn(raw.oidc, site.child('oidc'), context)
  warnOf(host, raw.tls !== undefined, site, context)
  if (secret !== undefined && 'absent' in secret) {
    context.report.warn('no-secret', site.child('secret'), `${secret.absent}, so no one can use the admin API`)
  }
  return {
    admin: {
      host,
      port: port ?? filePort,
      isRequired: port !== undefined,
      console: raw.console ?? DEFAULTS.admin.console,
      write: raw.write ?? DEFAULTS.admin.write,
      ...(tls === undefined ? {} : { tls }),
      ...(secret !== undefined && 'secret' in secret ? { secret: secret.secret } : {}),
      ...(metrics === undefined ? {} : { metrics }),
      ...(oidc === undefined ? {} : { oidc }),
    },
  }
}

/** Undefined: `off`. */
function readMetrics(written: RawAdmin['metrics']): MetricsConfig | undefined {
  if (written === 'off') return undefined
  if (written === 'open') return { open: true, per_key: false }
  const { open, per_key } = { ...DEFAULTS.metricsSettings, ...written }
  return { open, per_key }
}

/** The admin key goes over the network in the clear. */
function warnOf(host: string, isEncrypted: boolean, site: Site, { report }: Context): void {
  if (isEncrypted || isLoopback(host)) return
  const message = `${quoted(host)} can be reached from other machines, and the admin key would pass in the clear: add tls, or listen on 127.0.0.1`
  report.warn('open-admin', site.child('host'), message)
}

function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.')
  return host === 'localhost' || host === '::1'
}
