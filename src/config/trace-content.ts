import type { KeyConfig } from '../core/config.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { TelemetryConfig } from '../core/telemetry.js'
import { type Context, interpolate } from './context.js'
import type { Document, Site } from './document.js'
import type { Entries } from './entries.js'
import type { RawKey, RawKeyTrace } from './raw.generated.js'
import { quoted } from './report.js'
import { readSize } from './settings.js'

/** Most of a body, and of an answer, in one span, bytes: collectors refuse large messages. */
const MAX_SIZE_BYTES = 64 * 1024

/** What the spans of a key's requests hold of their content; nothing for `off`. */
export function readTraceContent(
  written: RawKeyTrace | undefined,
  site: Site,
  context: Context,
): Pick<KeyConfig, 'trace'> {
  if (written === undefined) return {}
  const { content, words = [], size: raw } = interpolate(written, site, context)
  if (content === 'off') return {}
  const size = raw === undefined ? DEFAULTS.keyTrace.size : readSize(raw, site.child('size'), context)
  if (size > MAX_SIZE_BYTES) context.report.error('bad-value', site.child('size'), 'expected at most 64KiB')
  return { trace: { content, words, size } }
}

/** Settings of traces that know whether spans hold content, which is an error where no spans are sent. */
export function withTraceContent(
  main: Document,
  telemetry: TelemetryConfig | undefined,
  keys: Readonly<Record<string, KeyConfig>>,
  entries: Entries<RawKey>,
  { report }: Context,
): { readonly telemetry?: TelemetryConfig } {
  const traced = [...entries.values()].filter(({ name }) => keys[name]?.trace !== undefined)
  if (telemetry?.traces !== undefined) {
    return { telemetry: { ...telemetry, traces: { ...telemetry.traces, hasContent: traced.length > 0 } } }
  }
  // A section that does not fit is reported as that.
  if (main.misfits.has('telemetry')) return {}
  for (const { name, site } of traced) {
    const message = `no spans are sent, so those of ${quoted(name)} hold nothing: add telemetry: { otlp: { endpoint: http://127.0.0.1:4318 } }`
    report.error('missing-key', site.child('trace'), message)
  }
  return telemetry === undefined ? {} : { telemetry }
}
