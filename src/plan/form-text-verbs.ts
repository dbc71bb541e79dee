import { GatewayError } from '../core/errors.js'
import { isObject, type Json } from '../core/json.js'
import type { FormChanges, FormTransform } from '../core/transform.js'
import { EVERY, parsePath } from '../wire/json-path.js'
import { opaqueText } from './mask-verb.js'
import { filled, piecesOf, recoded } from './text-verbs.js'
import { MAX_VALUE_BYTES } from './value-verbs.js'

// Verbs that make the texts of a form's fields of what is there. A field that occurs several times is a list.

/** `index`: of an element, where the path has one. */
type TextVerb = (name: string, argument: Json, index: number) => FormTransform

const TEXT_VERBS: Readonly<Record<string, TextVerb>> = {
  template: (name, written) => {
    const pieces = piecesOf(String(written))
    return form => {
      const made = filled(pieces, ([field = '']) => textOf(form, field))
      if (made !== undefined) form.set(name, made)
    }
  },
  append: (name, value) => form => {
    const text = textOf(form, name)
    if (text !== undefined && typeof value === 'string') form.set(name, text + value)
    else if (form.isList(name)) form.add(name, String(value))
    else if (!form.has(name)) {
      form.add(name, String(value))
      form.list(name)
    }
  },
  insert: (name, value, index) => form => {
    if (form.isList(name)) form.add(name, String(value), index)
  },
  join: (name, separator) => form => {
    const texts = form.values(name)
    if (form.isList(name) && !texts.includes(undefined)) form.set(name, texts.join(String(separator)))
  },
  mask: (name, colour) => form => {
    // A file stays on the disk as it is sent: verbs see texts.
    if (form.values(name).includes(undefined)) refuse()
    const text = textOf(form, name)
    const changed = text === undefined ? undefined : opaqueText(text, colour)
    if (changed !== undefined) form.set(name, changed)
  },
  base64: (name, direction) => {
    const change = recoded(direction)
    return form => {
      const text = textOf(form, name)
      const changed = text === undefined ? undefined : change(text)
      if (changed !== undefined) form.set(name, changed)
    }
  },
  map: (name, table) => form => {
    const text = shortText(form, name)
    const value = text !== undefined && isObject(table) && Object.hasOwn(table, text) ? table[text] : undefined
    if (value !== undefined) form.set(name, String(value))
  },
  only: (name, list) => {
    const known = new Set(Array.isArray(list) ? list.map(String) : [])
    return form => {
      const text = shortText(form, name)
      if (form.has(name) && (text === undefined || !known.has(text))) form.remove([name])
    }
  },
  split: (name, how) => {
    const { at, into } = isObject(how) ? how : {}
    const targets = Array.isArray(into) ? into.map(path => fieldOf(String(path))) : []
    return form => {
      const parts = textOf(form, name)?.split(String(at)) ?? []
      if (parts.length !== targets.length) return
      form.remove([name])
      for (const [index, target] of targets.entries()) form.set(target, parts[index] ?? '')
    }
  },
}

/** A step for each field that the verb names. */
export function textVerb(verb: string, args: Json): readonly FormTransform[] {
  const compile = TEXT_VERBS[verb]
  if (compile === undefined) throw new TypeError(`unknown verb ${verb}`)
  return members(args).map(([path, argument]) => compile(fieldOf(path), argument, Number(parsePath(path)[1])))
}

/** Why a form cannot say what such a verb does; `undefined` where it can, or for other verbs. */
export function textFault(verb: string, args: Json): string | undefined {
  if (!OF_FIELDS.has(verb) && TEXT_VERBS[verb] === undefined) return undefined
  const fields = verb === 'when' && isObject(args) ? members(args.if ?? {}) : members(args)
  const listed = Array.isArray(args) ? args.map((path): readonly [string, Json] => [String(path), null]) : []
  for (const [path, argument] of [...fields, ...listed]) {
    const nested = pathsIn(verb, path, argument).find(one => !isField(one))
    if (nested !== undefined) return `a form has no nested members, such as  ${nested}`
    const values = verb === 'map' && isObject(argument) ? Object.values(argument) : ADDING.has(verb) ? [argument] : []
    if (values.some(value => typeof value === 'object')) return `the field ${path} of a form must be a string`
  }
  return undefined
}

/** Other verbs whose paths are fields, and those that add an element. */
const OF_FIELDS = new Set(['when', 'list', 'take'])
const ADDING = new Set(['append', 'insert'])

/** The fields that the verb reads or writes. */
function pathsIn(verb: string, path: string, argument: Json): readonly string[] {
  if (verb === 'take') return [String(argument)]
  if (verb === 'insert') return [path.slice(0, path.lastIndexOf('.'))]
  return [path, ...furtherPaths(verb, argument)]
}

function furtherPaths(verb: string, argument: Json): readonly string[] {
  if (verb === 'split' && isObject(argument) && Array.isArray(argument.into)) return argument.into.map(String)
  if (verb !== 'template') return []
  return piecesOf(String(argument)).flatMap(piece =>
    typeof piece === 'string' ? [] : [piece.map(one => one.replaceAll('.', '\\.')).join('.')],
  )
}

/** What a text field says that occurs once. */
function textOf(form: FormChanges, name: string): string | undefined {
  return form.isList(name) ? undefined : form.values(name)[0]
}

/** Refuses a request for what its form cannot say. */
export function refuse(): never {
  const message = 'The changes that are declared for this model cannot be applied to a form.'
  throw new GatewayError('untranslatable', message)
}

function shortText(form: FormChanges, name: string): string | undefined {
  const text = textOf(form, name)
  return text === undefined || Buffer.byteLength(text) > MAX_VALUE_BYTES ? undefined : text
}

export function members(args: Json): readonly (readonly [string, Json])[] {
  return isObject(args) ? Object.entries(args) : []
}

export function isField(path: string): boolean {
  return parsePath(path).length === 1 && path !== EVERY
}

export function fieldOf(path: string): string {
  return parsePath(path)[0] ?? ''
}
