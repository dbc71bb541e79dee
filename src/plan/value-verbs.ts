import { QUOTE } from '../core/ascii.js'
import { isObject, type Json, parseJson } from '../core/json.js'
import type { Transform } from '../core/transform.js'
import { asBuffer } from '../wire/bytes.js'
import {
  changeValues,
  findValue,
  type Path,
  parsePath,
  removeMember,
  removeWhere,
  setValue,
  within,
} from '../wire/json-edit.js'
import { starsOf } from '../wire/json-path.js'
import { chain, members, type Verb } from './verb.js'

/** Longest value that these verbs look at, bytes: they ignore longer ones. */
export const MAX_VALUE_BYTES = 4096

/** `{ path: type }`: writes the number or text that is there as the other one, where it can be. */
export const cast: Verb = {
  name: 'cast',
  compile: args => each(args, type => (value, written) => castTo(type, value, written)),
}

/** `{ path: { text: value } }`: replaces the text by the value. */
export const map: Verb = {
  name: 'map',
  compile: args =>
    each(args, table => {
      if (!isObject(table)) throw new TypeError('a mapping was expected')
      const values = new Map(Object.entries(table))
      return value => (typeof value === 'string' || typeof value === 'number' ? values.get(String(value)) : undefined)
    }),
}

/** `{ path: [values] }`: takes the value out that is there unless it is one of these. */
export const only: Verb = {
  name: 'only',
  compile: args => {
    const steps = members(args).map(([dotted, list]): Transform => {
      if (!Array.isArray(list)) throw new TypeError('a list was expected')
      const path = parsePath(dotted)
      const known = new Set<unknown>(list)
      return document =>
        removeWhere(document, path, bytes => {
          return bytes.length > MAX_VALUE_BYTES || !known.has(parseJson(bytes.toString('utf8')))
        })
    })
    return chain(steps)
  },
}

/** `{ path: { at, into } }`: cuts the text that is there and puts its parts at other paths. */
export const split: Verb = {
  name: 'split',
  compile: args =>
    chain(
      members(args).map(([dotted, how]): Transform => {
        const from = parsePath(dotted)
        if (!isObject(how) || typeof how.at !== 'string' || !Array.isArray(how.into)) throw new TypeError('at and into')
        const stars = starsOf(from)
        const [mark, into] = [how.at, how.into.map(path => parsePath(String(path)).slice(stars))]
        return document => within(document, from, (part, rest) => splitText(part, rest, mark, into))
      }),
    ),
}

function splitText(part: Uint8Array, from: Path, mark: string, into: readonly Path[]): Uint8Array {
  const found = findValue(part, from)
  if (found === undefined || part[found.start] !== QUOTE) return part
  // Texts of any length: data URLs are cut, too.
  const value = parseJson(asBuffer(part).toString('utf8', found.start, found.end))
  const parts = typeof value === 'string' ? value.split(mark) : []
  if (parts.length !== into.length) return part
  return into.reduce<Uint8Array>(
    (bytes, path, index) => setValue(bytes, path, JSON.stringify(parts[index]), 'always'),
    removeMember(part, from),
  )
}

/** `written`: the value as written in the document. */
type Change = (value: Json, written: string) => Json | undefined

function each(args: Json, changeOf: (argument: Json) => Change): Transform {
  const steps = members(args).map(([dotted, argument]): Transform => {
    const path = parsePath(dotted)
    const change = changeOf(argument)
    return document =>
      changeValues(document, path, bytes => {
        if (bytes.length > MAX_VALUE_BYTES) return undefined
        const written = bytes.toString('utf8')
        const value = parseJson(written)
        const next = value === undefined ? undefined : change(value, written)
        return next === undefined || next === value ? undefined : JSON.stringify(next)
      })
  })
  return chain(steps)
}

/** Undefined where it cannot be the other one. */
function castTo(type: Json, value: Json, written: string): Json | undefined {
  if (type === 'string') return typeof value === 'number' ? textOf(value, written) : undefined
  const number = typeof value === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value
  if (typeof number !== 'number') return undefined
  return type === 'integer' ? Math.round(number) : number
}

/** Of a number with more digits than a double holds, an id perhaps, none is lost. */
function textOf(value: number, written: string): string {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? written : String(value)
}
