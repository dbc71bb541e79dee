/** A header's value with its parameters: `form-data; name="file"` (RFC 2045 §5.1, RFC 2183). */
interface Parameterized {
  /** The text before the first semicolon, in lower case. */
  readonly value: string
  /** By name in lower case, in order. */
  readonly parameters: ReadonlyMap<string, Parameter>
}

export interface Parameter {
  readonly value: string
  /** The value as written, without quotes. */
  readonly written: string
  readonly quoted: boolean
  /** Its position in the header's value, quotes included. */
  readonly start: number
  readonly end: number
}

const QUOTE = '"'
const BACKSLASH = '\\'
/** `token` of RFC 2045. */
const TOKEN = /^[!#$%&'*+\-.^_`{|}~0-9A-Za-z]+$/
const VALUE_END = /[; \t]/g
/** A kind or a media type; callers check which. */
const KIND = /^[^\s;="]+$/

export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/**
 * Reads a header's value, in which each character is one byte. Undefined if it does not fit the grammar or repeats a
 * parameter. Unquoted values may contain anything but white space, semicolons, quotes and backslashes.
 */
export function parseParameters(text: string): Parameterized | undefined {
  const end = text.indexOf(';')
  const value = trim(end < 0 ? text : text.slice(0, end))
  if (!KIND.test(value)) return undefined
  const parameters = new Map<string, Parameter>()
  for (let at = end < 0 ? text.length : end; at < text.length; ) {
    // There is a semicolon at `at`; if nothing follows it, there is no parameter.
    at = skipSpace(text, at + 1)
    if (at === text.length || text[at] === ';') continue
    const equals = text.indexOf('=', at)
    if (equals < 0) return undefined
    const name = text.slice(at, equals).toLowerCase()
    if (!isToken(name) || parameters.has(name)) return undefined
    const read = text[equals + 1] === QUOTE ? quoted(text, equals + 2) : bare(text, equals + 1)
    if (read === undefined) return undefined
    parameters.set(name, read.parameter)
    at = skipSpace(text, read.end)
    if (at < text.length && text[at] !== ';') return undefined
  }
  return { value: value.toLowerCase(), parameters }
}

interface Read {
  readonly parameter: Parameter
  readonly end: number
}

function quoted(text: string, start: number): Read | undefined {
  const pieces: string[] = []
  let from = start
  for (let at = start; at < text.length; at++) {
    if (text[at] === BACKSLASH) {
      pieces.push(text.slice(from, at))
      from = ++at
    } else if (text[at] === QUOTE) {
      pieces.push(text.slice(from, at))
      const written = text.slice(start, at)
      const place = { start: start - 1, end: at + 1 }
      return { parameter: { value: pieces.join(''), written, quoted: true, ...place }, end: at + 1 }
    }
  }
  return undefined
}

function bare(text: string, start: number): Read | undefined {
  VALUE_END.lastIndex = start
  const end = VALUE_END.exec(text)?.index ?? text.length
  const value = text.slice(start, end)
  if (value === '' || value.includes(QUOTE) || value.includes(BACKSLASH)) return undefined
  return { parameter: { value, written: value, quoted: false, start, end }, end }
}

/** End of the spaces and tabs that begin at `from`. */
export function skipSpace(text: string, from: number): number {
  let at = from
  while (text[at] === ' ' || text[at] === '\t') at++
  return at
}

/** Strips surrounding spaces and tabs. */
export function trim(text: string): string {
  let end = text.length
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end--
  return text.slice(Math.min(skipSpace(text, 0), end), end)
}
