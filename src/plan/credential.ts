import { createHash } from 'node:crypto'
import type { CredentialConfig } from '../core/config.js'
import type { Secret } from '../core/secret.js'

/** A credential where it is in requests, once for the wire and once for people to read. */
export interface Placed {
  /** Flat name, value pair; empty if the credential is not in a header. */
  readonly headers: readonly string[]
  readonly shownHeaders: readonly string[]
  /** `name=value`, percent-encoded; empty if the credential is not in the query. */
  readonly query: string
  readonly shownQuery: string
}

const NOWHERE: Placed = { headers: [], shownHeaders: [], query: '', shownQuery: '' }

/** Reveals an upstream's secret, here and nowhere else. */
export function placeCredential(credential: CredentialConfig | undefined): Placed {
  if (credential?.secret === undefined) return NOWHERE
  const { place, secret } = credential
  const value = secret.reveal()
  if (place.in === 'query') {
    const name = encodeURIComponent(place.name)
    return { ...NOWHERE, query: `${name}=${encodeURIComponent(value)}`, shownQuery: `${name}=${secret}` }
  }
  const [name, before] =
    place.in === 'header'
      ? [place.name.toLowerCase(), place.scheme === undefined ? '' : `${place.scheme} `]
      : ['sec-websocket-protocol', place.prefix]
  return { ...NOWHERE, headers: [name, before + value], shownHeaders: [name, `${before}${secret}`] }
}

/** Digits of a reference: enough to tell a few secrets of an upstream apart, and far too few to find one. */
const REFERENCE_DIGITS = 12

/** Tells a secret of an upstream from its others; it may be kept where the secret itself may not. */
export function credentialReference(upstream: string, secret: Secret): string {
  return createHash('sha256')
    .update(`credential of ${upstream}\n${secret.reveal()}`)
    .digest('hex')
    .slice(0, REFERENCE_DIGITS)
}
