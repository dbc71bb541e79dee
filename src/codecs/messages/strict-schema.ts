import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { arrayOf } from '../read.js'
import { refuse } from './names.js'

/** Deepest schema that is rewritten. */
const MAX_DEPTH = 64

/** Keywords that stay as they are where the service checks answers by a schema. */
const KEPT = new Set(['type', 'enum', 'const', '$ref', 'title', 'description', 'default', 'required'])
const ONE = new Set(['items'])
const MANY: ReadonlyMap<string, string> = new Map([
  ['anyOf', 'anyOf'],
  ['oneOf', 'anyOf'],
  ['allOf', 'allOf'],
])
const NAMED = new Set(['properties', '$defs', 'definitions'])
/** What describes a schema and bounds nothing. */
const SILENT = new Set(['$schema', '$id', '$comment', 'additionalProperties'])
const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']

/**
 * The schema as the service accepts it for answers and strict arguments: objects are closed, and bounds that it does not
 * check (`minimum`, `maxLength`, `pattern` …) are in the description, where the model reads them. `at` names the schema
 * in the client's body.
 */
export function strictSchema(schema: JsonObject, at: string | undefined, depth = 0): JsonObject {
  if (depth > MAX_DEPTH) throw refuse(at, 'the schema is nested too deeply')
  const inner = (value: Json): Json => (isObject(value) ? strictSchema(value, at, depth + 1) : value)
  const out: [string, Json][] = []
  const bounds: string[] = []
  for (const [keyword, value] of Object.entries(schema)) {
    const branches = MANY.get(keyword)
    if (KEPT.has(keyword)) out.push([keyword, value])
    else if (ONE.has(keyword)) out.push([keyword, inner(value)])
    else if (branches !== undefined && Array.isArray(value) && !out.some(([known]) => known === branches)) {
      out.push([branches, (value as readonly Json[]).map(inner)])
    } else if (NAMED.has(keyword) && isObject(value)) {
      out.push([keyword, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]))])
    } else if (isChecked(keyword, value)) out.push([keyword, value])
    else if (!SILENT.has(keyword)) bounds.push(`${keyword}: ${jsonText(value)}`)
  }
  if (isObjectSchema(schema)) out.push(['additionalProperties', false])
  if (isOpen(schema.additionalProperties)) bounds.push(`additionalProperties: ${jsonText(schema.additionalProperties)}`)
  if (bounds.length === 0) return Object.fromEntries(out)
  return Object.fromEntries([...out, ['description', described(schema, bounds)]])
}

function described({ description }: JsonObject, bounds: readonly string[]): string {
  return `${typeof description === 'string' ? `${description}\n\n` : ''}{${bounds.join(', ')}}`
}

/**
 * The schema of a function as the services accept it: an object without `anyOf`, `oneOf` and `allOf` at its top. Members of
 * these are its own, those that every alternative requires are required, and the rest is in the description.
 */
export function objectSchema(schema: JsonObject = {}): JsonObject {
  const asked = schema.type === 'object' ? schema : { ...schema, type: 'object' }
  const combined = [...MANY.keys()].filter(keyword => Object.hasOwn(asked, keyword))
  if (combined.length === 0) return asked
  const { properties, required } = membersOf(asked, asked)
  return {
    ...Object.fromEntries(Object.entries(asked).filter(([keyword]) => !MANY.has(keyword))),
    properties: Object.fromEntries(properties),
    ...(required.size > 0 && { required: [...required] }),
    description: described(
      asked,
      combined.map(keyword => `${keyword}: ${jsonText(asked[keyword] ?? null)}`),
    ),
  }
}

interface Members {
  readonly properties: Map<string, Json>
  readonly required: Set<Json>
}

/** `root` is where references of the schema lead; absent below it, where following them could take forever. */
function membersOf(schema: JsonObject, root?: JsonObject, depth = 0): Members {
  const properties = new Map(isObject(schema.properties) ? Object.entries(schema.properties) : [])
  const required = new Set(arrayOf(schema.required))
  for (const keyword of depth > MAX_DEPTH ? [] : MANY.keys()) {
    const branches = [...new Set(arrayOf(schema[keyword]).map(branch => referred(branch, root)))]
    const members = branches.map(branch => membersOf(isObject(branch) ? branch : {}, undefined, depth + 1))
    const byName = new Map<string, Map<string, Json>>()
    for (const [name, value] of members.flatMap(branch => [...branch.properties])) {
      byName.set(name, (byName.get(name) ?? new Map<string, Json>()).set(jsonText(value), value))
    }
    for (const [name, values] of byName) {
      const all = [...values.values()]
      if (!properties.has(name))
        properties.set(name, all.length === 1 ? (all[0] ?? {}) : { [MANY.get(keyword) ?? '']: all })
    }
    const counts = new Map<Json, number>()
    for (const name of members.flatMap(branch => [...branch.required])) counts.set(name, (counts.get(name) ?? 0) + 1)
    for (const [name, count] of counts) if (keyword === 'allOf' || count === members.length) required.add(name)
  }
  return { properties, required }
}

function referred(branch: Json, root: JsonObject | undefined): Json {
  const path = isObject(branch) && typeof branch.$ref === 'string' ? branch.$ref : ''
  const [, holder = '', name = ''] = /^#\/([^/]+)\/([^/]+)$/.exec(path) ?? []
  const definitions = root?.[holder]
  return isObject(definitions) && Object.hasOwn(definitions, name) ? (definitions[name] ?? branch) : branch
}

function isChecked(keyword: string, value: Json): boolean {
  if (keyword === 'format') return typeof value === 'string' && FORMATS.includes(value)
  return keyword === 'minItems' && (value === 0 || value === 1)
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties)
}

function isOpen(additional: Json | undefined): boolean {
  return additional === true || (isObject(additional) && Object.keys(additional).length > 0)
}
