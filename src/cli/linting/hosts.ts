import { isIP } from 'node:net'
import type { UpstreamConfig } from '../../core/config.js'
import { notPublic, parseAddress } from '../../net/addresses.js'

/** Endings of names that no public server has (RFC 6761, 6762, 8375; `.internal` by ICANN), and those of clusters. */
const PRIVATE_ENDINGS = /\.(localhost|local|internal|lan|intranet|home\.arpa|test|invalid|svc|cluster\.local)$/

/** Whether an address, as URLs have it, is likely to be reached through the Internet. */
export function isPublicHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  if (isIP(bare) !== 0) {
    const address = parseAddress(bare)
    return address !== undefined && notPublic(address) === undefined
  }
  return bare.includes('.') && !PRIVATE_ENDINGS.test(bare)
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

/** Host and port of an upstream; undefined for the simulator inside. */
export function hostOf({ base }: Pick<UpstreamConfig, 'base'>): string | undefined {
  return URL.canParse(base) && /^https?:/.test(base) ? new URL(base).host : undefined
}
