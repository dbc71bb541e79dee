import { quoted } from './report.js'
import type { Source } from './source.js'

/** How much of the text behind a fault is looked at. */
const MAX_SCANNED_CHARS = 300

/** `simulator base: x`: a value, and a key behind it without a comma. */
const VALUE_AND_KEY = /^[^,{}[\]"'#:]*\s(?=(["']?[\w.-]+["']?)\s*:\s)/
const KEY = /^\s*(["']?[\w.-]+["']?)\s*:\s/
/** `kind:simulator`, but not `http://` and `a::b`. */
const UNSPACED_LINE = /^(\s*(?:-\s+)*["']?([\w.-]+)["']?):(?=[^\s:/])/
const UNSPACED = /^([\w.-]+):(?!\/\/)[^\s:]/

/** What to say of a comma that is missing inside { } or [ ] after or at `at`. */
export function missingComma(source: Source, at: number): Explanation | undefined {
  const text = source.text.slice(at, at + MAX_SCANNED_CHARS)
  const value = VALUE_AND_KEY.exec(text)
  const [found, name] = value ?? KEY.exec(text) ?? []
  if (found === undefined || name === undefined) return undefined
  const start = at + (value === null ? found.indexOf(name) : found.length)
  const orQuotes = value === null ? '' : ', or the text before it needs quotes'
  return { message: `a comma is missing before ${shown(name)}${orQuotes}`, start, end: start + name.length }
}

/** What to say of a line such as `kind:simulator`, in which something is wrong at `at`. */
export function missingSpace(source: Source, at: number): Explanation | undefined {
  const { line } = source.position(at)
  const [, head, name] = UNSPACED_LINE.exec(source.line(line).slice(0, MAX_SCANNED_CHARS)) ?? []
  if (head === undefined || name === undefined) return undefined
  const start = at - source.offsetInLine(at) + head.length
  return { message: spaceMissing(name), start, end: start + 1 }
}

/** The key of a text such as `kind:simulator`, which was meant to be a mapping. */
export function unspacedKey(text: string): string | undefined {
  return UNSPACED.exec(text.slice(0, MAX_SCANNED_CHARS))?.[1]
}

export function spaceMissing(name: string): string {
  return `a space is missing after the colon of ${shown(name)}`
}

function shown(name: string): string {
  return quoted(name.replaceAll(/["']/g, ''))
}

/** What to say of a fault, and the offsets that it is about. */
export interface Explanation {
  readonly message: string
  readonly start: number
  readonly end?: number
}
