import { isObject, parseJson } from '../core/json.js'
import type { Answer } from '../net/ask.js'
import { CredentialFault } from '../net/signer.js'
import type { Fetched } from './token-cache.js'

/** How long a token counts as valid if its server does not say. */
const DEFAULT_LIFE_MS = 5 * 60_000
const MAX_SAID_CHARS = 200

/** A token answer by RFC 6749 §5, or its refusal as a fault: the server's `error` is named, nothing else of it. */
export function tokenOf({ status, text }: Answer, from: string): Fetched<string> {
  const document = jsonOf(text)
  if (status < 200 || status >= 300)
    throw new CredentialFault(`${from} answered with status ${status}${said(document)}`)
  const token = document?.access_token ?? document?.id_token
  if (typeof token !== 'string' || token === '') throw new CredentialFault(`${from} sent no access_token`)
  return { value: plain(token, from), expires: Date.now() + lifeOf(document?.expires_in) }
}

export function jsonOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseJson(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A token goes into a header, so it must be printable ASCII on one line. */
export function plain(token: string, from: string): string {
  if (!/^[\x21-\x7e]{1,65536}$/.test(token)) throw new CredentialFault(`${from} sent a token that fits no header`)
  return token
}

/** Milliseconds since the epoch of a time in ISO 8601. */
export function timeOf(text: unknown): number | undefined {
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** Of `expires_in`, seconds. */
function lifeOf(seconds: unknown): number {
  const life = Number(seconds)
  return Number.isFinite(life) && life > 0 ? life * 1000 : DEFAULT_LIFE_MS
}

/** The code of an OAuth error; its description may quote what was sent. */
function said(document: Readonly<Record<string, unknown>> | undefined): string {
  const { error } = document ?? {}
  const code = isObject(error as never) ? (error as { readonly status?: unknown }).status : error
  return typeof code === 'string' ? ` (${code.slice(0, MAX_SAID_CHARS).replace(/[^\x20-\x7e]/g, '?')})` : ''
}
