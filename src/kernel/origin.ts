import type { Call } from './call.js'

/** A name or an address, and a port. */
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/**
 * The address by which a client reaches the gateway, `https://host:port`: as trusted proxies say, else as the request has it.
 * Only that client ever sees it. Undefined where the host is malformed or missing.
 */
export function originOf({ request, proxies }: Pick<Call, 'request' | 'proxies'>): string | undefined {
  const { headers } = request
  const host = forwardedValue(proxies, headers['x-forwarded-host']) ?? headers.host
  if (host === undefined || !HOST.test(host)) return undefined
  const scheme = forwardedValue(proxies, headers['x-forwarded-proto'])?.toLowerCase()
  return `${scheme === 'https' || scheme === 'http' ? scheme : request.isEncrypted ? 'https' : 'http'}://${host}`
}

/**
 * Proxies either replace the header or add an entry to it. Of a list the outermost trusted proxy's own entry counts: what is
 * before that one was sent by its client.
 */
function forwardedValue(proxies: number, header: string | string[] | undefined): string | undefined {
  if (proxies === 0 || header === undefined) return undefined
  const entries = String(header).split(',')
  return entries[Math.max(0, entries.length - proxies)]?.trim() || undefined
}
