import { isAt } from './bytes.js'

const BACKSLASH = 0x5c
/** The longest way to write one character of a name: `\u006d`. */
const ESCAPED = 6

/** A key that stands for a control name: written exactly so, or only so that some parser takes it for that name. */
export interface ControlKey {
  readonly name: string
  readonly exact: boolean
}

/**
 * The names that decide what happens to a request (`model`, `stream`). A key is compared after its escapes are decoded,
 * and folded as the most lenient parsers fold, so that no upstream can read another value than the one we checked.
 */
export class ControlNames {
  readonly #exact: readonly { readonly bytes: Buffer; readonly key: ControlKey }[]
  readonly #folded: ReadonlyMap<string, string>
  /** Whether a key that begins with this byte may be one: a letter of a name, an escape, or anything beyond ASCII. */
  readonly #first = new Uint8Array(256).fill(1, 0x80)
  readonly #lengths: ReadonlySet<number>
  readonly #longest: number

  constructor(names: readonly string[]) {
    this.#exact = names.map(name => ({ bytes: Buffer.from(name), key: { name, exact: true } }))
    this.#folded = new Map(names.map(name => [fold(name), name]))
    this.#lengths = new Set(this.#exact.map(({ bytes }) => bytes.length))
    this.#longest = Math.max(0, ...this.#lengths)
    this.#first[BACKSLASH] = 1
    for (const name of names)
      for (const letter of [name.toLowerCase(), name.toUpperCase()]) this.#first[letter.charCodeAt(0) & 0xff] = 1
  }

  /** Whether a key of this length can be one at all. */
  mayHave(length: number): boolean {
    return length <= ESCAPED * this.#longest
  }

  /** False where the key from `start` to `end` cannot stand for any of them: told by its first byte and its length. */
  mayBe(bytes: Buffer, start: number, end: number): boolean {
    if (this.#first[bytes[start] ?? 0] === 0) return false
    return this.#lengths.has(end - start) || !isPlain(bytes, start, end)
  }

  /** The control name that the key from `start` to `end` (without its quotes, as written) stands for. */
  find(bytes: Buffer, start: number, end: number): ControlKey | undefined {
    if (this.#first[bytes[start] ?? 0] === 0) return undefined
    for (const { bytes: wanted, key } of this.#exact) if (isAt(bytes, start, end, wanted)) return key
    if (!this.mayBe(bytes, start, end)) return undefined
    const key = decode(bytes.toString('utf8', start, end))
    const name = this.#folded.get(fold(key))
    return name === undefined ? undefined : { name, exact: key === name }
  }
}

const compiled = new WeakMap<readonly string[], ControlNames>()

/** The control names of a list, made once for each list: a route has one for all its requests. */
export function controlNames(names: readonly string[]): ControlNames {
  const known = compiled.get(names)
  if (known !== undefined) return known
  const made = new ControlNames(names)
  compiled.set(names, made)
  return made
}

/** Case-folded as by parsers that go beyond ASCII: U+017F stands for s, U+212A for k. */
export function fold(key: string): string {
  return key.toUpperCase().toLowerCase()
}

/** Whether a key is ASCII without escapes, so that its length in bytes is its length in characters. */
function isPlain(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i]
    if (byte === undefined || byte >= 0x80 || byte === BACKSLASH) return false
  }
  return true
}

function decode(key: string): string {
  return key.includes('\\') ? String(JSON.parse(`"${key}"`)) : key
}
