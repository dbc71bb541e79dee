import * as sdk from '@aws-sdk/client-bedrock-runtime'
import type { Json, JsonObject } from '../../src/core/json.js'

/**
 * A schema as that SDK has it: a number (0 text, 1 number, 2 boolean, 15 any document, 21 bytes; 64 and more a list of such, 128
 * and more a map), a function that returns one, one with traits, or a shape: `[kind, namespace, name, traits, …]`.
 */
type Smithy = number | (() => Smithy) | readonly unknown[]

const LIST = 1
const MAP = 2
const STRUCTURE = 3
const ERROR = -3
const UNION = 4

const SIMPLE: Readonly<Record<number, JsonObject>> = {
  0: { type: 'string' },
  1: { type: 'number' },
  2: { type: 'boolean' },
  15: {},
  21: { type: 'string', format: 'byte' },
}

/** The shapes of the Converse operations as an OpenAPI document. What goes into path or headers is left out. */
export function converseDocument(): JsonObject {
  const schemas: Record<string, Json> = {}
  const refer = (schema: Smithy): JsonObject => {
    if (typeof schema === 'function') return refer(schema())
    if (typeof schema === 'number') return simple(schema)
    const [kind, , name] = schema
    // With traits around it.
    if (typeof name !== 'string') return refer(kind as Smithy)
    if (kind !== STRUCTURE && kind !== UNION && kind !== ERROR) return collection(schema)
    if (!Object.hasOwn(schemas, name)) {
      schemas[name] = {}
      schemas[name] = members(schema)
    }
    return { $ref: `#/components/schemas/${name}` }
  }
  const collection = ([kind, , , , inner, value]: readonly unknown[]): JsonObject => {
    if (kind === LIST) return { type: 'array', items: refer(inner as Smithy) }
    if (kind === MAP) return { type: 'object', additionalProperties: refer(value as Smithy) }
    return refer(inner as Smithy)
  }
  const members = ([kind, , , , names, types, needed]: readonly unknown[]): JsonObject => {
    const all = names as readonly string[]
    const inBody = all.filter(name => name !== 'modelId')
    const properties = Object.fromEntries(
      inBody.map(name => [name, refer((types as readonly Smithy[])[all.indexOf(name)] ?? 15)]),
    )
    if (kind === UNION) return { type: 'object', properties, minProperties: 1, maxProperties: 1 }
    const required = all.slice(0, Number(needed ?? 0)).filter(name => name !== 'modelId')
    return { type: 'object', properties, required }
  }
  refer(sdk.ConverseRequest$ as Smithy)
  refer(sdk.ConverseResponse$ as Smithy)
  const [, , , , , events] = sdk.ConverseStreamOutput$ as readonly unknown[]
  schemas.ConverseEvent = { anyOf: (events as readonly Smithy[]).map(refer) }
  return { components: { schemas } }
}

function simple(schema: number): JsonObject {
  if (schema >= 128) return { type: 'object', additionalProperties: simple(schema - 128) }
  if (schema >= 64) return { type: 'array', items: simple(schema - 64) }
  const found = SIMPLE[schema]
  if (found === undefined) throw new Error(`an unknown kind of schema: ${schema}`)
  return found
}
