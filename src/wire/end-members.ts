import { isObject, parseJson } from '../core/json.js'
import type { Path } from './json-path.js'
import { PlacedValues } from './placed-values.js'

/** Longest JSON, in bytes, that is searched once for all names; in longer ones each name is found sooner by itself. */
const SHORT = 4096
/** Longest JSON, in bytes, that is parsed; of longer ones the declared places alone are read. */
const PARSED = 16 * 1024

/** Places of members without which a stream is not whole, where its protocol has no event that ends it: one stands in some message. */
export class EndMembers {
  readonly #paths: readonly Path[]
  readonly #keys: readonly string[]
  readonly #set: RegExp

  /** Of a path, `*` is any element of an array or any member of an object; the last name of each is a plain identifier. */
  constructor(paths: readonly Path[]) {
    this.#paths = paths
    this.#keys = [...new Set(paths.map(path => `"${path.at(-1)}"`))]
    this.#set = new RegExp(`(?:${this.#keys.join('|')})\\s*:\\s*(?!null)\\S`)
  }

  /** A quick look that says no to almost every message: whether a member of such a name, not null, stands anywhere in it. */
  mayStandIn(message: Buffer): boolean {
    if (message.length > SHORT && !this.#keys.some(key => message.includes(key))) return false
    return this.#set.test(message.toString('latin1'))
  }

  /** Whether JSON has one of the members at its place, and no null there. */
  standIn(json: Buffer): boolean {
    if (json.length <= PARSED) return this.standAt(parseJson(json.toString('utf8')))
    const values = new PlacedValues(this.#paths)
    values.push(json)
    return this.#paths.some((_, index) => isThere(values.value(index)))
  }

  /** The same of a parsed document. */
  standAt(document: unknown): boolean {
    return this.#paths.some(path => hasValue(document, path, 0))
  }
}

/** Undefined where something else ends such streams. */
export function endMembers(end: { readonly members?: readonly Path[] } | undefined): EndMembers | undefined {
  const { members = [] } = end ?? {}
  return members.length === 0 ? undefined : new EndMembers(members)
}

function hasValue(value: unknown, path: Path, depth: number): boolean {
  const name = path[depth]
  if (name === undefined) return isThere(value)
  const isList = Array.isArray(value)
  if (name === '*')
    return (isList || isObject(value)) && Object.values(value).some(one => hasValue(one, path, depth + 1))
  return !isList && isObject(value) && Object.hasOwn(value, name) && hasValue(value[name], path, depth + 1)
}

function isThere(value: unknown): boolean {
  return value !== null && value !== undefined
}
