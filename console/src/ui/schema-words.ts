import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import type { EditorView, Tooltip } from '@codemirror/view'

/** As much of JSON Schema as says which words may come next. */
interface Schema {
  readonly $ref?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly then?: Schema
  readonly else?: Schema
  readonly definitions?: Readonly<Record<string, Schema>>
}

/** In place of a key: an item of a list. */
const ITEM = '-'
const MAX_DEPTH = 12
const KEY = /^((?:\s|- )*)["']?([\w.*?/-]+)["']?\s*:(?:\s|$)/

interface Place {
  readonly path: readonly string[]
  /** The key whose value is being written. */
  readonly key: string | undefined
  /** Where the word begins, in the line. */
  readonly from: number
}

let schema: Promise<Schema> | undefined

/** Keys and values that the schema of the file allows at the cursor. */
export async function schemaWords(context: CompletionContext): Promise<CompletionResult | null> {
  const { state, pos, explicit } = context
  const line = state.doc.lineAt(pos)
  const before = line.text.slice(0, pos - line.from)
  const place = placeOf(before, number => state.doc.line(number).text, line.number)
  if (place === undefined || (!explicit && place.from === before.length)) return null
  // It is larger than the editor, and most who look never type.
  schema ??= import('../../../schemas/gateway.schema.json').then(one => one.default as Schema)
  const root = await schema
  const path = place.key === undefined ? place.path : [...place.path, place.key]
  const found = foundAt(path, root)
  const options = place.key === undefined ? keysOf(found) : valuesOf(found)
  return options.length === 0 ? null : { from: line.from + place.from, options, validFor: /^[\w.-]*$/ }
}

/** What the schema says of the key under the pointer. */
export async function schemaWordAt({ state }: EditorView, at: number): Promise<Tooltip | null> {
  const line = state.doc.lineAt(at)
  const column = at - line.from
  const word = [...line.text.matchAll(/[\w.*?/-]+/g)].find(
    ({ index, 0: { length } }) => index <= column && column < index + length,
  )
  if (word === undefined) return null
  const place = placeOf(line.text.slice(0, word.index), number => state.doc.line(number).text, line.number)
  if (place === undefined || place.key !== undefined) return null
  schema ??= import('../../../schemas/gateway.schema.json').then(one => one.default as Schema)
  const root = await schema
  const path = [...place.path, word[0]]
  const found = foundAt(path, root)
  const description = found.find(one => one.description !== undefined)?.description
  if (description === undefined) return null
  const create = () => {
    const dom = document.createElement('div')
    dom.className = 'cm-word'
    const name = document.createElement('strong')
    name.textContent = path.filter(one => one !== ITEM).join('.')
    dom.append(name, ` ${description}`)
    return { dom }
  }
  return { pos: line.from + word.index, end: line.from + word.index + word[0].length, above: true, create }
}

function foundAt(path: readonly string[], root: Schema): readonly Schema[] {
  return path.reduce<readonly Schema[]>(
    (all, key) => all.flatMap(one => below(one, key)).flatMap(one => forms(one, root)),
    forms(root, root),
  )
}

/** What a schema may be, with its references followed. */
function forms(one: Schema, root: Schema, depth = 0): readonly Schema[] {
  if (depth > MAX_DEPTH) return []
  const name = one.$ref?.replace('#/definitions/', '')
  const to = name === undefined ? undefined : root.definitions?.[name]
  const others = [to, one.then, one.else, ...(one.anyOf ?? []), ...(one.oneOf ?? []), ...(one.allOf ?? [])]
  return [one, ...others.flatMap(other => (other === undefined ? [] : forms(other, root, depth + 1)))]
}

function below({ properties, additionalProperties, items }: Schema, key: string): readonly Schema[] {
  const next = key === ITEM ? items : (properties?.[key] ?? additionalProperties)
  return typeof next === 'object' ? [next] : []
}

function keysOf(found: readonly Schema[]): Completion[] {
  const all = new Map<string, Completion>()
  for (const { properties = {} } of found) {
    for (const [label, { description }] of Object.entries(properties))
      all.set(label, {
        ...{ label, type: 'property', apply: `${label}: ` },
        ...(description === undefined ? {} : { info: description }),
      })
  }
  return [...all.values()]
}

function valuesOf(found: readonly Schema[]): Completion[] {
  const isFlag = found.some(({ type }) => type === 'boolean' || (Array.isArray(type) && type.includes('boolean')))
  const words = [...found.flatMap(one => one.enum ?? []), ...(isFlag ? [true, false] : [])]
  return [...new Set(words.map(String))].map(label => ({ label, type: 'enum' }))
}

/** Where the cursor is: keys above it by their indentation, then those of braces on its own line. Undefined: in a comment. */
function placeOf(before: string, lineAt: (number: number) => string, number: number): Place | undefined {
  if (/(^|\s)#/.test(before)) return undefined
  const start = /^(?:\s|- )*/.exec(before)?.[0] ?? ''
  const path: string[] = []
  let indent = start.length
  if (start.includes('-')) path.unshift(ITEM)
  let edge = start.includes('-') ? start.indexOf('-') + 1 : indent
  for (let above = number - 1; above > 0 && edge > 0; above--) {
    const [, lead = '', key = ''] = KEY.exec(lineAt(above)) ?? []
    if (key === '' || lead.length >= edge) continue
    path.unshift(key)
    indent = lead.includes('-') ? lead.indexOf('-') : lead.length
    if (lead.includes('-')) path.unshift(ITEM)
    edge = lead.includes('-') ? indent + 1 : indent
  }
  return inBraces(before, start.length, path)
}

function inBraces(before: string, from: number, above: readonly string[]): Place {
  const open: (readonly string[])[] = []
  let path = above
  let key: string | undefined
  let word = from
  for (let at = from; at < before.length; at++) {
    const sign = before[at] ?? ''
    if (sign === ':' && /\s/.test(before[at + 1] ?? ' ')) key = before.slice(word, at).replaceAll(/["'\s]/g, '')
    else if (sign === '{' || sign === '[') {
      open.push(path)
      path = [...path, ...(key === undefined ? [] : [key]), ...(sign === '[' ? [ITEM] : [])]
      key = undefined
    } else if (sign === '}' || sign === ']') {
      path = open.pop() ?? path
      key = undefined
    } else if (sign === ',') key = undefined
    else if (!/\s/.test(sign)) continue
    word = at + 1
  }
  return { path, key, from: word }
}
