import { CONNECTION_HEADERS } from './connection-headers.js'
import type { ModuleOptions, ModuleTools } from './user-module.js'

/** What a module gives for an upstream: a token, headers, or both. */
export interface GivenCredential {
  /** Sent where `in`, `name` and `scheme` say; printable ASCII without spaces. */
  readonly token?: string
  /** Further headers, as they are sent. */
  readonly headers?: Readonly<Record<string, string>>
  /** When it ends: a date, or milliseconds since the epoch. Absent: in five minutes. */
  readonly expires?: Date | number
}

/** A request that is about to be sent. */
export interface RequestToSign {
  readonly method: string
  readonly url: string
  /** By lower-case names, with those of the credential. */
  readonly headers: Readonly<Record<string, string>>
  /** The SHA-256 of the body in hex, that of no bytes where there is no body; undefined where the body is a stream. */
  sha256(): string | undefined
}

/** The credential of an upstream, from a module of the user's own. It has `get`, `sign`, or both. */
export interface CredentialModule {
  /** Called ahead of the end of what it gave last, and when the upstream refuses that; once for all who wait. */
  get?(): GivenCredential | Promise<GivenCredential>
  /** Headers to add to one request: its signature. */
  sign?(request: RequestToSign): SignatureHeaders | Promise<SignatureHeaders>
}

type SignatureHeaders = Readonly<Record<string, string>>

/** What a module for credentials gets beside its options. */
export interface CredentialTools extends ModuleTools {
  /** The secret of the upstream (`secret`); absent where the file has none. */
  readonly secret?: string
  /** Of the upstream: `https://api.example.com`. */
  readonly origin: string
}

/** The export `openCredential` of a module: called once for each upstream that has it. */
export type OpenCredential = (
  options: ModuleOptions,
  tools: CredentialTools,
) => CredentialModule | Promise<CredentialModule>

/** A credential that was found fit to be sent. */
export interface ReadCredential {
  readonly token: string | undefined
  /** Lower-case names and values. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Milliseconds since the epoch. */
  readonly expires: number
}

const DEFAULT_LIFE_MS = 5 * 60_000
const MAX_HEADERS = 16
const TOKEN = /^[\x21-\x7e]{1,65536}$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const HEADER_VALUE = /^[\x20-\x7e]{0,65536}$/
/** They belong to the connection, or to the bytes that are sent. */
const FIXED_HEADERS = new Set([...CONNECTION_HEADERS, 'content-encoding', 'content-length', 'expect', 'host'])

/** Whether something is a credential's module. */
export function isCredentialModule(opened: unknown): opened is CredentialModule {
  if (typeof opened !== 'object' || opened === null) return false
  return ['get', 'sign'].some(name => typeof Reflect.get(opened, name) === 'function')
}

/** What `get` gave; a text says what is wrong with it, without a value. */
export function readCredential(given: unknown, now: number): ReadCredential | string {
  if (typeof given !== 'object' || given === null) return 'it gave no object'
  const { token, headers: written = {}, expires } = given as Partial<Record<keyof GivenCredential, unknown>>
  if (token !== undefined && (typeof token !== 'string' || !TOKEN.test(token))) return 'its token fits no header'
  const headers = readHeaders(written)
  if (typeof headers === 'string') return headers
  if (token === undefined && headers.length === 0) return 'it gave neither token nor headers'
  const end = expires === undefined ? now + DEFAULT_LIFE_MS : Number(expires)
  if (!Number.isFinite(end)) return 'its expires is not a time'
  return { token, headers, expires: end }
}

/** Headers that a module gave; a text says what is wrong with them, without a value. */
export function readHeaders(written: unknown): ReadCredential['headers'] | string {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) return 'its headers are not an object'
  const all = Object.entries(written).map(([name, value]) => [name.toLowerCase(), value as unknown] as const)
  if (all.length > MAX_HEADERS) return `it gave more than ${MAX_HEADERS} headers`
  for (const [name, value] of all) {
    if (!HEADER_NAME.test(name) || FIXED_HEADERS.has(name)) return 'it gave a header that may not be set'
    if (typeof value !== 'string' || !HEADER_VALUE.test(value)) return `the value of its header ${name} fits no header`
  }
  return all as ReadCredential['headers']
}
