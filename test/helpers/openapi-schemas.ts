import { isObject, type Json, type JsonObject } from '../../src/core/json.js'

/** How a document of a family should be read, beyond what it says itself. */
export interface Reading {
  /** Members that the service wants although its document does not mark them, by the name of the schema. */
  readonly required?: Readonly<Record<string, readonly string[]>>
  /** Members that it does without, or leaves out itself, although its document marks them as required; `Name.member`. */
  readonly optional?: Readonly<Record<string, readonly string[]>>
  /** `null` and absence are the same: what may be null may be absent, and what may be absent may be null. */
  readonly nullable?: boolean
  /** More branches of a union, or values of an enum of the member, by the name of the schema. */
  readonly also?: Readonly<Record<string, JsonObject>>
  /** Objects refuse members that the document does not name. */
  readonly closed?: boolean
  /** The JSON mapping of protocol buffers: 64-bit numbers in strings, enums in lower case. */
  readonly proto?: boolean
  /** Names in snake_case beside those in camelCase. */
  readonly snake?: boolean
}

/** Schema keywords that hold one schema, a list of them, and schemas by name. */
const ONE = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames']
const NAMED = ['properties', 'patternProperties']
const PLAIN = [
  ...['required', 'enum', 'const', 'minimum', 'maximum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties'],
]
const TAGS = ['type', 'role', 'object'] as const

/**
 * Schemas of an OpenAPI document (3.0 or 3.1) as JSON Schema: `nullable` becomes a union with null, `oneOf` becomes
 * `anyOf` (documents overlap), discriminators and formats fall away, and unions of objects that are told apart by a tag
 * are decided by that tag, so that a violation names the member at fault.
 */
export class OpenApiSchemas {
  readonly #source: JsonObject
  readonly #reading: Reading
  readonly #defs: Record<string, Json> = {}

  constructor(document: JsonObject, reading: Reading = {}) {
    const components = isObject(document.components) ? document.components : {}
    this.#source = isObject(components.schemas) ? components.schemas : {}
    this.#reading = reading
  }

