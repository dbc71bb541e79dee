import { SimulatorError } from '../errors.js'
import type { Tool, ToolChoice } from '../text/conversation.js'
import type { Fields } from './fields.js'
import { notListed, tooLong, wrongValue } from './refusals.js'

const MAX_TOOLS = 128

/** The definitions of tools in a member of the body. */
export function toolList(body: Fields, name: string): readonly Fields[] | undefined {
  const list = body.list(name)
  if (list !== undefined && list.length > MAX_TOOLS) throw tooLong(name, MAX_TOOLS, list.length)
  return list
}

/** A tool from the object that holds its name and parameters. */
export function describedTool(kind: Tool['kind'], definition: Fields): Tool {
  const name = definition.need('name', definition.string)
  const description = definition.string('description')
  if (/^[\w-]{1,64}$/.test(name)) {
    return { kind, name, description, schema: definition.fields('parameters')?.object }
  }
  const param = definition.param('name')
  throw wrongValue(param, `Invalid '${param}': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'.`)
}

/**
 * Which of the tools to call: a mode, or a tool by its name, which is in the choice itself or in an object of the
 * choice's type. Throws where a tool is named that there is not.
 */
export function readChoice(body: Fields, name: string, tools: readonly Tool[]): ToolChoice {
  const raw = body.raw(name)
  if (raw === undefined) return { mode: 'auto', names: undefined }
  const choice = typeof raw === 'string' ? mode(body, name) : named(body.need(name, body.fields))
  if (tools.length === 0 && choice.mode === 'required') throw refused(name, `'${name}' needs 'tools' to be specified.`)
  const stranger = choice.names?.find(each => !tools.some(tool => tool.name === each))
  if (stranger !== undefined) throw refused(name, `Tool choice '${stranger}' not found in 'tools' parameter.`)
  return choice
}

function mode(body: Fields, name: string): ToolChoice {
  return { mode: body.oneOf(name, ['none', 'auto', 'required']) ?? 'auto', names: undefined }
}

function named(choice: Fields): ToolChoice {
  const type = choice.string('type') ?? 'function'
  switch (type) {
    case 'function':
    case 'custom':
      return { mode: 'required', names: [nameIn(choice, type)] }
    case 'allowed_tools': {
      const allowed = choice.fields('allowed_tools') ?? choice
      const names = (allowed.list('tools') ?? []).map(tool => nameIn(tool, 'function'))
      return { mode: allowed.oneOf('mode', ['auto', 'required']) ?? 'auto', names }
    }
    default:
      throw notListed(choice.param('type'), type, ['function', 'custom', 'allowed_tools'])
  }
}

function nameIn(choice: Fields, type: string): string {
  const holder = choice.fields(type) ?? choice
  return holder.need('name', holder.string)
}

function refused(param: string, message: string): SimulatorError {
  return new SimulatorError(400, message, { param })
}
