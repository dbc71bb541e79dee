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

/** Text that looks like any credential: in the query of a URL, before its host, behind a scheme, bare. */
const CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  [/([?&][\w-]{0,40}(?:key|token|secret|signature|password)=)[^&\s"'<>)\]}]{1,4000}/gi, `$1${HIDDEN}`],
  [/(:\/\/)[^\s/@"'<>]{1,400}@/g, `$1${HIDDEN}@`],
  [/\b(bearer|basic) [\w.~+/=-]{16,4000}/gi, `$1 ${HIDDEN}`],
  [/\bsk-[\w-]{8,4000}/g, HIDDEN],
]

/**
 * An upstream's words as a client may see them: without our credential, without the upstream's address, without what
 * looks like a credential, and cut to a bound. Undefined where there are none.
 */
export function cleanedWords(text: string | undefined, { call, exchange }: AnswerOrigin): string | undefined {
  return text === undefined || text === '' ? undefined : cleanedText(text, call.generation, exchange.upstream)
}

/** The same of an upstream that no client waits for. */
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

/** A text that is no error, such as the address of a picture: without the upstream's credential alone. */
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
