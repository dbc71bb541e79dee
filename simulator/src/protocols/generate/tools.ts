import type { Fields } from '../../families/fields.js'
import { badArgument, badField } from '../../families/native.js'
import { isObject, type Json, type JsonObject } from '../../json.js'
import type { Tool, ToolChoice } from '../../text/conversation.js'

const MAX_FUNCTIONS = 512

/** The functions that a client carries out itself. Hosted tools are accepted and never used. */
export function readTools(body: Fields): { tools: readonly Tool[]; choice: ToolChoice } {
  const tools = (body.list('tools') ?? []).flatMap(tool => (tool.list('functionDeclarations') ?? []).map(readTool))
  if (tools.length > MAX_FUNCTIONS)
    throw badField('tools', `at most ${MAX_FUNCTIONS} function declarations are supported`)
  const twice = tools.find(({ name }, index) => tools.findIndex(other => other.name === name) < index)
  if (twice !== undefined) throw badArgument(`Duplicate function declaration found: ${twice.name}`)
  return { tools, choice: readChoice(body, tools) }
}

function readTool(declaration: Fields): Tool {
  const name = declaration.string('name') ?? ''
  if (!/^[A-Za-z_][\w:.-]{0,127}$/.test(name)) throw badField(declaration.param('name'), BAD_NAME)
  const own = declaration.fields('parameters')
  const standard = declaration.raw('parametersJsonSchema')
  if (own !== undefined && standard !== undefined) {
    throw badField(declaration.path, 'parameters and parameters_json_schema are mutually exclusive')
  }
  const schema = own === undefined ? standard : jsonSchema(own.object)
  const description = declaration.string('description')
  return { kind: 'function', name, description, schema: isObject(schema) ? schema : undefined }
}

const BAD_NAME =
  'Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), ' +
  'underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 128.'

const MODES = { AUTO: 'auto', VALIDATED: 'auto', ANY: 'required', NONE: 'none', MODE_UNSPECIFIED: 'auto' } as const
const MODE_NAMES = ['AUTO', 'VALIDATED', 'ANY', 'NONE', 'MODE_UNSPECIFIED'] as const

/** Lower case is taken, too. */
function modeOf(config: Fields | undefined): keyof typeof MODES {
  const mode = config?.string('mode')
  if (config === undefined || mode === undefined) return 'AUTO'
  const known = MODE_NAMES.find(each => each === mode.toUpperCase())
  if (known === undefined) throw badField(config.param('mode'), `"${mode.slice(0, 100)}" is not a mode`)
  return known
}

function readChoice(body: Fields, tools: readonly Tool[]): ToolChoice {
  const config = body.fields('toolConfig')?.fields('functionCallingConfig')
  const mode = modeOf(config)
  const names = config?.strings('allowedFunctionNames') ?? []
  if (names.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED') {
    throw badArgument('Allowed function names should be set only when function calling mode is ANY.')
  }
  const stranger = names.find(name => !tools.some(tool => tool.name === name))
  if (stranger !== undefined) throw badArgument(`Allowed function name "${stranger.slice(0, 100)}" is not declared.`)
  if (mode === 'ANY' && tools.length === 0) throw badArgument('Function calling mode ANY needs function declarations.')
  return { mode: MODES[mode], names: names.length === 0 ? undefined : names }
}

/** A schema of this protocol's own dialect, as JSON Schema. */
export function jsonSchema(schema: JsonObject): JsonObject {
  const { type, nullable, format, properties, items, anyOf, propertyOrdering: _, example: __, ...rest } = schema
  const kind = typeof type === 'string' ? type.toLowerCase() : undefined
  return {
    ...rest,
    ...(kind === undefined || kind === 'type_unspecified' ? {} : { type: nullable ? [kind, 'null'] : kind }),
    ...(typeof format === 'string' && format !== 'enum' ? { format } : {}),
    ...(isObject(properties) ? { properties: mapped(properties) } : {}),
    ...(isObject(items) ? { items: jsonSchema(items) } : {}),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.filter(isObject).map(jsonSchema) } : {}),
  }
}

function mapped(properties: JsonObject): JsonObject {
  const entries = Object.entries(properties).map(([name, value]): [string, Json] => [
    name,
    isObject(value) ? jsonSchema(value) : value,
  ])
  return Object.fromEntries(entries)
}
