import type { Json } from '../core/json.js'
import type { FileType } from './validators.js'

/** A file as it was parsed before: without any problem, as a file of this type. */
interface ParsedFile {
  readonly type: FileType
  /** sha256 of the file in hex. */
  readonly digest: string
  /** Its value as JSON. */
  readonly json: string
}

/** By absolute path. */
export type ParsedBefore = ReadonlyMap<string, ParsedFile>

/** Smaller files are parsed in a few milliseconds. */
const MIN_CHARS = 8 * 1024

/**
 * What large files say, from one load to the next: most reloads change one file of many, and parsing YAML and checking it takes ten
 * times as long as reading its JSON.
 */
export class ParsedFiles {
  /** Those that this load has read. */
  readonly read = new Map<string, ParsedFile>()
  readonly #before: ParsedBefore

  constructor(before: ParsedBefore = new Map()) {
    this.#before = before
  }

  /** The value of a file that has not changed since the load before. */
  find(path: string, type: FileType, digest: string): { readonly value: Json } | undefined {
    const known = this.#before.get(path)
    if (known?.digest !== digest || known.type !== type) return undefined
    this.read.set(path, known)
    return { value: withoutPrototypes(JSON.parse(known.json)) }
  }

  /** Keeps what a file of `chars` characters says, for the next load. */
  keep(path: string, type: FileType, digest: string, value: Json, chars: number): void {
    if (chars >= MIN_CHARS && isExact(value)) this.read.set(path, { type, digest, json: JSON.stringify(value) })
  }
}

/** Objects as the parser of YAML makes them: no name is special. */
function withoutPrototypes(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withoutPrototypes)
  const bare: Record<string, Json> = Object.create(null)
  for (const [name, inner] of Object.entries(value)) bare[name] = withoutPrototypes(inner)
  return bare
}

/** Whether JSON has all of a value: YAML has numbers such as `.inf` and `-0`, too. */
function isExact(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object' || value === null) return true
  return Object.values(value).every(isExact)
}
