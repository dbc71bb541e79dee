import { isObject, type Json, parseJson } from '../../core/json.js'
import { Masker } from '../../core/masks.js'
import { MASKED } from '../../core/recording.js'
import type { RecordedAbout } from './whole-exchange.js'

// Repetitions have bounds: a pattern that tries all of a large text runs out of the engine's stack.
/** Texts that are credentials by their form: after `Bearer`, or with a prefix such as `sk-`. */
const CREDENTIALS = /\b(Bearer +)[\w.~+/=-]{8,8192}|\b(sk|pk|rk|ek|gw)[-_][\w-]{16,512}/gi
/** Members of JSON whose texts are credentials: also `"client_secret": { "value": … }`. */
const SECRET_MEMBERS =
  /("(?:authorization|api[-_]?key|access[-_]?token|client[-_]?secret)"\s*:\s*(?:\{\s*"value"\s*:\s*)?")(?:[^"\\]|\\.){1,8192}"/gi
/** Fewer characters are not taken for sound or a picture. */
const MIN_ENCODED_CHARS = 512
const HIDDEN = '[secret]'
/** Numbers that a double may not give back. */
const LONG_NUMBER = /[:,[]\s*-?(?=[\d.]*\d{16}|\d+\.?\d*[eE])/

/** Takes secrets out of texts, and masks what the configuration names. */
export class Cleaner {
  readonly #masker: Masker
  readonly #members: readonly (readonly string[])[]
  readonly #secrets: readonly string[]

  constructor({ config: { mask, words, members }, upstream, presented }: RecordedAbout) {
    this.#masker = new Masker(mask, words, isEncoded)
    this.#members = members.map(path => path.split('.'))
    this.#secrets = [...upstream.secrets, ...presented].filter(secret => secret !== '')
  }

  text(text: string): string {
    return this.#masker.text(this.#open(text))
  }

  /** JSON as such, where it is written back as it was; else its text. */
  body(text: string): Json {
    const open = this.#open(text)
    const document = LONG_NUMBER.test(open) ? undefined : parseJson(open)
    if (document === undefined || typeof document !== 'object') return this.#masker.body(open)
    return this.#document(document)
  }

  /** Lines, of which some are JSON, or fields of events with JSON. */
  lines(text: string): string {
    return this.#open(text)
      .split('\n')
      .map(line => {
        const [, head = '', rest = ''] = /^(data: ?)?(.*)$/s.exec(line) ?? []
        const document = parseJson(rest)
        if (!isObject(document)) return head + this.#masker.text(rest)
        const cleaned = this.#document(document)
        // An unchanged line keeps its bytes.
        return JSON.stringify(cleaned) === JSON.stringify(document) ? line : head + JSON.stringify(cleaned)
      })
      .join('\n')
  }

  /** Bytes without secrets. */
  bytes(bytes: Buffer): Buffer {
    const found = this.#secrets.filter(secret => bytes.includes(secret))
    if (found.length === 0) return bytes
    const latin1 = (text: string): string => Buffer.from(text).toString('latin1')
    const open = found.reduce((rest, secret) => rest.replaceAll(latin1(secret), HIDDEN), bytes.toString('latin1'))
    return Buffer.from(open, 'latin1')
  }

  #document(document: Json): Json {
    return this.#members.reduce(masked, this.#masker.value(document))
  }

  #open(text: string): string {
    const without = this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text)
    return without
      .replace(CREDENTIALS, (_, bearer?: string) => `${bearer ?? ''}${HIDDEN}`)
      .replace(SECRET_MEMBERS, (_, head: string) => `${head}${HIDDEN}"`)
  }
}

/** Sound and pictures in base64: a mask would break them. */
function isEncoded(text: string): boolean {
  return text.length >= MIN_ENCODED_CHARS && !/[^\w+/=-]/.test(text)
}

/** The document with the member at a path masked; `*` is any element. */
function masked(value: Json, path: readonly string[]): Json {
  const [first, ...rest] = path
  if (first === undefined) return MASKED
  const step = (inner: Json, name: string): Json => (first === '*' || first === name ? masked(inner, rest) : inner)
  if (Array.isArray(value)) return value.map((inner, at) => step(inner, String(at)))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, step(inner, name)]))
}
