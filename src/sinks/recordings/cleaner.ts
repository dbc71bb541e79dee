import { type Changes, CutTexts, mayHavePieces, type TextRule, withChanges } from '../../core/cut-texts.js'
import { withoutStrings } from '../../core/exact-json.js'
import { isObject, type Json, parseJson } from '../../core/json.js'
import { escaped, type Field, fieldOf, Masker } from '../../core/masks.js'
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
const BY_FORM: readonly TextRule[] = [
  { pattern: CREDENTIALS, by: (_, bearer = '') => `${bearer}${HIDDEN}` },
  { pattern: SECRET_MEMBERS, by: (_, head = '') => `${head}${HIDDEN}"` },
]
/** Numbers that a double may not give back. */
const LONG_NUMBER = /[:,[]\s*-?(?=[\d.]*\d{16}|\d+\.?\d*[eE])/

/** Takes secrets out of texts, and masks what the configuration names. */
export class Cleaner {
  readonly #masker: Masker
  readonly #members: readonly (readonly string[])[]
  readonly #secrets: readonly string[]
  readonly #hiding: readonly TextRule[]

  constructor({ config: { mask, words, members }, upstream, presented }: RecordedAbout) {
    this.#masker = new Masker(mask, words, isEncoded)
    this.#members = members.map(path => path.split('.'))
    this.#secrets = [...upstream.secrets, ...presented].filter(secret => secret !== '')
    const named = this.#secrets.map(secret => ({ pattern: new RegExp(escaped(secret), 'g'), by: () => HIDDEN }))
    this.#hiding = [...named, ...BY_FORM]
  }

  text(text: string): string {
    return this.#masker.text(this.#open(text))
  }

  /** JSON as such, where it is written back as it was; else its text. `changes`: of its pieces, where it is one of several messages. */
  body(text: string, changes?: Changes): Json {
    const open = this.#open(text)
    const whole = changes === undefined ? open : JSON.stringify(withChanges(parseJson(open) ?? null, changes))
    const document = hasLongNumber(whole) ? undefined : parseJson(whole)
    if (document === undefined || typeof document !== 'object') return this.#masker.body(whole)
    return this.#document(document)
  }

  /** Parts of a stream, each of whole lines, of which some are JSON, or fields of events with JSON. */
  stream(parts: readonly string[]): readonly string[] {
    const lines = parts.map(part => this.#open(part).split('\n').map(fieldOf))
    const pieces = new CutTexts()
    for (const [at, { rest }] of lines.flat().entries()) this.#note(pieces, at, rest)
    const changes = this.changes(pieces)
    let at = 0
    return lines.map(part => part.map(line => this.#line(line, changes.get(at++))).join('\n'))
  }

  /** Notes what a message has of texts that come in several. */
  note(pieces: CutTexts, at: number, message: string): void {
    this.#note(pieces, at, this.#open(message))
  }

  /** What changes in the pieces of texts: see {@link CutTexts.changes}. */
  changes(pieces: CutTexts, inEach = false): ReadonlyMap<number, Changes> {
    return pieces.changes(whole => [...this.#hiding, ...this.#masker.rules(whole)], inEach)
  }

  #note(pieces: CutTexts, at: number, open: string): void {
    const document = mayHavePieces(open) ? parseJson(open) : undefined
    if (document !== undefined) pieces.add(at, document)
  }

  #line({ line, head, rest }: Field, changes: Changes | undefined): string {
    const document = parseJson(rest)
    if (!isObject(document)) return head + this.#masker.text(rest)
    const cleaned = this.#document(changes === undefined ? document : withChanges(document, changes))
    // An unchanged line keeps its bytes.
    return JSON.stringify(cleaned) === JSON.stringify(document) ? line : head + JSON.stringify(cleaned)
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
    return this.#hiding.reduce((rest, { pattern, by }) => rest.replace(pattern, by), text)
  }
}

/** A search in all of the text is cheap, and nearly always enough. */
function hasLongNumber(json: string): boolean {
  return LONG_NUMBER.test(json) && LONG_NUMBER.test(withoutStrings(json))
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
