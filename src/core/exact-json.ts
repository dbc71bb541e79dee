import { randomBytes } from 'node:crypto'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  CR,
  DIGIT_0,
  DIGIT_9,
  DOT,
  HYPHEN,
  LF,
  LOWER_E,
  PLUS,
  QUOTE,
  SPACE,
  TAB,
  UPPER_E,
} from './ascii.js'
import { ExactNumber, type Json } from './json.js'

/**
 * JSON whose numbers keep their digits. `JSON.parse` tells no one how a number was written, and `JSON.stringify` lets no one
 * say it (Node 20), so such numbers pass both as strings with a mark that no one else can know.
 */
const MARK = `${randomBytes(16).toString('hex')}:`
const MARKED = new RegExp(`"${MARK}([-+.0-9eE]+)"`, 'g')

/** Most numbers of one document that keep their digits; from there on they are doubles. Each costs some 100 bytes. */
const MAX_EXACT_NUMBERS = 65_536

/** Up to this many characters one search tells sooner than a walk whether there is such a number. */
const MAX_SEARCHED_CHARS = 2048
/** What may be such a number, in or outside a string: many digits, an exponent, a last 0, a very small one, -0. */
const CANDIDATE = /(?:^|[:,[])\s*(?:-?\d(?:[\d.]{15}|[\d.]*[eE]|\d*\.\d*0(?!\d)|\.0{6})|-0(?:[,\]}\s]|$))/

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Numbers of so few digits, without point and exponent, are doubles. */
const MAX_DOUBLE_DIGITS = 15
/** Characters of a string that are looked at one by one before the rest is searched. */
const NEAR_CHARS = 24

/** What `JSON.parse` makes of a text, but for numbers that a double does not hold as written. Throws `SyntaxError`. */
export function parseExact(text: string): Json {
  return exactParser()(text)
}

/** The same for a document that is parsed in parts, which share its most exact numbers. */
export function exactParser(): (part: string) => Json {
  let left = MAX_EXACT_NUMBERS
  return part => {
    if (part.length <= MAX_SEARCHED_CHARS && !CANDIDATE.test(part)) return JSON.parse(part) as Json
    const marked = withMarks(part, left)
    const value = JSON.parse(marked.text) as Json
    left -= marked.count
    return marked.count === 0 ? value : withNumbers(value)
  }
}

/** The same; undefined where the text is not JSON. */
export function readExact(text: string): Json | undefined {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

/** What `JSON.stringify` makes of a value, with exact numbers as they were written. */
export function jsonText(value: unknown): string {
  const { written } = ExactNumber
  ExactNumber.written = markedNumber
  met = false
  try {
    const text = JSON.stringify(value)
    return met ? text.replace(MARKED, '$1') : text
  } finally {
    ExactNumber.written = written
  }
}

/** Whether the value that is being written holds an exact number. */
let met = false

function markedNumber({ text }: ExactNumber): string {
  met = true
  return MARK + text
}

/** A JSON text with a marked string in place of each number that a double would not give back. */
function withMarks(text: string, most: number): { readonly text: string; readonly count: number } {
  let out = ''
  let from = 0
  let count = 0
  for (let at = 0; at < text.length && count < most; ) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) {
      at = stringEnd(text, at + 1)
    } else if (unit === HYPHEN || isDigit(unit)) {
      const end = numberEnd(text, at + 1)
      if (isExact(text, at, end) && endsValue(text, end)) {
        out += `${text.slice(from, at)}"${MARK}${text.slice(at, end)}"`
        from = end
        count++
      }
      at = end
    } else at++
  }
  return { text: count === 0 ? text : out + text.slice(from), count }
}

/** The text with an empty string in place of each: numbers and names are looked for in what is left. */
export function withoutStrings(text: string): string {
  let out = ''
  for (let from = 0; ; ) {
    const quote = text.indexOf('"', from)
    if (quote < 0) return out + text.slice(from)
    out += `${text.slice(from, quote)}""`
    from = stringEnd(text, quote + 1)
  }
}

/** Behind the quote that ends the string; the length of the text where it does not end. */
function stringEnd(text: string, from: number): number {
  let at = from
  for (const near = Math.min(text.length, from + NEAR_CHARS); at < near; at++) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) return at + 1
    if (unit === BACKSLASH) at++
  }
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote < 0) return text.length
    let slashes = 0
    while (quote - slashes > at && text.charCodeAt(quote - slashes - 1) === BACKSLASH) slashes++
    at = quote + 1
    if (slashes % 2 === 0) return at
  }
}

function numberEnd(text: string, from: number): number {
  let at = from
  for (; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (isDigit(unit) || unit === DOT || unit === PLUS || unit === HYPHEN) continue
    if (unit !== LOWER_E && unit !== UPPER_E) break
  }
  return at
}

function isExact(text: string, start: number, end: number): boolean {
  if (end - start <= MAX_DOUBLE_DIGITS && isPlain(text, start, end)) return false
  const number = text.slice(start, end)
  return NUMBER.test(number) && String(Number(number)) !== number
}

/** Whether a number is digits alone, and not -0. */
function isPlain(text: string, start: number, end: number): boolean {
  if (text.charCodeAt(start) === HYPHEN && text.charCodeAt(start + 1) === DIGIT_0) return false
  for (let at = start + 1; at < end; at++) if (!isDigit(text.charCodeAt(at))) return false
  return true
}

/** Whether a number that ends here is a value and no key, which would make a string of what is not JSON. */
function endsValue(text: string, from: number): boolean {
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === COMMA || unit === CLOSE_BRACE || unit === CLOSE_BRACKET) return true
    if (unit !== SPACE && unit !== LF && unit !== CR && unit !== TAB) return false
  }
  return true
}

function isDigit(unit: number): boolean {
  return unit >= DIGIT_0 && unit <= DIGIT_9
}

type Holder = Record<string, Json>

/** The value with numbers in place of marked strings. Iterative, for documents of any depth. */
function withNumbers(value: Json): Json {
  const top: Holder = { value }
  const open = [top]
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    for (const name in holder) {
      const one = holder[name]
      if (typeof one === 'string') {
        if (one.startsWith(MARK)) holder[name] = new ExactNumber(one.slice(MARK.length))
      } else if (typeof one === 'object' && one !== null) open.push(one as Holder)
    }
  }
  return top.value ?? null
}
