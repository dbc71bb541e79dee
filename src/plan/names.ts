import { Glob, isGlob } from '../core/glob.js'

/** Longest name of a model, in bytes of UTF-8. */
const MAX_NAME_BYTES = 256

/**
 * Whether a model's name may be looked up at all: 1 to 256 bytes, no control characters, no half of a surrogate pair.
 * Longer texts are refused before anything reads them.
 */
export function isName(name: string): boolean {
  return (
    name.length > 0 && name.length <= MAX_NAME_BYTES && !UNSOUND.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES
  )
}

const UNSOUND = /[\p{Cc}\p{Cs}]/u

/** A set of names and globs. */
export class NameSet {
  readonly #exact: ReadonlySet<string>
  readonly #globs: readonly Glob[]

  constructor(names: readonly string[]) {
    this.#exact = new Set(names.filter(name => !isGlob(name)))
    this.#globs = names.filter(isGlob).map(name => new Glob(name))
  }

  has(name: string): boolean {
    return this.#exact.has(name) || this.#globs.some(glob => glob.matches(name))
  }
}
