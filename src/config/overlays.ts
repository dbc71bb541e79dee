import { basename } from 'node:path'
import type { Context } from './context.js'
import { type Document, Site } from './document.js'
import { type Entries, type Entry, sectionOf } from './entries.js'
import type { RawOverlay, RawRouteMapping } from './raw.generated.js'
import { listed, quoted } from './report.js'
import { suggest } from './suggest.js'

/** The shipped routes with what `overlays` says of their interfaces. */
export function overlaid(
  shipped: Entries<RawRouteMapping | 'off'>,
  main: Document,
  { report }: Context,
): Entries<RawRouteMapping | 'off'> {
  const overlays = sectionOf(main, 'overlays')
  if (overlays === undefined) return shipped
  const interfaces = new Set([...shipped.values()].map(interfaceOf))
  for (const name of Object.keys(overlays)) {
    if (interfaces.has(name)) continue
    const message = `no interface ${quoted(name)} is served; there are: ${listed(interfaces) ?? 'none'}`
    const meant = (): string | undefined => suggest(name, interfaces)
    report.error('dangling-reference', new Site(main, ['overlays', name]), message, { on: 'key', meant })
  }
  return new Map([...shipped].map(([key, entry]) => [key, withOverlay(entry, overlays[interfaceOf(entry)])]))
}

/** The file without its ending. */
function interfaceOf({ site }: Entry<unknown>): string {
  return basename(site.document.source.file, '.yaml')
}

function withOverlay(
  entry: Entry<RawRouteMapping | 'off'>,
  overlay: RawOverlay | undefined,
): Entry<RawRouteMapping | 'off'> {
  const { value } = entry
  if (overlay === undefined || value === undefined || value === 'off') return entry
  const { limits, timeouts, retry, caller, strict } = overlay
  const merged: RawRouteMapping = {
    ...value,
    ...(caller === undefined ? {} : { caller }),
    // Only what asks an upstream can be strict.
    ...(strict === undefined || value.protocol === undefined || value.task !== undefined ? {} : { strict }),
    ...(limits === undefined ? {} : { limits: { ...value.limits, ...limits } }),
    ...(timeouts === undefined ? {} : { timeouts: { ...value.timeouts, ...timeouts } }),
    ...(retry === undefined ? {} : { retry: { ...value.retry, ...retry } }),
  }
  return { ...entry, value: merged }
}
