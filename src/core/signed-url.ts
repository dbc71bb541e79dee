import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Secret } from './secret.js'

/** Requests that are signed in their address, for clients that cannot send headers. */
export interface SignedUrls {
  readonly secret: Secret
  /** Secrets that signed before: what they signed is good, too. */
  readonly previous: readonly Secret[]
  /** How far ahead the expiry may be, milliseconds. */
  readonly maxAge: number
  /** Globs of routes, `GET /v1/files/*`; those of `GET` are for `HEAD`, too. */
  readonly routes: readonly string[]
}

/** What a signature is for. `path` and `query` as they are sent; `method` is `WS` for WebSockets. */
interface SignedTarget {
  readonly method: string
  readonly path: string
  readonly query: string
}

interface Signing {
  /** Name of the key whose caller the request stands for. */
  readonly key: string
  readonly secret: string
  /** When the address stops being good. */
  readonly expires: Date
}

export const KEY_PARAMETER = 'gateway_key'
export const EXPIRES_PARAMETER = 'gateway_expires'
export const SIGNATURE_PARAMETER = 'gateway_signature'
const PARAMETERS: readonly string[] = [KEY_PARAMETER, EXPIRES_PARAMETER, SIGNATURE_PARAMETER]

/** Whether a query parameter is a part of a signature, which no upstream gets. */
export function isOfSignature(name: string): boolean {
  return PARAMETERS.includes(name)
}

/**
 * The address with the key's name, its expiry (seconds since the epoch) and the signature of all of it, for `GET`, or for a
 * WebSocket where its scheme is `ws` or `wss`.
 */
export function signUrl(address: string | URL, { key, secret, expires }: Signing): string {
  const url = new URL(address)
  const method = url.protocol === 'ws:' || url.protocol === 'wss:' ? 'WS' : 'GET'
  const own = url.search.slice(1)
  const given = new Set(url.searchParams.keys())
  const taken = PARAMETERS.find(name => given.has(name))
  if (taken !== undefined) throw new TypeError(`the address has the parameter ${taken} already`)
  const seconds = Math.floor(expires.getTime() / 1000)
  const more = `${KEY_PARAMETER}=${encodeURIComponent(key)}&${EXPIRES_PARAMETER}=${seconds}`
  const query = own === '' ? more : `${own}&${more}`
  url.search = query
  // As it will be sent.
  const target = { method, path: url.pathname, query: url.search.slice(1) }
  url.search = `${target.query}&${SIGNATURE_PARAMETER}=${signatureOf(target, secret)}`
  return url.href
}

/** Compares in constant time. */
export function isSignedBy(signature: string, target: SignedTarget, secret: string): boolean {
  const [given, due] = [Buffer.from(signature), Buffer.from(signatureOf(target, secret))]
  return given.length === due.length && timingSafeEqual(given, due)
}

/**
 * HMAC-SHA256, base64url, of three lines: method, path, and the parts of the query in the order of their bytes, without the
 * signature.
 */
function signatureOf({ method, path, query }: SignedTarget, secret: string): string {
  const parts = query.split('&').filter(part => !part.startsWith(`${SIGNATURE_PARAMETER}=`))
  const sorted = parts.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
  return createHmac('sha256', secret)
    .update(`${method}\n${path}\n${sorted.join('&')}`)
    .digest('base64url')
}
