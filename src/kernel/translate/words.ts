import { KEY_FORM } from '../../core/masks.js'
import type { Exchange, Upstream } from '../../core/plan.js'
import type { Generation } from '../generation.js'

/** Maximum length of an upstream's message that is passed on. */
const MAX_MESSAGE_CHARS = 4000
/** Minimum length of a partial secret that is still hidden, where a message was cut inside it. */
const MIN_SECRET_CHARS = 8

/** The exchange whose answer contains the text. */
export interface AnswerOrigin {
  readonly call: { readonly generation: Generation }
  readonly exchange: Exchange
}

const HIDDEN = '[hidden]'

/** Patterns of credentials: behind a name, before a URL's host, after a scheme, or bare. */
const CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  [/(?<![\w-])([\w-]{0,40}(?:key|token|secret|signature|password)=["']?)[^&\s"'<>)[\]}]{1,4000}/gi, `$1${HIDDEN}`],
  [/(:\/\/)[^\s/@"'<>]{1,400}@/g, `$1${HIDDEN}@`],
  [/\b(bearer|basic) [\w.~+/=-]{16,4000}/gi, `$1 ${HIDDEN}`],
  [/\bsk-[\w-]{8,4000}/g, HIDDEN],
  [new RegExp(`${KEY_FORM.source}[\\w-]*(?:\\.[\\w-]+){0,4}`, 'g'), HIDDEN],
]

/**
 * An upstream's message as a client may see it: without its credential, its address and anything that
 * looks like a credential, and shortened. Undefined if there is none.
 */
export function cleanedWords(text: string | undefined, { call, exchange }: AnswerOrigin): string | undefined {
  return text === undefined || text === '' ? undefined : cleanedText(text, call.generation, exchange.upstream)
}

/** The same for an upstream that no client is waiting for. */
export function cleanedText(text: string, generation: Generation, upstream: Upstream): string {
  let words = text.slice(0, MAX_MESSAGE_CHARS)
  const { secrets, origin } = generation.reach(upstream)
  for (const secret of secrets) {
    if (secret === '') continue
    words = withoutStart(words.replaceAll(secret, HIDDEN), secret)
  }
  for (const host of new Set([hostOf(upstream.origin), hostOf(origin)]))
    if (host !== undefined) words = words.replaceAll(host, HIDDEN)
  for (const [pattern, instead] of CREDENTIALS) words = words.replace(pattern, instead)
  return words
}

/** For a text that is not an error, such as a picture's address: removes only the upstream's credential. */
export function withoutCredential(text: string, generation: Generation, upstream: Upstream): string {
  const long = generation.reach(upstream).secrets.filter(secret => secret.length >= MIN_SECRET_CHARS)
  return long.reduce((words, secret) => words.replaceAll(secret, HIDDEN), text)
}

export function textContainsSecret(text: string, { call, exchange }: AnswerOrigin): boolean {
  return call.generation.reach(exchange.upstream).secrets.some(secret => secret !== '' && text.includes(secret))
}

/** Codecs cut long messages, so a partial secret at the end is removed, too. */
function withoutStart(words: string, secret: string): string {
  for (let length = Math.min(secret.length - 1, words.length); length >= MIN_SECRET_CHARS; length--)
    if (words.endsWith(secret.slice(0, length))) return words.slice(0, -length) + HIDDEN
  return words
}

function hostOf(origin: string): string | undefined {
  const host = URL.canParse(origin) ? new URL(origin).host : ''
  return host === '' ? undefined : host
}
