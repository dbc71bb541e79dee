import type { Exchange } from '../core/plan.js'

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Headers that describe the upstream's own bytes, and are wrong if the body is changed. */
export const OF_BYTES: ReadonlySet<string> = new Set([
  'content-type',
  'content-language',
  'content-disposition',
  'content-range',
  'accept-ranges',
  'cache-control',
  'etag',
  'last-modified',
  'expires',
])

/**
 * Headers of an upstream's answer that pass to the client; an upstream's `forward` adds to them. Cookies, server names
 * and hop-by-hop headers (RFC 9110 §7.6.1) never do. The length is passed separately, if the body is unchanged.
 */
const PASSED = new Set([...OF_BYTES, 'retry-after', 'retry-after-ms', 'x-should-retry'])

/** Flat name, value list of the headers that pass. Values that Node would refuse to send are omitted. */
export function responseHeaders(headers: UpstreamHeaders, exchange: Exchange): string[] {
  const flat: string[] = []
  const forward = exchange.upstream.forward.response
  for (const name in headers) {
    if (!PASSED.has(name) && !forward(name)) continue
    const value = headers[name]
    if (typeof value === 'string') {
      if (sendable(value)) flat.push(name, value)
    } else if (value !== undefined) {
      for (const one of value) if (sendable(one)) flat.push(name, one)
    }
  }
  return flat
}

/** Field values are visible ASCII, spaces, tabs and bytes over 0x7f (RFC 9110 §5.5). */
function sendable(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

/** A header's value; several are joined. */
export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

/** The declared length of an answer's body, bytes. */
export function lengthOf(headers: UpstreamHeaders): number | undefined {
  const value = single(headers['content-length'])
  return value === undefined ? undefined : Number(value)
}
