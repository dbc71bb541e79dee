import type { Ajv } from 'ajv'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import type { DocumentPath } from '../core/path-text.js'
import { quoted } from './report.js'

import { suggest } from './suggest.js'

/** Keywords of draft-07 that hold schemas: by name, in a list, or one. */
const NAMED = ['properties', 'patternProperties', 'definitions', '$defs', 'dependencies']
const LISTED = ['allOf', 'anyOf', 'oneOf', 'items']
const SINGLE = [
  'items',
  'additionalItems',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
]

/** What draft-07 has instead of keywords of other drafts, and of API descriptions. */
const COUNTERPARTS: Readonly<Record<string, string>> = {
  id: '$id',
  prefixItems: 'items',
  dependentRequired: 'dependencies',
  dependentSchemas: 'dependencies',
  unevaluatedProperties: 'additionalProperties',
  unevaluatedItems: 'additionalItems',
  $anchor: '$id',
  $recursiveRef: '$ref',
  $dynamicRef: '$ref',
  example: 'examples',
}

/** Keywords that say something only beside others. */
const IDLE: readonly (readonly [keyword: string, isIdle: (schema: JsonObject) => boolean, words: string])[] = [
  ['additionalItems', ({ items }) => !Array.isArray(items), 'has no effect unless items is a list of schemas'],
  ['if', schema => schema.then === undefined && schema.else === undefined, 'has no effect without "then" or "else"'],
  ['then', schema => schema.if === undefined, 'has no effect without "if"'],
  ['else', schema => schema.if === undefined, 'has no effect without "if"'],
  ['nullable', ({ type }) => type === undefined, 'has no effect without "type"'],
]

const DRAFT = 'http://json-schema.org/draft-07/schema'

interface Whole {
  readonly root: JsonObject
  readonly rules: Ajv['RULES']
  /** What `ajv` said. */
  readonly reason: string
  /** Identifiers that were met. */
  readonly ids: Set<string>
  /** Whether any schema in it has an identifier by which others may refer to it. */
  readonly hasIds: boolean
}

/** What `ajv` refuses without saying where: unknown and idle keywords, references that lead nowhere, broken patterns. */
export function keywordFaults(root: JsonObject, reason: string, rules: Ajv['RULES']): Iterable<SchemaFault> {
  return faultsIn(root, [], { root, rules, reason, ids: new Set(), hasIds: JSON.stringify(root).includes('"$id":') })
}

function* faultsIn(schema: Json | undefined, path: DocumentPath, whole: Whole): Generator<SchemaFault> {
  if (!isObject(schema)) return
  yield* ownFaults(schema, path, whole)
  for (const keyword of NAMED) {
    const schemas = schema[keyword]
    if (!isObject(schemas)) continue
    for (const [name, inner] of Object.entries(schemas)) {
      if (keyword === 'patternProperties') yield* patternFaults(name, [...path, keyword, name], 'key')
      yield* faultsIn(inner, [...path, keyword, name], whole)
    }
  }
  for (const keyword of LISTED) {
    const schemas = schema[keyword]
    if (!Array.isArray(schemas)) continue
    for (const [index, inner] of schemas.entries()) yield* faultsIn(inner, [...path, keyword, index], whole)
  }
  for (const keyword of SINGLE) yield* faultsIn(schema[keyword], [...path, keyword], whole)
}

function* ownFaults(schema: JsonObject, path: DocumentPath, whole: Whole): Generator<SchemaFault> {
  for (const keyword of Object.keys(schema)) yield* unknownFaults(keyword, [...path, keyword], whole)
  for (const [keyword, isIdle, words] of IDLE) {
    if (schema[keyword] === undefined || !isIdle(schema)) continue
    yield { path: [...path, keyword], message: `"${keyword}" ${words}`, on: 'key' }
  }
  const { $id, $ref, pattern } = schema
  if ($id !== undefined) yield* idFaults($id, [...path, '$id'], whole)
  if (typeof pattern === 'string') yield* patternFaults(pattern, [...path, 'pattern'], 'value')
  if (typeof $ref === 'string') yield* referenceFaults($ref, [...path, '$ref'], whole)
}

function* unknownFaults(keyword: string, path: DocumentPath, { rules }: Whole): Generator<SchemaFault> {
  // `ajv` has a rule for `id`, which is to refuse it.
  const isKnown = Object.hasOwn(rules.all, keyword) || Object.hasOwn(rules.keywords, keyword)
  if (isKnown && keyword !== 'id') return
  const known = Object.keys(rules.keywords).filter(name => rules.keywords[name] && name !== keyword)
  const message = `unknown keyword ${quoted(keyword)}; draft-07 does not have it`
  const meant = Object.hasOwn(COUNTERPARTS, keyword) ? COUNTERPARTS[keyword] : suggest(keyword, known)
  yield { path, message, meant, on: 'key' }
}

function* patternFaults(pattern: string, path: DocumentPath, on: 'key' | 'value'): Generator<SchemaFault> {
  try {
    new RegExp(pattern, 'u')
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(': ').at(-1) ?? '') : ''
    yield { path, on, message: `this is not a regular expression: ${reason.toLowerCase()}` }
  }
}

function* idFaults($id: Json, path: DocumentPath, { ids }: Whole): Generator<SchemaFault> {
  if (typeof $id !== 'string') yield { path, message: '$id has to be a string' }
  else if (ids.has($id)) yield { path, message: 'another schema has the same $id' }
  else ids.add($id)
}

function* referenceFaults($ref: string, path: DocumentPath, whole: Whole): Generator<SchemaFault> {
  if ($ref === '#' || $ref.startsWith(DRAFT)) return
  if ($ref.startsWith('#/')) {
    if (!leadsSomewhere($ref, whole.root))
      yield { path, message: `this $ref leads nowhere: there is no ${$ref} in this schema` }
  } else if (!whole.hasIds || whole.reason.startsWith(`can't resolve reference ${$ref} from id`)) {
    const cure = 'a schema can refer only to parts of itself, such as #/definitions/NAME'
    yield { path, message: `this $ref leads nowhere: ${cure}` }
  }
}

function leadsSomewhere(pointer: string, root: JsonObject): boolean {
  let at: Json | undefined = root
  for (const segment of pathIn(root, pointer.slice(1))) at = member(at, String(segment))
  return at !== undefined
}

/** The path of what a JSON pointer leads to in a schema. */
export function pathIn(schema: JsonObject, pointer: string): DocumentPath {
  let at: Json | undefined = schema
  return pointer
    .split('/')
    .slice(1)
    .map(part => {
      const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
      const segment = Array.isArray(at) ? Number(name) : name
      at = member(at, name)
      return segment
    })
}

/** A text with a % that begins no escape stands for itself. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function member(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(name)]
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

export interface SchemaFault {
  readonly path: DocumentPath
  readonly message: string
  readonly meant?: string | undefined
  /** Whether the name of the member is at fault, and not its value, which is usual. */
  readonly on?: 'key' | 'value'
}
