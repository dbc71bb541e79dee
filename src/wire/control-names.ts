import { BACKSLASH, HYPHEN, UNDERSCORE } from '../core/ascii.js'
import { isAt } from './bytes.js'

/**
 * Keys longer than this are not compared. It leaves room to escape every character of a name, and for many ignored
 * characters.
 */
const MAX_KEY_BYTES = 1024

/** V8 prepares a table to search for seven characters or more, for more than a small body's search costs. */
const MAX_ENDING_CHARS = 6

/** A key that means a control name: `exact` if written that way, else only some parsers read it as that name. */
export interface ControlKey {
  readonly name: string
  readonly exact: boolean
}

/**
 * The names that decide what happens to a request (`model`, `stream`). Keys are compared after decoding their escapes, and
 * folded as the most lenient parsers fold them, so that no upstream can read another value than the one checked here.
 */
export class ControlNames {
  /** With which text each name ends as a key: its last characters and the quote. */
  readonly endings: readonly string[]
  readonly #exact: readonly { readonly bytes: Buffer; readonly key: ControlKey }[]
  readonly #folded: ReadonlyMap<string, string>
  /**
   * Indexed by a key's first byte: whether the key may be a control name. It begins with a letter of a name, an escape, or
   * something ignored.
   */
  readonly #first = new Uint8Array(256).fill(1, 0x80)
  /** Length in characters of the folded names. */
  readonly #lengths: ReadonlySet<number>

  constructor(names: readonly string[]) {
    this.endings = names.map(name => `${name}"`.slice(-MAX_ENDING_CHARS))
    this.#exact = names.map(name => ({ bytes: Buffer.from(name), key: { name, exact: true } }))
    this.#folded = new Map(names.map(name => [fold(name), name]))
    this.#lengths = new Set(names.map(name => fold(name).length))
    for (const byte of Buffer.from('\\_-\x7f')) this.#first[byte] = 1
    for (const name of names)
      for (const letter of [name.toLowerCase(), name.toUpperCase()]) this.#first[letter.charCodeAt(0) & 0xff] = 1
  }

  /** Whether a key of this many bytes is compared at all. */
  mayHave(length: number): boolean {
    return length <= MAX_KEY_BYTES
  }

  /** False if the first byte and the length of the key from `start` to `end` rule out every control name. */
  mayBe(bytes: Buffer, start: number, end: number): boolean {
    if (this.#first[bytes[start] ?? 0] === 0) return false
    const length = foldedLength(bytes, start, end)
    return length === undefined || this.#lengths.has(length)
  }

  /** The control name that the key from `start` to `end` (as written, without quotes) means. */
  find(bytes: Buffer, start: number, end: number): ControlKey | undefined {
    if (this.#first[bytes[start] ?? 0] === 0) return undefined
    for (const { bytes: wanted, key } of this.#exact) if (isAt(bytes, start, end, wanted)) return key
    if (!this.mayBe(bytes, start, end)) return undefined
    return this.keyOf(decode(bytes.toString('utf8', start, end)))
  }

  /** The control name that a decoded key means. */
  keyOf(key: string): ControlKey | undefined {
    for (const { key: known } of this.#exact) if (known.name === key) return known
    const length = plainLength(key)
    if (length !== undefined && !this.#lengths.has(length)) return undefined
    const name = this.#folded.get(fold(key)) ?? this.#folded.get(fold(cutAtNul(key)))
    return name === undefined ? undefined : { name, exact: key === name }
  }
}

const compiled = new WeakMap<readonly string[], ControlNames>()

/** The control names of a list, built once per list. All requests of a route share one list. */
export function controlNames(names: readonly string[]): ControlNames {
  const known = compiled.get(names)
  if (known !== undefined) return known
  const made = new ControlNames(names)
  compiled.set(names, made)
  return made
}

/** What parsers drop from keys or skip. Some omit lone surrogates and U+FFFD when they repair bad text. */
const IGNORED = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cs}\uFFFD_-]/gu

/**
 * A key as the most lenient parsers compare it. Every key that one of them reads as a name must match that name here:
 *
 * - simple folding, U+017F for s and U+212A for k (Go, encoding/json; Java and .NET ignoring case);
 * - full folding, U+FB06 for st (Python, str.casefold), and U+0130 for i, as simple lower case has it (Go,
 *   strings.ToLower);
 * - compatibility forms, wide and mathematical letters (UAX #31, NFKC_Casefold), without the characters it ignores;
 * - without dashes and underscores (Go, encoding/json/v2 with case:ignore).
 *
 * Used for comparison only, never sent.
 */
export function fold(key: string): string {
  if (PLAIN.test(key)) return key
  const folded = key.normalize('NFKC').replaceAll('\u0130', 'i').toUpperCase().toLowerCase().normalize('NFKC')
  return folded.replaceAll(IGNORED, '')
}

const PLAIN = /^[a-z0-9]*$/

/** What a parser with NUL-terminated strings reads of a key. */
function cutAtNul(key: string): string {
  const end = key.indexOf('\0')
  return end < 0 ? key : key.slice(0, end)
}

/** Length in characters of the folded key; undefined if the key is not ASCII or has escapes. */
function foldedLength(bytes: Buffer, start: number, end: number): number | undefined {
  let length = 0
  for (let i = start; i < end; i++) {
    const byte = bytes[i]
    if (byte === undefined || byte >= 0x7f || byte === BACKSLASH) return undefined
    if (byte !== UNDERSCORE && byte !== HYPHEN) length++
  }
  return length
}

/** The same for a decoded key. */
function plainLength(key: string): number | undefined {
  let length = 0
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    if (code < 0x20 || code >= 0x7f) return undefined
    if (code !== UNDERSCORE && code !== HYPHEN) length++
  }
  return length
}

function decode(key: string): string {
  return key.includes('\\') ? String(JSON.parse(`"${key}"`)) : key
}
