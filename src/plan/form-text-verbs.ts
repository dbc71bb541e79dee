import { isObject, type Json } from '../core/json.js'
import type { FormChanges, FormTransform } from '../core/transform.js'
import { EVERY, parsePath } from '../wire/json-path.js'
import { filled, piecesOf, recoded } from './text-verbs.js'
import { MAX_VALUE_BYTES } from './value-verbs.js'

// Verbs that make the texts of a form's fields of what is there. A field that occurs several times is a list.

const TEXT_VERBS: Readonly<Record<string, (name: string, argument: Json) => FormTransform>> = {
  template: (name, written) => {
    const pieces = piecesOf(String(written))
    return form => {
      const made = filled(pieces, ([field = '']) => textOf(form, field))
      if (made !== undefined) form.set(name, made)
    }
  },
  append: (name, value) => form => {
    const text = textOf(form, name)
    const [first, ...more] = form.values(name)
    if (text !== undefined && typeof value === 'string') form.set(name, text + value)
    else if (more.length > 0 || (first === undefined && !form.has(name))) form.add(name, String(value))
  },
  join: (name, separator) => form => {
    const texts = form.values(name).filter(text => text !== undefined)
    if (texts.length > 1 && texts.length === form.values(name).length) form.set(name, texts.join(String(separator)))
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
  return members(args).map(([path, argument]) => compile(fieldOf(path), argument))
}

/** Why a form cannot say what such a verb does; `undefined` where it can, or for other verbs. */
export function textFault(verb: string, args: Json): string | undefined {
  const fields = verb === 'when' && isObject(args) ? members(args.if ?? {}) : members(args)
  if (verb !== 'when' && TEXT_VERBS[verb] === undefined) return undefined
  for (const [path, argument] of fields) {
    const nested = [path, ...pathsIn(verb, argument)].find(one => !isField(one))
    if (nested !== undefined) return `a form has no nested members, such as  ${nested}`
    const values = verb === 'map' && isObject(argument) ? Object.values(argument) : verb === 'append' ? [argument] : []
    if (values.some(value => typeof value === 'object')) return `the field ${path} of a form must be a string`
  }
  return undefined
}

/** Other fields that the verb reads or writes. */
function pathsIn(verb: string, argument: Json): readonly string[] {
  if (verb === 'split' && isObject(argument) && Array.isArray(argument.into)) return argument.into.map(String)
  if (verb !== 'template') return []
  return piecesOf(String(argument)).flatMap(piece =>
    typeof piece === 'string' ? [] : [piece.map(one => one.replaceAll('.', '\\.')).join('.')],
  )
}

/** What a text field says that occurs once. */
function textOf(form: FormChanges, name: string): string | undefined {
  const [text, ...more] = form.values(name)
  return more.length === 0 ? text : undefined
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
