import type { Ajv, ErrorObject } from 'ajv'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import type { DocumentPath } from '../core/path-text.js'
import { quoted } from './report.js'
import { messageOf, series, shown } from './schema-words.js'
import { suggest } from './suggest.js'

/** A schema that cannot be used: where in it, and why, in words for its author. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  readonly path: DocumentPath
  readonly meant: string | undefined
  /** Whether the name of the member is at fault, not its value. */
  readonly on: 'key' | 'value'

  constructor(message: string, path: DocumentPath, { meant, on = 'value' }: Pick<Fault, 'meant' | 'on'> = {}) {
    super(message)
    this.path = path
    this.meant = meant
    this.on = on
  }
}

interface Fault {
  readonly path: DocumentPath
  readonly message: string
  readonly meant?: string | undefined
  readonly on?: 'key' | 'value'
}

/** Keywords of draft-07 that hold schemas: by name, in a list, or one. */
const NAMED = ['properties', 'patternProperties', 'definitions', 'dependencies']
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

/** What is wrong with a schema that `ajv` could not compile: `thrown` is what it threw. */
export function schemaFault(thrown: unknown, schema: JsonObject, ajv: Ajv): SchemaError {
  const reason = thrown instanceof Error ? thrown.message : String(thrown)
  if (reason.startsWith('no schema with key or ref'))
    return new SchemaError(`only draft-07 is understood, not ${JSON.stringify(schema.$schema)}`, ['$schema'])
  const fault = misfit(ajv.errors ?? [], schema) ?? first(faultsIn(schema, [], { root: schema, ajv }))
  if (fault === undefined) return new SchemaError(reason.replace(/^strict mode: /, ''), [], { on: 'key' })
  return new SchemaError(fault.message, fault.path, fault)
}

function first<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item
  return undefined
}

/** What draft-07 says of its own keywords. Of the branches of a choice, a list of words says most. */
function misfit(errors: readonly ErrorObject[], schema: JsonObject): Fault | undefined {
  const told = errors.filter(({ keyword }) => !/^(anyOf|oneOf|allOf|if)$/.test(keyword))
  const error = told.find(({ keyword, data }) => keyword === 'enum' && typeof data === 'string') ?? told[0]
  if (error === undefined) return undefined
  const path = pathIn(schema, error.instancePath)
  if (error.keyword !== 'enum') return { path, message: messageOf(error) }
  const allowed: readonly string[] = error.params.allowedValues
  const message = `expected ${series(allowed)}, but found ${shown(error.data)}`
  return { path, message, meant: suggest(String(error.data), allowed) }
}

function pathIn(schema: JsonObject, pointer: string): DocumentPath {
  let at: Json | undefined = schema
  return pointer
    .split('/')
    .slice(1)
    .map(part => {
      const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
      const segment = Array.isArray(at) ? Number(name) : name
      at = member(at, name)
      return segment
    })
}

function member(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(name)]
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

interface Whole {
  readonly root: JsonObject
  readonly ajv: Ajv
}

/** What `ajv` refuses without saying where: unknown keywords, references that lead nowhere, broken patterns. */
function* faultsIn(schema: Json | undefined, path: DocumentPath, whole: Whole): Generator<Fault> {
  if (!isObject(schema)) return
  yield* keywordFaults(schema, path, whole)
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

function* keywordFaults(schema: JsonObject, path: DocumentPath, { root, ajv }: Whole): Generator<Fault> {
  const { RULES } = ajv
  for (const keyword of Object.keys(schema)) {
    if (Object.hasOwn(RULES.all, keyword) || Object.hasOwn(RULES.keywords, keyword)) continue
    const known = Object.keys(RULES.keywords).filter(name => RULES.keywords[name])
    yield {
      path: [...path, keyword],
      message: `unknown keyword ${quoted(keyword)}; draft-07 has no such thing`,
      meant: suggest(keyword, known),
      on: 'key',
    }
  }
  const { $ref, pattern } = schema
  if (typeof pattern === 'string') yield* patternFaults(pattern, [...path, 'pattern'], 'value')
  if (typeof $ref === 'string' && $ref.startsWith('#/') && !leadsSomewhere($ref, root)) {
    yield { path: [...path, '$ref'], message: `this $ref leads nowhere: there is no ${$ref} in this schema` }
  }
}

function* patternFaults(pattern: string, path: DocumentPath, on: 'key' | 'value'): Generator<Fault> {
  try {
    new RegExp(pattern, 'u')
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(': ').at(-1) ?? '') : ''
    yield { path, on, message: `this is no regular expression: ${reason.toLowerCase()}` }
  }
}

function leadsSomewhere(pointer: string, root: JsonObject): boolean {
  let at: Json | undefined = root
  for (const segment of pathIn(root, pointer.slice(1))) at = member(at, String(segment))
  return at !== undefined
}
