import { COLON } from '../core/ascii.js'
import { isObject, parseJson } from '../core/json.js'
import { startsAt } from './bytes.js'
import type { Path } from './json-path.js'
import { PlacedValues } from './placed-values.js'

/** Longer JSON is not parsed: only the declared paths are read. */
const MAX_PARSED_BYTES = 16 * 1024
const NULL = Buffer.from('null')

/** The members that make a stream complete, for protocols without an end event. At least one must appear in some message. */
export class EndMembers {
  readonly #paths: readonly Path[]
  readonly #keys: readonly Buffer[]

  /** In paths, `*` is any array element or object member; the last name of each path is a plain identifier. */
  constructor(paths: readonly Path[]) {
    this.#paths = paths
    this.#keys = [...new Set(paths.map(path => `"${path.at(-1)}"`))].map(key => Buffer.from(key))
  }

  /** Fast check that rules out almost every message: whether a non-null member with one of the names occurs anywhere in it. */
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

  /** Whether JSON has a non-null value at one of the paths. */
  standIn(json: Buffer): boolean {
    if (json.length <= MAX_PARSED_BYTES) return this.standAt(parseJson(json.toString('utf8')))
    const values = new PlacedValues(this.#paths)
    values.push(json)
    return this.#paths.some((_, index) => isThere(values.value(index)))
  }

  /** The same for a parsed document. */
  standAt(document: unknown): boolean {
    return this.#paths.some(path => hasValue(document, path, 0))
  }
}

/** `bytes` are JSON, or the lines of an event that contain it. */
function afterSpace(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || (bytes[at] ?? 0xff) <= 0x0d) at++
  return at
}

const CACHE = new WeakMap<readonly Path[], EndMembers>()

/** Built once per protocol; undefined if the protocol ends its streams in another way. */
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
