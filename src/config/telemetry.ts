import { DEFAULTS } from '../core/defaults.generated.js'
import { Secret } from '../core/secret.js'
import type { OtlpConfig, TelemetryConfig, TracesConfig } from '../core/telemetry.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import { checkHeaderValue } from './headers.js'
import type { RawGateway, RawOtlp, RawTraces } from './raw.generated.js'
import { quoted } from './report.js'
import { readSecret } from './secrets.js'
import { readDuration } from './settings.js'

/** Headers that the gateway sets itself, or that belong to one connection. */
const OWN_HEADERS = new Set(['content-type', 'content-length', 'host', 'connection', 'transfer-encoding', 'expect'])
/** Headers that hold credentials. */
const CREDENTIAL = /auth|token|key|secret|cookie/i

/** What is sent to a collector; nothing where the file says nothing of it. */
export function readTelemetry(
  written: RawGateway['telemetry'],
  site: Site,
  context: Context,
): { readonly telemetry?: TelemetryConfig } {
  if (written === undefined) return {}
  const raw = interpolate(written, site, context)
  const traces = readTraces(raw.traces, site.child('traces'), context)
  return {
    telemetry: {
      otlp: readOtlp(raw.otlp, written.otlp, site.child('otlp'), context),
      service: raw.service ?? DEFAULTS.telemetry.service,
      metrics: (raw.metrics ?? DEFAULTS.telemetry.metrics) === 'on',
      logs: (raw.logs ?? DEFAULTS.telemetry.logs) === 'on',
      ...(traces === undefined ? {} : { traces }),
    },
  }
}

function readOtlp(raw: RawOtlp, written: RawOtlp, site: Site, context: Context): OtlpConfig {
  const { interval, timeout } = raw
  return {
    endpoint: readEndpoint(raw, site.child('endpoint'), context),
    headers: readHeaders(raw, written, site.child('headers'), context),
    interval: interval === undefined ? DEFAULTS.otlp.interval : readDuration(interval, site.child('interval'), context),
    timeout: timeout === undefined ? DEFAULTS.otlp.timeout : readDuration(timeout, site.child('timeout'), context),
  }
}

function readEndpoint({ endpoint }: RawOtlp, site: Site, { report }: Context): string {
  const address = endpoint.replace(/\/+$/, '')
  if (!URL.canParse(address)) report.error('bad-value', site, 'expected an address such as http://127.0.0.1:4318')
  else if (/\/v1\/(traces|metrics|logs)$/.test(address)) {
    report.error('bad-value', site, '/v1/traces, /v1/metrics and /v1/logs are added by the gateway: leave them out')
  }
  return address
}

/** `written`: before variables were put in. */
function readHeaders({ headers = {} }: RawOtlp, written: RawOtlp, site: Site, context: Context): OtlpConfig['headers'] {
  const read: Record<string, Secret> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    const [lower, place] = [name.toLowerCase(), site.child(name)]
    if (OWN_HEADERS.has(lower)) {
      context.report.error('reserved-header', place, `${lower} is set by the gateway itself`, { on: 'key' })
    } else if (lower in read) {
      const message = `the header ${lower} is set twice: names are case-insensitive`
      context.report.error('duplicate-key', place, message, { on: 'key' })
    } else if (typeof value === 'string') {
      if (CREDENTIAL.test(lower) && written.headers?.[name] === value) {
        const message = `${lower} looks like a credential: write { env: NAME } or { file: path } in its place`
        context.report.warn('literal-secret', place, message, { on: 'key', secret: true })
      }
      checkHeaderValue(value, place, context)
      read[lower] = new Secret(value)
    } else {
      const result = readSecret(value, place, context)
      if (result === 'broken') continue
      if ('secret' in result) read[lower] = result.secret
      else context.report.warn('no-secret', place, `${result.absent}, so ${quoted(lower)} is not sent`)
    }
  }
  return read
}

/** Undefined: `off`. */
function readTraces(raw: RawTraces | undefined, site: Site, context: Context): TracesConfig | undefined {
  if (raw === 'off') return undefined
  const { sample, parent } = raw ?? {}
  const { slow_after, ...shares } = sample ?? {}
  const at = site.child('sample').child('slow_after')
  return {
    sample: {
      ...DEFAULTS.sample,
      ...shares,
      ...(slow_after === undefined ? {} : { slow_after: readDuration(slow_after, at, context) }),
    },
    parent: parent ?? DEFAULTS.traceSettings.parent,
    hasContent: false,
  }
}
