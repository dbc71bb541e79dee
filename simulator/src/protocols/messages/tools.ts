import type { Fields } from '../../families/fields.js'
import { invalid } from '../../families/messages.js'
import { isObject, type Json, type JsonObject } from '../../json.js'
import type { Format, Tool, ToolChoice } from '../../text/conversation.js'
import { type Mark, readMark } from './cache.js'

export interface ToolSet {
  readonly tools: readonly Tool[]
  readonly marks: readonly (Mark | undefined)[]
  readonly choice: ToolChoice
  readonly parallel: boolean
}

const MEMBERS = [
  ...['type', 'name', 'description', 'input_schema', 'cache_control', 'strict'],
  ...['eager_input_streaming', 'allowed_callers', 'defer_loading', 'input_examples'],
]

/** The tools that a client carries out itself. Those of a type with a date are hosted: accepted and never used. */
export function readTools(body: Fields): ToolSet {
  const listed = body.list('tools') ?? []
  const ours = listed.filter(tool => (tool.string('type') ?? 'custom') === 'custom')
  const tools = ours.map(readTool)
  const twice = tools.find(({ name }, index) => tools.findIndex(other => other.name === name) < index)
  if (twice !== undefined) throw invalid('tools', 'Tool names must be unique.')
  return { tools, marks: ours.map(readMark), ...readChoice(body, tools, listed.length) }
}

function readTool(tool: Fields): Tool {
  const name = tool.only(MEMBERS).need('name', tool.string)
  if (!/^[\w-]{1,128}$/.test(name)) {
    throw invalid(`${tool.path}.custom.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
  }
  const description = tool.string('description')
  const schema = tool.need('input_schema', tool.fields)
  schema.needOneOf('type', ['object'])
  if (tool.boolean('strict')) checkStrict(schema.object, schema.path)
  return { kind: 'function', name, description, schema: schema.object }
}

function readChoice(body: Fields, tools: readonly Tool[], listed: number): Pick<ToolSet, 'choice' | 'parallel'> {
  const choice = body.fields('tool_choice')
  if (choice === undefined) return { choice: { mode: 'auto', names: undefined }, parallel: true }
  const type = choice.only(['type', 'name', 'disable_parallel_tool_use']).needOneOf('type', TYPES)
  if (listed === 0 && type !== 'none') {
    throw invalid('tool_choice', '`tool_choice` may only be specified while providing `tools`.')
  }
  const parallel = choice.boolean('disable_parallel_tool_use') !== true
  if (type !== 'tool') return { choice: { mode: MODES[type], names: undefined }, parallel }
  const name = choice.need('name', choice.string)
  const known = tools.some(tool => tool.name === name)
  if (!known) throw invalid('tool_choice', `Tool '${name.slice(0, 100)}' not found in provided tools`)
  return { choice: { mode: 'required', names: [name] }, parallel }
}

const MODES = { auto: 'auto', any: 'required', none: 'none' } as const

const TYPES = ['auto', 'any', 'tool', 'none'] as const

/** Bounds that this protocol's grammars cannot hold an answer to. */
const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  string: ['minLength', 'maxLength'],
  array: ['maxItems', 'uniqueItems'],
}

/** `output_config.format`, or the member of the body that it was at first. */
export function readFormat(body: Fields): Format {
  const format = body.fields('output_config')?.fields('format') ?? body.fields('output_format')
  if (format === undefined) return { type: 'text' }
  format.only(['type', 'schema']).needOneOf('type', ['json_schema'])
  const schema = format.need('schema', format.fields)
  checkStrict(schema.object, schema.path)
  return { type: 'schema', schema: schema.object }
}

/** Throws where a schema asks for more than this protocol can enforce. */
function checkStrict(schema: JsonObject, path: string): void {
  const { type } = schema
  if (type === 'object' && schema.additionalProperties !== false) {
    throw invalid(path, "For 'object' type, 'additionalProperties' must be explicitly set to false")
  }
  const bad = typeof type !== 'string' ? undefined : UNSUPPORTED[type]?.find(name => schema[name] !== undefined)
  if (bad !== undefined) throw invalid(path, `For '${type}' type, property '${bad}' is not supported`)
  for (const inner of innerSchemas(schema)) checkStrict(inner, path)
}

function innerSchemas(schema: JsonObject): readonly JsonObject[] {
  const { properties, $defs, definitions, items, anyOf, allOf, oneOf } = schema
  return [...values(properties), ...values($defs), ...values(definitions), items, ...list(anyOf), ...list(allOf)]
    .concat(list(oneOf))
    .filter(isObject)
}

function values(value: Json | undefined): readonly Json[] {
  return isObject(value) ? Object.values(value) : []
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
