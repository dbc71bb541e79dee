import { distance } from './suggest.js'

interface Lines {
  line(number: number): string
}

/** How far up the parent of a line is looked for. */
const MAX_LINES_UP = 100
/** How much of a line is looked at, so that no line makes the patterns slow. A longer one may hold a secret. */
const MAX_LINE_CHARS = 500

const KEY = /([\w-]+)["']?\s*:(?=\s|$)/g
/** A key without a space after its colon, as in `secret:x`. */
const UNSPACED_KEY = /([\w-]+)["']?:(?=[^\s/:])/g
const SECRET_WORD = /secret|token(?!s)|passw|passphrase|authori[sz]ation|bearer|credential|(?:^|[-_]|api)key$/i
const VARIABLE = /^["']?[A-Z_][A-Z0-9_]*["']?(?=[\s,}\]#]|$)/
const HASH = /^["']?sha256:[0-9a-fA-F]{64}["']?(?=[\s,}\]#]|$)/

/** What may follow a key such as `secret:` without being a secret itself. */
const HARMLESS = [
  /^(?:#|$)/,
  /^\*\w/,
  /^[|>][-+0-9]*\s*(?:#|$)/,
  /^(?:true|false|off)\b/,
  /^\{\s*(?:$|\}|["']?(?:env|file|hash|generate|in|name|scheme|prefix|secret)\b)/,
  /^\{\s*[\w-]{1,10}["']?\s*:\s*["']?[A-Z_][A-Z0-9_]*["']?\s*[,}]/,
  /^\[\s*(?:\{[^{}]*\}[\s,]*)*(?:\]|\{[^}]*$|$)/,
  /^["']?(?:\.{0,2}\/|[\w-]+\.(?:pem|key)\b)/,
]
/** Names and passwords, or keys in the query, of a URL. */
const URL_WITH_SECRET = /:\/\/[^\s/@"']*:[^\s/@"']*@|[?&][\w-]*(?:key|token|secret|sig)[\w-]*=/i
/** Keys that are listed, as callers have them and not as they are declared. */
const LISTED_UNDER_KEYS = /\bkeys["']?\s*:\s*\[\s*[^\s{\]]/
const SCALAR_UNDER_KEYS = /\bkeys["']?\s*:\s*\{\s*[\w.-]+["']?\s*:\s*[^\s{]/

/**
 * Whether a line may hold a literal secret, judged by its text alone, since the file need not be well formed. Errs on
 * the side of silence: a line that is not shown costs little, a secret in a build log costs a lot.
 */
export function holdsSecret(source: Lines, number: number): boolean {
  const lines: Lines = { line: at => source.line(at).slice(0, MAX_LINE_CHARS) }
  const line = lines.line(number)
  if (source.line(number).length > MAX_LINE_CHARS || secretOnLine(line) || looksLikeKey(line)) return true
  const parent = parentKey(lines, number)
  if (parent === undefined) return false
  if (isBareValue(line)) return isSecretWord(parent) || parent === 'keys'
  return parent === 'keys' && /^\s*[^:]*:\s+[^\s{#]/.test(line)
}

/**
 * Whether a text has a run of letters and digits such as keys are made of: long, with digits scattered among letters.
 * Names of models and hosts have their digits in few places.
 */
export function looksLikeKey(text: string): boolean {
  return text.split(/[^A-Za-z0-9]+/).some(run => {
    const switches = run.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0
    return (run.length >= 10 && switches >= 3) || (run.length >= 24 && switches >= 1)
  })
}

function secretOnLine(line: string): boolean {
  if (SCALAR_UNDER_KEYS.test(line) || LISTED_UNDER_KEYS.test(line) || URL_WITH_SECRET.test(line)) return true
  for (const match of line.matchAll(UNSPACED_KEY)) if (isSecretWord(match[1] ?? '')) return true
  for (const match of line.matchAll(KEY)) {
    const key = match[1] ?? ''
    const value = withoutAnchor(line.slice(match.index + match[0].length))
    if (key === 'env' && value !== '' && !VARIABLE.test(value)) return true
    if (key === 'hash' && value !== '' && !HASH.test(value)) return true
    if (isSecretWord(key) && !HARMLESS.some(form => form.test(value))) return true
  }
  return false
}

function withoutAnchor(value: string): string {
  return value.trimStart().replace(/^[&!]\S*\s*/, '')
}

function isSecretWord(key: string): boolean {
  return SECRET_WORD.test(key) || distance(key.toLowerCase(), 'secret') <= 2
}

/** A line without a key of its own: an item of a list, or a further line of a text. */
function isBareValue(line: string): boolean {
  return !/^\s*(?:-\s+)*[{[]?\s*["']?[^\s"'{[][^"']*["']?\s*:(?:\s|$)/.test(line)
}

/** The last key on the nearest line above that is further left (or as far left, above a list). */
function parentKey(lines: Lines, number: number): string | undefined {
  const line = lines.line(number)
  const indent = indentOf(line)
  for (let above = number - 1; above > 0 && above > number - MAX_LINES_UP; above--) {
    const text = lines.line(above)
    if (text.trim() === '' || indentOf(text) > indent) continue
    if (indentOf(text) === indent && (!isItem(line) || isItem(text))) continue
    return [...text.matchAll(KEY)].at(-1)?.[1]
  }
  return undefined
}

function isItem(line: string): boolean {
  return /^\s*-(?:\s|$)/.test(line)
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}
