import type { AmountPaths } from '../core/amounts.js'
import { OPEN_BRACKET } from '../core/ascii.js'
import { isObject, type Json, parseJson } from '../core/json.js'
import { JsonCursor } from './json-cursor.js'
import type { MemberSpan } from './json-scan.js'
import { JsonValues } from './json-values.js'
import { NotedNames } from './noted-names.js'

/** Smaller bodies and members are parsed at once. */
const SMALL_BYTES = 4096

/** The value at a path of a request: of a long list the number of its elements, of a long string that of its bytes. */
export type Values = (path: readonly string[]) => unknown

/** What is known of a request's paths, worked out once. */
interface Names {
  /** The last of each path, in quotes: a body without one has no value there. */
  readonly quoted: readonly Buffer[]
  /** The top-level members that have them. */
  readonly top: NotedNames | undefined
}

const NAMES = new WeakMap<AmountPaths, Names>()

function namesOf(paths: AmountPaths): Names {
  const known = NAMES.get(paths)
  if (known !== undefined) return known
  const { output, choices, images, characters, items, seconds } = paths
  const all = [output, choices, images, characters, items, seconds].flat()
  const quoted = [...new Set(all.map(path => `"${path.at(-1)}"`))].map(name => Buffer.from(name))
  const top = all.length === 0 ? undefined : new NotedNames(all.flatMap(([first]) => first ?? []))
  const made = { quoted, top }
  NAMES.set(paths, made)
  return made
}

/** The members that a scan has to note for {@link valuesOfMembers}; undefined: none. */
export function notedNames(paths: AmountPaths): NotedNames | undefined {
  return namesOf(paths).top
}

/** Most requests name none of these members: then nothing is parsed. A key may be written with escapes. */
export function valuesOfBytes(bytes: Buffer, paths: AmountPaths): Values {
  const { quoted } = namesOf(paths)
  if (quoted.length === 0) return NOTHING
  if (!quoted.some(name => bytes.includes(name)) && !bytes.includes('\\u')) return NOTHING
  if (bytes.length > SMALL_BYTES) return largeValues(bytes)
  return valuesOfDocument(parseJson(bytes.toString('utf8')))
}

export function valuesOfDocument(document: Json | undefined): Values {
  return path => valueIn(document, path)
}

/** Of a document whose noted members a scan has found. */
export function valuesOfMembers(bytes: Buffer, members: readonly MemberSpan[]): Values {
  if (members.length === 0) return NOTHING
  return ([first, ...rest]) => {
    const member = members.find(({ name }) => name === first)
    return member && valueOfMember(bytes, member, rest)
  }
}

export const NOTHING: Values = () => undefined

function valueOfMember(bytes: Buffer, { start, end }: MemberSpan, path: readonly string[]): unknown {
  if (end - start <= SMALL_BYTES) return valueIn(parseJson(bytes.toString('utf8', start, end)), path)
  if (path.length > 0) return largeValues(bytes.subarray(start, end))(path)
  if (bytes[start] !== OPEN_BRACKET) return end - start - 2
  return new JsonCursor(bytes).container(start).items.length
}

function largeValues(bytes: Buffer): Values {
  const values = new JsonValues(bytes)
  return path => {
    try {
      return values.at(path)
    } catch {
      return undefined
    }
  }
}

function valueIn(document: Json | undefined, path: readonly string[]): unknown {
  let at: unknown = document
  for (const name of path) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  return at
}
