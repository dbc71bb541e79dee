import { isObject, type Json, parseJson } from '../core/json.js'
import { type AnswerOrigin, cleanedWords } from './translate/words.js'

/** Maximum length of an upstream's error that is examined, and that the log shows. */
const MAX_READ_CHARS = 4000
const MAX_SHOWN_CHARS = 500
/** Minimum length of a partial secret that is still hidden: upstreams like to quote the start or end of a key. */
const MIN_SECRET_CHARS = 8
/** Maximum depth of the search for a message. */
const MAX_DEPTH = 5

/** Members of errors that contain the message, most likely ones first. */
const MESSAGES = ['message', 'error', 'detail', 'error_description', 'msg', 'reason', 'title', 'errors', 'response']
/** Members that name the kind of error. */
const NAMES = ['code', 'type', 'status']

const HIDDEN = '[hidden]'

/**
 * The message of an upstream's error, for the log: in one line, shortened, without any part of the upstream's
 * credential. Undefined if there is none. It is the upstream's own text and may quote the request.
 */
export function upstreamMessage(body: Uint8Array | string, source: AnswerOrigin): string | undefined {
  const text = (typeof body === 'string' ? body : Buffer.from(body).toString('utf8')).trim()
  const document = parseJson(text)
  const words = (document === undefined ? undefined : messageIn(document, 0)) ?? withoutTags(text)
  const cleaned = cleanedWords(words.slice(0, MAX_READ_CHARS), source) ?? ''
  const { secrets } = source.call.generation.reach(source.exchange.upstream)
  const hidden = secrets.reduce(withoutParts, cleaned)
  return shortened(hidden) || undefined
}

/** An upstream's text for the log, without any part of these secrets. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return shortened(secrets.reduce(withoutParts, text.slice(0, MAX_READ_CHARS)))
}

/** In one line, and shortened. */
export function shortened(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  return line.length > MAX_SHOWN_CHARS ? `${line.slice(0, MAX_SHOWN_CHARS)}…` : line
}

function messageIn(value: Json, depth: number): string | undefined {
  if (typeof value === 'string') return value
  if (depth > MAX_DEPTH) return undefined
  if (Array.isArray(value)) return messageIn((value as readonly Json[])[0] ?? null, depth + 1)
  if (!isObject(value)) return undefined
  for (const name of MESSAGES) {
    const inner = value[name]
    const message = inner === undefined ? undefined : messageIn(inner, depth + 1)
    if (message !== undefined && message !== '') return named(message, value)
  }
  return undefined
}

/** `insufficient_quota: You exceeded …` */
function named(message: string, error: Readonly<Record<string, Json>>): string {
  const name = NAMES.map(member => error[member]).find(value => typeof value === 'string' && value !== 'error')
  return typeof name === 'string' && !message.includes(name) ? `${name}: ${message}` : message
}

/** Strips HTML, which proxies in front of the upstream send. */
function withoutTags(text: string): string {
  return text.slice(0, MAX_READ_CHARS).replace(/<[^<>]*>/g, ' ')
}

function withoutParts(words: string, secret: string): string {
  let result = ''
  for (let at = 0; at < words.length; ) {
    let length = 0
    if (secret.includes(words.slice(at, at + MIN_SECRET_CHARS))) {
      while (at + length < words.length && secret.includes(words.slice(at, at + length + 1))) length++
    }
    result += length < MIN_SECRET_CHARS ? words[at] : HIDDEN
    at += length < MIN_SECRET_CHARS ? 1 : length
  }
  return result
}
