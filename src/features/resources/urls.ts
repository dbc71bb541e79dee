import { hostOf } from '../../net/media-url.js'

/** An interface's version, which precedes a collection in paths. */
const VERSION = /^v\d\w*$/

/**
 * The name of a resource (`files/abc`) in a text, which may be a URL: one at an upstream's host, or one whose path
 * has the interface's form at any host. Undefined for other URLs. A URL at an upstream's host that is not a resource's is
 * returned unchanged; as a name it belongs to no one, so it is refused.
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
