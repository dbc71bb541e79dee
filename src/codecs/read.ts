import { GatewayError } from '../core/errors.js'
import { parseExact, readExact } from '../core/exact-json.js'
import { ExactNumber, isObject, type Json, type JsonObject } from '../core/json.js'
import type { Left } from '../core/text.js'

/**
 * Reads members of a client's document. `null` counts as absent. A member of another type is an `invalid_parameter` that
 * names it; `at` is the path of the object, empty for the body itself.
 */
export class Reader {
  readonly value: JsonObject
  readonly at: string

  constructor(value: JsonObject, at = '') {
    this.value = value
    this.at = at
  }

  path(name: string): string {
    return this.at === '' ? name : `${this.at}.${name}`
  }

  has(name: string): boolean {
    return Object.hasOwn(this.value, name) && this.value[name] !== null && this.value[name] !== undefined
  }

  raw(name: string): Json | undefined {
    return this.has(name) ? this.value[name] : undefined
  }

  string(name: string): string | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'string') return value
    throw invalid(this.path(name), 'expected a string')
  }

  number(name: string): number | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'number') return value
    if (value instanceof ExactNumber) return value.value
    throw invalid(this.path(name), 'expected a number')
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw invalid(this.path(name), 'expected a boolean')
  }

  object(name: string): Reader | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (!isObject(value)) throw invalid(this.path(name), 'expected an object')
    return new Reader(value, this.path(name))
  }

  array(name: string): readonly Json[] | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (!Array.isArray(value)) throw invalid(this.path(name), 'expected an array')
    return value as readonly Json[]
  }

  /** Elements of an array, which all have to be objects. */
  objects(name: string): readonly Reader[] | undefined {
    return this.array(name)?.map((value, i) => {
      const at = `${this.path(name)}[${i}]`
      if (!isObject(value)) throw invalid(at, 'expected an object')
      return new Reader(value, at)
    })
  }

  strings(name: string): readonly string[] | undefined {
    return this.array(name)?.map((value, i) => {
      if (typeof value !== 'string') throw invalid(`${this.path(name)}[${i}]`, 'expected a string')
      return value
    })
  }

  required(name: string): string {
    const value = this.string(name)
    if (value === undefined) throw invalid(this.path(name), 'it is required')
    return value
  }
}

/** `messages[0].role`: `param` and the beginning of the message. */
export function invalid(param: string, why: string): GatewayError {
  return new GatewayError('invalid_parameter', `Invalid '${param}': ${why}.`, { param })
}

/** The member where it is a string, a number, an object, …: for upstreams' documents, which are read leniently. */
export function stringOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function numberOf(value: Json | undefined): number | undefined {
  const number = value instanceof ExactNumber ? value.value : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

export function objectOf(value: Json | undefined): JsonObject | undefined {
  return isObject(value) ? value : undefined
}

export function arrayOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

/** A count of tokens: a whole number from 0 on; anything else is not a count (F-U24). */
export function countOf(value: Json | undefined): number | undefined {
  const number = numberOf(value)
  return Number.isSafeInteger(number) && (number ?? -1) >= 0 ? number : undefined
}

type Members = Readonly<Record<string, Json | undefined>>

/** One object of the members of all, but those that are undefined. Cheaper than spreading them: requests are hot. */
export function compact(...groups: readonly Members[]): JsonObject {
  const out: Record<string, Json> = {}
  for (const members of groups) {
    for (const name in members) {
      const value = members[name]
      if (value !== undefined) out[name] = value
    }
  }
  return out
}

/** The latest word for each of these members; what is said of others is not kept. */
export function latest(names: readonly string[], before: JsonObject, now: JsonObject): JsonObject {
  return compact(Object.fromEntries(names.map(name => [name, now[name] ?? before[name]])))
}

/** The text as a JSON object; `''` is `{}`; undefined where it is not one. */
export function parseObject(text: string): JsonObject | undefined {
  if (text.trim() === '') return {}
  const value = readExact(text)
  return isObject(value) ? value : undefined
}

export function badUpstream(what: string): GatewayError {
  return new GatewayError('bad_upstream_response', `The upstream sent a malformed answer. ${what}`, {
    phase: 'content',
  })
}

export function truncated(): GatewayError {
  return new GatewayError('upstream_truncated', "The upstream's answer ended early.", {
    phase: 'content',
  })
}

/** The document of an event. Throws `bad_upstream_response`. */
export function parseEvent(data: string): JsonObject {
  let event: unknown
  try {
    event = parseExact(data)
  } catch {
    throw badUpstream('An event of the stream is not JSON.')
  }
  if (!isObject(event)) throw badUpstream('An event of the stream is not an object.')
  return event
}

/** The tokens that an answer counts in this member. Throws `bad_upstream_response`. */
export function tokensIn(body: Json, name: string): number {
  const tokens = countOf(objectOf(body)?.[name])
  if (tokens === undefined) throw badUpstream(`It has no ${name}.`)
  return tokens
}

type Given<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** The members that are not undefined. */
export function given<T extends object>(members: T): Given<T> {
  return compact(members as Members) as Given<T>
}

export const UNKNOWN = 'the protocol has no such member'

/** Names every member that is neither known nor empty as left; `why` has the reasons of those that it knows. */
export function leaveOthers(
  reader: Reader,
  known: ReadonlySet<string>,
  left: Left[],
  why: Readonly<Record<string, string>> = {},
): void {
  for (const name of Object.keys(reader.value)) {
    if (known.has(name) || isEmpty(reader.value[name])) continue
    left.push({ field: reader.path(name), why: (Object.hasOwn(why, name) ? why[name] : undefined) ?? UNKNOWN })
  }
}

function isEmpty(value: Json | undefined): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0)
}

/** Deepest nesting of values that pass through as they are. */
const MAX_DEPTH = 512

/** Whether a value can be written as JSON without exhausting the stack. Iterative, for values that anyone may send. */
export function isBounded(value: Json): boolean {
  let level: readonly Json[] = [value]
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    const next: Json[] = []
    for (const one of level) {
      const inner = Array.isArray(one) ? (one as readonly Json[]) : isObject(one) ? Object.values(one) : []
      for (const each of inner) if (typeof each === 'object' && each !== null) next.push(each)
    }
    if (next.length === 0) return true
    level = next
  }
  return false
}
