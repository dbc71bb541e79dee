import type { AmountPaths, VerbAmounts } from '../core/amounts.js'
import type { VerbConfig } from '../core/config.js'
import { isObject, type Json } from '../core/json.js'
import { parsePath } from '../wire/json-path.js'

/** What the verbs of a target may change of what requests ask for; `paths`: of the protocol that it speaks. */
export function verbAmounts(list: readonly VerbConfig[], paths: AmountPaths | undefined): VerbAmounts | undefined {
  const steps = list.flatMap(step => Object.entries(step))
  const names = namesOf(paths)
  const isNamed = steps.some(([, args]) => wordsOf(args).some(word => names.has(parsePath(word)[0] ?? '')))
  const text = steps.reduce((sum, [verb, args]) => sum + (verb === 'set' || verb === 'default' ? textOf(args) : 0), 0)
  return isNamed || text > 0 ? { paths: isNamed ? paths : undefined, text } : undefined
}

function namesOf(paths: AmountPaths | undefined): ReadonlySet<string> {
  if (paths === undefined) return new Set()
  const { output, choices, images, characters, items, seconds } = paths
  return new Set([output, choices, images, characters, items, seconds].flat().map(([first = '']) => first))
}

/** What may be a path in the arguments of a verb. */
function wordsOf(args: Json): readonly string[] {
  if (typeof args === 'string') return [args]
  if (Array.isArray(args)) return args.flatMap(wordsOf)
  return isObject(args) ? Object.entries(args).flatMap(([name, value]) => [name, ...wordsOf(value)]) : []
}

/** Bytes of the texts in a value: no tokenizer makes more than one token of a byte. */
function textOf(value: Json): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + textOf(one), 0)
  return isObject(value) ? Object.values(value).reduce((sum: number, one) => sum + textOf(one), 0) : 0
}
