import type { Call } from './call.js'

/** A name or an address, with an optional port. */
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/**
 * The gateway's origin as a client reaches it, `https://host:port`: as trusted proxies say, else by the request's Host.
 * It is shown to that client only. Undefined if the host is malformed or missing.
 */
export function originOf({ request, proxies }: Pick<Call, 'request' | 'proxies'>): string | undefined {
  const { headers } = request
  const host = forwardedValue(proxies, headers['x-forwarded-host']) ?? headers.host
  if (host === undefined || !HOST.test(host)) return undefined
  const scheme = forwardedValue(proxies, headers['x-forwarded-proto'])?.toLowerCase()
  return `${scheme === 'https' || scheme === 'http' ? scheme : request.isEncrypted ? 'https' : 'http'}://${host}`
}

/**
 * Proxies either replace the header or add an entry to it. In a list the outermost trusted proxy's own entry counts: earlier
 * entries were sent by its client.
 */
function forwardedValue(proxies: number, header: string | string[] | undefined): string | undefined {
  if (proxies === 0 || header === undefined) return undefined
  const entries = String(header).split(',')
  return entries[Math.max(0, entries.length - proxies)]?.trim() || undefined
}
