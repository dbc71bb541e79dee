import type { VerbConfig } from '../core/config.js'
import { isObject, type Json } from '../core/json.js'
import { areRulesWatched, ruleUsed } from '../core/rule-watch.js'
import type { FormChanges, FormTransform } from '../core/transform.js'
import { passes, type Test } from '../core/when.js'
import { type Path, parsePath } from '../wire/json-path.js'
import { fieldOf, isField, members, refuse, textFault, textVerb } from './form-text-verbs.js'
import { isShaping } from './shape.js'
import { MAX_VALUE_BYTES, testOf } from './when-verb.js'

/**
 * The verbs of a list for forms, one after the other; `undefined` where there are none. A form has fields and no members
 * inside them but for those that names write in brackets, which are removed and kept, and not moved. What would make a
 * member cannot be said, as {@link formFault} tells. Requests for which such a verb is declared are refused, because to leave it out would be to ignore it.
 */
export function compileFormVerbs(list: readonly VerbConfig[]): FormTransform | undefined {
  const steps = list
    .filter(verb => !isShaping(verb) || formFault(verb) !== undefined)
    .flatMap(step => {
      const changes = Object.entries(step).flatMap(([name, args]) => compileVerb(name, args))
      return areRulesWatched() && changes.length > 0 ? [...changes, () => ruleUsed(step)] : changes
    })
  if (steps.length === 0) return undefined
  return form => {
    for (const step of steps) step(form)
  }
}

/** Why a form cannot say what a verb does; `undefined` where it can. */
export function formFault(verb: VerbConfig): string | undefined {
  for (const [name, args] of Object.entries(verb)) {
    if (name === 'wrap') return 'wrap makes an object, and a form has none: rename its fields, or write forms: json'
    const fault = textFault(name, args) ?? (name === 'when' ? branchFault(args) : undefined)
    if (fault !== undefined) return fault
    if (name !== 'set' && name !== 'default' && name !== 'rename' && name !== 'alias') continue
    for (const [path, value] of members(args)) {
      const target = name === 'rename' || name === 'alias' ? String(value) : path
      if (isField(path) && !isField(target)) return `a form has no nested members, such as  ${target}`
      if (target === path && !isField(path)) return `a form has no nested members, such as  ${path}`
      if (target === path && typeof value === 'object') return `the field ${path} of a form must be a string`
    }
  }
  return undefined
}

/** The same of the verbs that a condition decides about. */
function branchFault(args: Json): string | undefined {
  const branches = isObject(args) ? [args.do, args.else] : []
  for (const verb of branches.flatMap(branch => (Array.isArray(branch) ? (branch as readonly VerbConfig[]) : []))) {
    const fault = formFault(verb)
    if (fault !== undefined) return fault
  }
  return undefined
}

function compileVerb(name: string, args: Json): readonly FormTransform[] {
  if (formFault({ [name]: args }) !== undefined) return [refuse]
  switch (name) {
    case 'set':
      return members(args).map(
        ([path, value]) =>
          form =>
            form.set(fieldOf(path), String(value)),
      )
    case 'default':
      return members(args).map(([path, value]) => form => {
        if (!form.has(fieldOf(path))) form.set(fieldOf(path), String(value))
      })
    case 'rename':
      return moves(args).map(
        ([from, to]) =>
          form =>
            form.rename(from, to),
      )
    case 'alias':
      return moves(args).map(([from, to]) => form => {
        if (form.has(to)) form.remove([from])
        else form.rename(from, to)
      })
    case 'list':
      return paths(args).map(
        ([field = '']) =>
          form =>
            form.list(field),
      )
    case 'remove':
      return paths(args).map(path => form => form.remove(path))
    // A field is a text, regardless of what the text says.
    case 'cast':
      return []
    case 'keep':
      return [form => form.keep(paths(args))]
    case 'when':
      return [whenField(args)]
    default:
      return textVerb(name, args)
  }
}

/** Between fields; what is inside one is nowhere in a form. */
function moves(args: Json): readonly (readonly [string, string])[] {
  return members(args)
    .filter(([from]) => isField(from))
    .map(([from, to]) => [fieldOf(from), fieldOf(String(to))])
}

function paths(args: Json): readonly Path[] {
  return Array.isArray(args) ? args.map(String).map(parsePath) : []
}

/** One of two lists of verbs, by what fields say. */
function whenField(args: Json): FormTransform {
  if (!isObject(args) || !isObject(args.if)) throw new TypeError('if and do')
  const tests = members(args.if).map(([path, test]): readonly [string, Test] => [fieldOf(path), testOf(test)])
  const listOf = (list: Json | undefined): FormTransform | undefined =>
    Array.isArray(list) ? compileFormVerbs(list as readonly VerbConfig[]) : undefined
  const [yes, no] = [listOf(args.do), listOf(args.else)]
  return form => {
    if (!tests.every(([name, test]) => passes(test, fieldValue(form, name)))) {
      no?.(form)
      return
    }
    ruleUsed(args)
    yes?.(form)
  }
}

/** As conditions read it: files, repeated fields and long texts are there, and equal nothing. */
function fieldValue(form: FormChanges, name: string): unknown {
  const [value] = form.values(name)
  if (value === undefined || form.isList(name)) return form.has(name) ? {} : undefined
  return Buffer.byteLength(value) > MAX_VALUE_BYTES ? {} : value
}