  /** A schema by its name, with all that it refers to. */
  schema(name: string): JsonObject {
    const root = this.reference(name)
    return { ...root, $defs: this.#defs }
  }

  /** The schema as the document has it; `{}` where it has none. */
  source(name: string): JsonObject {
    const found = this.#source[name]
    return isObject(found) ? found : {}
  }

  /** Follows `$ref` to the schema itself. */
  resolve(schema: Json | undefined): JsonObject {
    if (!isObject(schema)) return {}
    return typeof schema.$ref === 'string' ? this.resolve(this.source(nameOf(schema.$ref))) : schema
  }

  /**
   * Every member that documents of a schema can have, nested ones too: `messages[].content[].text`. Branches of unions
   * are one; a schema within itself is not followed.
   */
  members(name: string): readonly string[] {
    const found = new Set<string>()
    this.collect(this.source(name), '', [name], found)
    return [...found]
  }

  private collect(schema: Json | undefined, path: string, within: readonly string[], found: Set<string>): void {
    if (!isObject(schema)) return
    if (typeof schema.$ref === 'string') {
      const name = nameOf(schema.$ref)
      if (!within.includes(name)) this.collect(this.source(name), path, [...within, name], found)
    }
    for (const branch of [...list(schema.oneOf), ...list(schema.anyOf), ...list(schema.allOf)])
      this.collect(branch, path, within, found)
    this.collect(schema.items, `${path}[]`, within, found)
    if (!isObject(schema.properties)) return
    for (const [name, property] of Object.entries(schema.properties)) {
      const at = path === '' ? name : `${path}.${name}`
      found.add(at)
      this.collect(property, at, within, found)
    }
  }

  private reference(name: string): JsonObject {
    if (!Object.hasOwn(this.#source, name)) throw new Error(`the document has no schema ${name}`)
    if (!Object.hasOwn(this.#defs, name)) {
      this.#defs[name] = {}
      const own = this.translate(this.source(name), name)
      const also = this.#reading.also?.[name]
      this.#defs[name] = also === undefined ? own : { anyOf: [own, this.translate(also)] }
    }
    return { $ref: `#/$defs/${name}` }
  }

  private translate(schema: Json, name?: string): Json {
    if (!isObject(schema)) return schema
    const out = this.own(schema, name)
    return schema.nullable === true ? orNull(out) : out
  }

  private own(schema: JsonObject, name = ''): JsonObject {
    const out: Record<string, Json> = {}
    for (const key of PLAIN) if (schema[key] !== undefined) out[key] = schema[key]
    for (const key of ONE) if (schema[key] !== undefined) out[key] = this.translate(schema[key])
    for (const key of NAMED) {
      const named = schema[key]
      if (isObject(named)) {
        const translated = Object.entries(named).map(([k, v]) => [k, this.translate(v, `${name}.${k}`)])
        out[key] = Object.fromEntries(translated)
      }
    }
    this.type(schema, out)
    this.required(schema, out, name)
    const { closed, proto, snake } = this.#reading
    if (closed === true && isObject(out.properties)) out.additionalProperties ??= false
    if (proto === true) lowerCase(out)
    const all = list(schema.allOf).map(one => this.translate(one, name))
    if (snake === true) all.push(...twins(out))
    for (const key of ['oneOf', 'anyOf']) {
      const branches = schema[key]
      if (Array.isArray(branches)) all.push(this.union(branches as readonly Json[]))
    }
    if (typeof schema.$ref === 'string') all.push(this.reference(nameOf(schema.$ref)))
    return all.length === 0 ? out : { ...out, allOf: all }
  }

  private required(schema: JsonObject, out: Record<string, Json>, name: string): void {
    const { required, optional, nullable } = this.#reading
    const fewer = optional?.[name] ?? []
    const wanted = [...list(schema.required), ...(required?.[name] ?? [])].filter(
      member => typeof member === 'string' && !fewer.includes(member),
    ) as string[]
    const properties = isObject(schema.properties) ? schema.properties : {}
    const mayLack = (member: string): boolean => nullable === true && this.takesNull(properties[member])
    out.required = wanted.filter(member => !mayLack(member))
    if (nullable !== true || !isObject(out.properties)) return
    out.properties = Object.fromEntries(
      Object.entries(out.properties).map(([member, one]) => [member, wanted.includes(member) ? one : orNull(one)]),
    )
  }

  private takesNull(schema: Json | undefined): boolean {
    const own = this.resolve(schema)
    if (own.nullable === true || own.type === 'null' || list(own.type).includes('null')) return true
    return [...list(own.anyOf), ...list(own.oneOf)].some(branch => this.takesNull(branch))
  }

  private type(schema: JsonObject, out: Record<string, Json>): void {
    const { type, format, exclusiveMinimum } = schema
    if (type !== undefined) out.type = type
    // OpenAPI 3.0 has a flag where JSON Schema has the bound.
    if (exclusiveMinimum === true && typeof schema.minimum === 'number') out.exclusiveMinimum = schema.minimum
    else if (typeof exclusiveMinimum === 'number') out.exclusiveMinimum = exclusiveMinimum
    if (this.#reading.proto === true && type === 'string' && format === 'int64') {
      out.type = ['string', 'integer']
      out.pattern = '^-?[0-9]+$'
    }
    if (format === 'byte') out.pattern = '^[A-Za-z0-9+/_-]*={0,2}$'
  }

  private union(branches: readonly Json[]): JsonObject {
    const tagged = TAGS.map(tag => ({ tag, values: branches.map(branch => this.tagOf(branch, tag)) }))
    const best = tagged.reduce((a, b) => (count(b.values) > count(a.values) ? b : a))
    const translated = branches.map(branch => this.translate(branch))
    if (count(best.values) < 2) return { anyOf: translated }
    const open = translated.filter((_, i) => best.values[i] === undefined)
    const known = [...new Set(best.values.flatMap(values => values ?? []))]
    const hasTag = (values: readonly Json[]): JsonObject => ({
      type: 'object',
      required: [best.tag],
      properties: { [best.tag]: { enum: values } },
    })
    return {
      if: hasTag(known),
      // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
      then: {
        allOf: known.map(value => ({
          if: hasTag([value]),
          // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
          then: { anyOf: [...translated.filter((_, i) => best.values[i]?.includes(value)), ...open] },
        })),
      },
      else: open.length === 0 ? hasTag(known) : { anyOf: open },
    }
  }

  /** Values of the tag that a branch cannot do without; undefined where it does not say. */
  private tagOf(branch: Json, tag: string): readonly Json[] | undefined {
    const schema = this.resolve(branch)
    for (const part of [schema, ...list(schema.allOf).map(one => this.resolve(one))]) {
      const inner = [...list(part.oneOf), ...list(part.anyOf)].map(one => this.tagOf(one, tag))
      if (inner.length > 0 && count(inner) === inner.length) return inner.flatMap(values => values ?? [])
      const property = isObject(part.properties) ? this.resolve(part.properties[tag]) : {}
      if (!list(part.required).includes(tag)) continue
      if (property.const !== undefined) return [property.const]
      if (Array.isArray(property.enum)) return property.enum as readonly Json[]
    }
    return undefined
  }
}

function count(values: readonly unknown[]): number {
  return values.filter(value => value !== undefined).length
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

export function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

function orNull(schema: Json): JsonObject {
  return { anyOf: [{ type: 'null' }, schema] }
}

function lowerCase(out: Record<string, Json>): void {
  if (!Array.isArray(out.enum)) return
  const words = out.enum as readonly Json[]
  out.enum = [...new Set([...words, ...words.map(word => (typeof word === 'string' ? word.toLowerCase() : word))])]
}

/** Lets every member have its name in snake_case, too. What is required is then so in either spelling. */
function twins(out: Record<string, Json>): JsonObject[] {
  if (!isObject(out.properties)) return []
  const required = list(out.required) as string[]
  out.required = []
  const twin = Object.entries(out.properties).map(([name, schema]) => [snake(name), schema] as const)
  out.properties = { ...Object.fromEntries(twin), ...out.properties }
  return required.map(name => ({ anyOf: [{ required: [name] }, { required: [snake(name)] }] }))
}

export function snake(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
