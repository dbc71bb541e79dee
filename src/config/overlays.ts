import { basename } from 'node:path'
import { type Context, interpolate } from './context.js'
import { type Document, Site } from './document.js'
import { type Entries, type Entry, sectionOf } from './entries.js'
import type { RawOverlay, RawRouteMapping } from './raw.generated.js'
import { listed, quoted, Report } from './report.js'
import { readLimits, readRetry, readTimeouts } from './settings.js'
import { suggest } from './suggest.js'

/** The shipped routes with what `overlays` says of their interfaces. */
export function overlaid(
  shipped: Entries<RawRouteMapping | 'off'>,
  main: Document,
  context: Context,
): Entries<RawRouteMapping | 'off'> {
  const overlays = sectionOf(main, 'overlays')
  if (overlays === undefined) return shipped
  const interfaces = new Set([...shipped.values()].map(interfaceOf))
  const read = new Map<string, RawOverlay>()
  for (const [name, written] of Object.entries(overlays)) {
    const site = new Site(main, ['overlays', name])
    const overlay = readOverlay(written, site, context)
    if (overlay !== undefined) read.set(name, overlay)
    if (interfaces.has(name)) continue
    const message = `no interface ${quoted(name)} is served; there are: ${listed(interfaces) ?? 'none'}`
    const meant = (): string | undefined => suggest(name, interfaces)
    context.report.error('dangling-reference', site, message, { on: 'key', meant })
  }
  return new Map([...shipped].map(([key, entry]) => [key, withOverlay(entry, read.get(interfaceOf(entry)))]))
}

/** Filled in and checked where it is written: each route of the interface would report the same at its own place. */
function readOverlay(written: RawOverlay, site: Site, context: Context): RawOverlay | undefined {
  const scoped = { ...context, report: new Report(context.report.unfilled) }
  const overlay = interpolate(written, site, scoped)
  readLimits(overlay.limits, site.child('limits'), scoped)
  readTimeouts(overlay.timeouts, site.child('timeouts'), scoped)
  readRetry(overlay.retry, site.child('retry'), scoped)
  for (const problem of scoped.report.sorted()) context.report.add(problem)
  return scoped.report.failed ? undefined : overlay
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
