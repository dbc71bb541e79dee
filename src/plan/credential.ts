import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { CredentialConfig } from '../core/config.js'
import type { CredentialSource, PlacedSource } from '../core/credential-source.js'
import type { Placement } from '../core/placement.js'
import { Secret } from '../core/secret.js'

/** A credential where it is in requests, once for the wire and once for people to read. */
export interface Placed {
  /** Flat name, value pairs; empty if the credential is not in headers, or changes. */
  readonly headers: readonly string[]
  readonly shownHeaders: readonly string[]
  /** `name=value`, percent-encoded; empty if the credential is not in the query, or changes. */
  readonly query: string
  readonly shownQuery: string
  /** Secrets beside that of the upstream. */
  readonly hidden: readonly Secret[]
  readonly source?: PlacedSource
}

const NOWHERE: Placed = { headers: [], shownHeaders: [], query: '', shownQuery: '', hidden: [] }

/** Reveals an upstream's secrets, here and nowhere else. */
export function placeCredential(credential: CredentialConfig | undefined): Placed {
  if (credential === undefined) return NOWHERE
  const { place, secret, user, source } = credential
  if (source !== undefined) return sourced(source, place)
  const more = furtherHeaders(credential)
  if (secret === undefined) return more
  const value = user === undefined ? secret.reveal() : basic(user, secret)
  const hidden = user === undefined ? more.hidden : [...more.hidden, new Secret(value)]
  if (place.in === 'query') {
    const name = encodeURIComponent(place.name)
    return { ...more, query: `${name}=${encodeURIComponent(value)}`, shownQuery: `${name}=${secret}` }
  }
  const [name, before] = headerOf(place)
  const headers = [name, before + value, ...more.headers]
  return { ...more, hidden, headers, shownHeaders: [name, `${before}${secret}`, ...more.shownHeaders] }
}

function headerOf(place: Exclude<Placement, { in: 'query' }>): readonly [name: string, before: string] {
  if (place.in === 'subprotocol') return ['sec-websocket-protocol', place.prefix]
  return [place.name.toLowerCase(), place.scheme === undefined ? '' : `${place.scheme} `]
}

function furtherHeaders({ headers = {} }: CredentialConfig): Placed {
  const all = Object.entries(headers)
  return {
    ...NOWHERE,
    headers: all.flatMap(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
    shownHeaders: all.flatMap(([name, value]) => [name, String(value)]),
    hidden: all.flatMap(([, value]) => (value instanceof Secret ? [value] : [])),
  }
}

/** RFC 7617 §2. */
function basic(user: string, password: Secret): string {
  return Buffer.from(`${user}:${password.reveal()}`).toString('base64')
}

/** Nothing is in requests until they are sent. */
function sourced(source: CredentialSource, place: Placement): Placed {
  const shown = shownSource(source)
  const where = { of: source, place, digest: digestOf(source) }
  if (place.in === 'query')
    return { ...NOWHERE, shownQuery: `${place.name}=[${shown}]`, hidden: secretsIn(source), source: where }
  const [name, before] = headerOf(place)
  return { ...NOWHERE, shownHeaders: [name, `${before}[${shown}]`], hidden: secretsIn(source), source: where }
}

/** Where the credential comes from, for people to read. */
function shownSource(source: CredentialSource): string {
  switch (source.type) {
    case 'oauth2':
      return `token of ${new URL(source.tokenUrl).host}`
    case 'jwt':
      return `token signed with ${source.key.algorithm}`
    case 'exec':
      return `token of the command ${source.command[0]}`
    case 'module':
      return `credential of the module ${basename(source.module)}`
    case 'gcp':
      return `access token by ${source.file ?? 'application default credentials'}`
    case 'aws-sigv4':
      return `signature for ${source.service} in ${source.region}`
  }
}

/** All secrets of a source. */
function secretsIn(value: unknown): readonly Secret[] {
  if (value instanceof Secret) return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(secretsIn) : []
}

/** Tells apart what says how requests are authorized, with its secrets. `shortened`: what of its JSON is compared. */
export function digestOf(source: unknown, shortened: (json: string) => string = json => json): string {
  const text = JSON.stringify([source, secretsIn(source).map(one => one.reveal())])
  return createHash('sha256').update(shortened(text)).digest('hex')
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
