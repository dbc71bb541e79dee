/** RFC 9110 §5.6.2. */
export const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** RFC 9110 §5.5: no CR, LF, NUL or other control character, for each could begin another header or message. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Of answers: each has these of its own where they are not given. */
const USUAL: ReadonlySet<string> = new Set(['connection', 'content-length', 'transfer-encoding', 'date', 'keep-alive'])

/** Names and values that are kept. */
const MAX_NAMES = 512
const MAX_VALUE_CHARS = 256

/** A name of headers that is a token. Many heads have the same value for it: that line is checked and joined once. */
class HeaderName {
  /** In lower case. */
  readonly lower: string
  /** Whether it is one of {@link USUAL}. */
  readonly isUsual: boolean
  readonly #begin: string
  /** The last value, and its line once two in a row were the same. */
  #value: string | undefined
  #line: string | undefined

  constructor(name: string) {
    this.lower = name.toLowerCase()
    this.isUsual = USUAL.has(this.lower)
    this.#begin = `${name}: `
  }

  /** The whole line; undefined for a value that no header may have. */
  line(value: string): string | undefined {
    if (value === this.#value) {
      this.#line ??= flat(`${this.#begin}${value}\r\n`)
      return this.#line
    }
    if (!VALUE.test(value)) return undefined
    if (value.length <= MAX_VALUE_CHARS) {
      this.#value = value
      this.#line = undefined
    }
    return `${this.#begin}${value}\r\n`
  }
}

/** The names that one side writes: what clients send cannot crowd out those of answers. */
export class HeaderNames {
  readonly #known = new Map<string, HeaderName>()

  /** Undefined: it is not a token. */
  of(name: string): HeaderName | undefined {
    const known = this.#known.get(name)
    if (known !== undefined || !TOKEN.test(name)) return known
    const made = new HeaderName(name)
    if (this.#known.size < MAX_NAMES) this.#known.set(name, made)
    return made
  }
}

/** The same text in one piece, which costs less to join with others again and again. Its characters are bytes. */
export function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
