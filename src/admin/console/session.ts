import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** What a page of the console may do: look, or everything that the admin key allows. */
type Role = 'viewer' | 'admin'

export interface Session {
  readonly role: Role
  /** Milliseconds since the epoch. */
  readonly expires: number
}

const SESSION_MS = 12 * 60 * 60 * 1000
/** A link that opens a session works so long. */
const LINK_MS = 10 * 60 * 1000
const COOKIE = 'gateway_console'
/** Browsers take a cookie of this name from an encrypted connection alone. */
const SECURE_COOKIE = `__Host-${COOKIE}`
const MAX_COOKIE_CHARS = 4096

/** A session needs no memory of the gateway: every worker can check it, and another admin key ends it. */
export function openSession(digest: string, role: Role, isEncrypted: boolean, now = Date.now()): string {
  const expires = now + SESSION_MS
  const value = signed(digest, 'session', `${role}.${expires}.${randomBytes(12).toString('base64url')}`)
  return cookie(value, isEncrypted, SESSION_MS / 1000)
}

export function endSession(isEncrypted: boolean): string {
  return cookie('', isEncrypted, 0)
}

export function sessionOf(
  digest: string,
  { cookie: text = '' }: IncomingHttpHeaders,
  isEncrypted: boolean,
  now = Date.now(),
): Session | undefined {
  const name = isEncrypted ? SECURE_COOKIE : COOKIE
  const value = text
    .slice(0, MAX_COOKIE_CHARS)
    .split(/; */)
    .find(part => part.startsWith(`${name}=`))
    ?.slice(name.length + 1)
  const [role, until] = (value === undefined ? undefined : checked(digest, 'session', value))?.split('.') ?? []
  const expires = Number(until)
  if ((role !== 'viewer' && role !== 'admin') || !(expires > now)) return undefined
  return { role, expires }
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

function cookie(value: string, isEncrypted: boolean, seconds: number): string {
  const name = isEncrypted ? SECURE_COOKIE : COOKIE
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isEncrypted ? '; Secure' : ''}`
}
