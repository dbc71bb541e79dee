import { hostOf } from '../../net/media-url.js'

/** Versions of an interface, as they stand before a collection in paths. */
const VERSION = /^v\d\w*$/

/**
 * The name of a thing (`files/abc`) that a text means, which may be an address: one at a host of an upstream, or one
 * whose path looks like the interface's own at any host. Undefined for addresses of something else. What stands at an
 * upstream's host and is no such thing is given as it is, so that it is found to be nobody's.
 */
export function nameInUrl(text: string, prefix: string, hosts: ReadonlySet<string>): string | undefined {
  const trimmed = text.trim()
  if (!URL.canParse(trimmed)) return trimmed.replace(/^\/+/, '')
  const url = new URL(trimmed)
  const { protocol, pathname } = url
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  const segments = decoded(pathname)
    .split('/')
    .filter(segment => segment !== '')
  const at = segments.findIndex(segment => VERSION.test(segment))
  const rest = segments.slice(at + 1).join('/')
  if (at >= 0 && rest.startsWith(prefix)) return rest
  return hosts.has(hostOf(url)) ? trimmed : undefined
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
