import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { SignInConfig } from '../../core/sign-in.js'
import type { Begun } from '../../features/identity/sign-in.js'

/** What a page of the console may do: look, or everything that the admin key allows. */
type Role = 'viewer' | 'admin'

export interface Session {
  readonly role: Role
  /** Milliseconds since the epoch. */
  readonly expires: number
  /** Of a person who signed in at an issuer. */
  readonly name?: string
}

const SESSION_MS = 12 * 60 * 60 * 1000
/** A link that opens a session works so long. */
const LINK_MS = 10 * 60 * 1000
const COOKIE = 'gateway_console'
/** A person is at the issuer: its answer comes from there, so that a strict cookie would not be sent. */
const BEGUN_COOKIE = 'gateway_console_begun'
/** So long a person has to sign in at the issuer. */
const BEGUN_MS = 10 * 60 * 1000
/** Browsers take a cookie of such a name from an encrypted connection alone. */
const SECURE = '__Host-'
const MAX_COOKIE_CHARS = 4096

/** What signs sessions: the digest of the admin key. Those of people hold as long as the issuer and its roles stay as they are. */
interface Signing {
  readonly digest: string
  readonly oidc?: SignInConfig | undefined
}

/** A session needs no memory of the gateway: every worker can check it, and another admin key ends it. */
export function openSession(
  { digest, oidc }: Signing,
  { role, name = '' }: Pick<Session, 'role' | 'name'>,
  isEncrypted: boolean,
  now = Date.now(),
): string {
  const shown = Buffer.from(name).toString('base64url')
  const text = `${role}.${now + SESSION_MS}.${shown}.${randomBytes(12).toString('base64url')}`
  return cookie(COOKIE, signed(digest, purposeOf(shown, oidc), text), isEncrypted, SESSION_MS / 1000)
}

function purposeOf(name: string, oidc: SignInConfig | undefined): string {
  const place = oidc && [oidc.provider.issuer, oidc.clientId, oidc.role]
  return name === '' ? 'session' : `session of ${JSON.stringify(place ?? null)}`
}

/** Sessions that were signed out: at most so many, then the oldest is forgotten. They are known to the workers of the moment alone. */
const MAX_ENDED = 10_000
const ended = new Set<string>()

/** The cookie that takes a session's place in the browser. */
export function noSession(isEncrypted: boolean): string {
  return cookie(COOKIE, '', isEncrypted, 0)
}

/** What a browser has sent, for {@link sessionEnded}. */
export function sentSession(headers: IncomingHttpHeaders, isEncrypted: boolean): string {
  return cookieOf(headers, COOKIE, isEncrypted) ?? ''
}

/** A session that was signed out holds no longer, also for one who has copied its cookie, as long as this process runs. */
export function sessionEnded(value: string): void {
  const [oldest] = ended
  if (ended.size >= MAX_ENDED && oldest !== undefined) ended.delete(oldest)
  ended.add(value)
}

export function sessionOf(
  { digest, oidc }: Signing,
  headers: IncomingHttpHeaders,
  isEncrypted: boolean,
  now = Date.now(),
): Session | undefined {
  const value = cookieOf(headers, COOKIE, isEncrypted) ?? ''
  const purpose = purposeOf(value.split('.', 3)[2] ?? '', oidc)
  const [role, until, name = ''] = checked(digest, purpose, value)?.split('.') ?? []
  if (ended.has(value)) return undefined
  const expires = Number(until)
  if ((role !== 'viewer' && role !== 'admin') || !(expires > now)) return undefined
  return { role, expires, ...(name === '' ? {} : { name: Buffer.from(name, 'base64url').toString('utf8') }) }
}

/** What a browser keeps while a person is at the issuer; `undefined` ends it. */
export function keepBegun(digest: string, begun: Begun | undefined, isEncrypted: boolean, now = Date.now()): string {
  if (begun === undefined) return cookie(BEGUN_COOKIE, '', isEncrypted, 0, 'Lax')
  const { state, nonce, verifier } = begun
  const value = signed(digest, 'begun', [state, nonce, verifier, now + BEGUN_MS].join('.'))
  return cookie(BEGUN_COOKIE, value, isEncrypted, BEGUN_MS / 1000, 'Lax')
}

export function begunOf(
  digest: string,
  headers: IncomingHttpHeaders,
  isEncrypted: boolean,
  now = Date.now(),
): Begun | undefined {
  const value = cookieOf(headers, BEGUN_COOKIE, isEncrypted)
  const text = value === undefined ? undefined : checked(digest, 'begun', value)
  const [state, nonce, verifier, until] = text?.split('.') ?? []
  if (state === undefined || nonce === undefined || verifier === undefined || !(Number(until) > now)) return undefined
  return { state, nonce, verifier }
}

/** The code of a link that opens a session once. */
export function linkCode(digest: string, now = Date.now()): string {
  return signed(digest, 'link', `${now + LINK_MS}.${randomBytes(12).toString('base64url')}`)
}

/** Codes that were used, until they would expire: at most so many are kept, and then none is accepted. */
const MAX_USED = 1000
const used = new Map<string, number>()

/** Whether the code is good, for the first time in this process. */
export function takeCode(digest: string, code: string, now = Date.now()): boolean {
  const expires = Number(checked(digest, 'link', code)?.split('.')[0])
  for (const [old, until] of used) if (until <= now) used.delete(old)
  if (!(expires > now) || used.has(code) || used.size >= MAX_USED) return false
  used.set(code, expires)
  return true
}

/** Another worker has accepted the code. */
export function codeUsed(code: string, now = Date.now()): void {
  if (used.size < MAX_USED) used.set(code, now + LINK_MS)
}

function signed(digest: string, purpose: string, text: string): string {
  return `${text}.${signature(digest, purpose, text)}`
}

function checked(digest: string, purpose: string, value: string): string | undefined {
  const dot = value.lastIndexOf('.')
  if (dot < 0) return undefined
  const [text, given] = [value.slice(0, dot), Buffer.from(value.slice(dot + 1))]
  const wanted = Buffer.from(signature(digest, purpose, text))
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? text : undefined
}

/** The digest of the admin key is a secret of the process here: who has only it can make no request with it. */
function signature(digest: string, purpose: string, text: string): string {
  return createHmac('sha256', Buffer.from(digest, 'hex')).update(`console ${purpose}\n${text}`).digest('base64url')
}

function cookieOf({ cookie: text = '' }: IncomingHttpHeaders, plain: string, isEncrypted: boolean): string | undefined {
  const name = isEncrypted ? `${SECURE}${plain}` : plain
  return text
    .slice(0, MAX_COOKIE_CHARS)
    .split(/; */)
    .find(part => part.startsWith(`${name}=`))
    ?.slice(name.length + 1)
}

function cookie(
  name: string,
  value: string,
  isEncrypted: boolean,
  seconds: number,
  site: 'Strict' | 'Lax' = 'Strict',
): string {
  const [prefix, secure] = isEncrypted ? [SECURE, '; Secure'] : ['', '']
  return `${prefix}${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${site}${secure}`
}
