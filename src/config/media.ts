import { isIP } from 'node:net'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { MediaConfig, MediaFetchConfig } from '../core/media.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import type { RawGateway, RawMediaFetch } from './raw.generated.js'
import { readDuration, readSize } from './settings.js'

/** Media that clients name by URL. Nothing is fetched unless it is written. */
export function readMedia(raw: RawGateway['media'], site: Site, context: Context): MediaConfig {
  return raw?.fetch === undefined ? {} : { fetch: readFetch(raw.fetch, site.child('fetch'), context) }
}

function readFetch(written: RawMediaFetch, site: Site, context: Context): MediaFetchConfig {
  const { max, total, timeout, ...rest } = interpolate(written, site, context)
  checkAllowed(rest.allow, site.child('allow'), context)
  return {
    ...DEFAULTS.mediaFetch,
    ...rest,
    ...(max !== undefined && { max: readSize(max, site.child('max'), context) }),
    ...(total !== undefined && { total: readSize(total, site.child('total'), context) }),
    ...(timeout !== undefined && { timeout: readDuration(timeout, site.child('timeout'), context) }),
  }
}

/** What may be connected to. */
export function checkAllowed(allow: readonly string[], site: Site, { report }: Context): void {
  allow.forEach((entry, index) => {
    if (report.unfilled.has(entry) || isHost(entry) || isNetwork(entry)) return
    const message = 'expected a host (media.example.com, *.example.com), an address, a network (10.1.0.0/16) or *'
    report.error('bad-value', site.child(index), message)
  })
}

/** A name whose last label is not one of a number: those are addresses, however they are written. */
function isHost(entry: string): boolean {
  return entry === '*' || /^(\*\.)?([a-z0-9_-]{1,63}\.)*(?!\d+\.?$|0x[0-9a-f]*\.?$)[a-z0-9_-]{1,63}\.?$/i.test(entry)
}

function isNetwork(entry: string): boolean {
  const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
  const family = isIP(address)
  return family !== 0 && !address.includes('%') && Number(prefix ?? 0) <= (family === 4 ? 32 : 128)
}
