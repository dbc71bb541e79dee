import type { Seed } from '../seed.js'

/**
 * The simulator's tokenizer, simple enough to count by hand: a token is a run of at most four letters or digits with
 * the one space before it, or any other single character. Every character beyond ASCII counts as a letter. The tokens of
 * a text, joined, are the text.
 */
const MAX_TOKEN_CHARS = 4
const ASCII = 0x80
const LETTERS = Uint8Array.from({ length: ASCII }, (_, code) => Number(/[0-9A-Za-z]/.test(String.fromCharCode(code))))

/** The tokens of a text, in order. */
export function tokenize(text: string): readonly string[] {
  const tokens: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = tokenEnd(text, at)
    tokens.push(text.slice(at, end))
    at = end
  }
  return tokens
}

/** How many tokens {@link tokenize} would give, without making them. */
export function countTokens(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; count += 1) at = tokenEnd(text, at)
  return count
}

function tokenEnd(text: string, from: number): number {
  const start = text[from] === ' ' ? from + 1 : from
  const most = Math.min(start + MAX_TOKEN_CHARS, text.length)
  let end = start
  while (end < most && isLetter(text.charCodeAt(end))) end += 1
  if (end === start) return from + 1
  return end === start + MAX_TOKEN_CHARS && splitsPair(text, end) ? end + 1 : end
}

function isLetter(code: number): boolean {
  return code >= ASCII || LETTERS[code] === 1
}

function splitsPair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  const after = text.charCodeAt(at)
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff
}

/** A token with its logarithmic probability and what might have stood in its place; the token itself comes first. */
interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[]
  readonly top_logprobs: readonly Omit<TokenLogprob, 'top_logprobs'>[]
}

const ALTERNATIVES = [' the', ' a', ' and', '.', ',', ' to', ' of', ' in', ' is', ' that', ' it', ' for'] as const

/** Plausible figures: likely tokens, and alternatives that are ever less so. `top` from 0 to 20. */
export function logprobOf(token: string, index: number, top: number, seed: Seed): TokenLogprob {
  const chance = seed.fork('logprob', index).fraction()
  const first = entry(token, -chance * 0.7)
  const others = ALTERNATIVES.filter(other => other !== token)
  const rest = Array.from({ length: Math.max(0, top - 1) }, (_, rank) =>
    entry(others[rank] ?? ` ${rank}`, -1 - chance - rank * 0.5),
  )
  return { ...first, top_logprobs: top === 0 ? [] : [first, ...rest] }
}

function entry(token: string, logprob: number): Omit<TokenLogprob, 'top_logprobs'> {
  return { token, logprob: Math.round(logprob * 1e6) / 1e6, bytes: [...Buffer.from(token)] }
}
