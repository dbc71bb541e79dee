import { COLON } from '../core/ascii.js'
import { isObject, parseJson } from '../core/json.js'
import { startsAt } from './bytes.js'
import type { Path } from './json-path.js'
import { PlacedValues } from './placed-values.js'

/** Longest JSON, in bytes, that is parsed; of longer ones the declared places alone are read. */
const MAX_PARSED_BYTES = 16 * 1024
const NULL = Buffer.from('null')

/** Places of members without which a stream is not whole, where its protocol has no event that ends it: one stands in some message. */
export class EndMembers {
  readonly #paths: readonly Path[]
  readonly #keys: readonly Buffer[]

  /** Of a path, `*` is any element of an array or any member of an object; the last name of each is a plain identifier. */
  constructor(paths: readonly Path[]) {
    this.#paths = paths
    this.#keys = [...new Set(paths.map(path => `"${path.at(-1)}"`))].map(key => Buffer.from(key))
  }

  /** A quick look that says no to almost every message: whether a member of such a name, not null, stands anywhere in it. */
  mayStandIn(message: Buffer): boolean {
    for (const key of this.#keys) {
      for (let at = message.indexOf(key); at >= 0; at = message.indexOf(key, at)) {
        at += key.length
        const colon = afterSpace(message, at)
        if (message[colon] === COLON && !startsAt(message, afterSpace(message, colon + 1), NULL)) return true
      }
    }
    return false
  }

  /** Whether JSON has one of the members at its place, and no null there. */
  standIn(json: Buffer): boolean {
    if (json.length <= MAX_PARSED_BYTES) return this.standAt(parseJson(json.toString('utf8')))
    const values = new PlacedValues(this.#paths)
    values.push(json)
    return this.#paths.some((_, index) => isThere(values.value(index)))
  }

  /** The same of a parsed document. */
  standAt(document: unknown): boolean {
    return this.#paths.some(path => hasValue(document, path, 0))
  }
}

/** Of JSON, or of the lines of an event that hold it. */
function afterSpace(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || (bytes[at] ?? 0xff) <= 0x0d) at++
  return at
}

const CACHE = new WeakMap<readonly Path[], EndMembers>()

/** Made once for each protocol; undefined where something else ends such streams. */
export function endMembers(end: { readonly members?: readonly Path[] } | undefined): EndMembers | undefined {
  const { members = [] } = end ?? {}
  if (members.length === 0) return undefined
  const known = CACHE.get(members)
  if (known !== undefined) return known
  const made = new EndMembers(members)
  CACHE.set(members, made)
  return made
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
