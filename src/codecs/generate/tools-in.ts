import type { CustomTool, FunctionTool, HostedTool, Left, Tool, ToolChoice } from '../../core/text.js'
import { child, children } from '../native-casing.js'
import { given, invalid, isBounded, leaveOthers, type Reader } from '../read.js'

import { clientName, PROTOCOL } from './calls.js'
import { jsonSchema } from './schema-dialect.js'

const DECLARATION = new Set(['name', 'description', 'parameters', 'parametersJsonSchema'])
const DECLARATION_WHY = {
  response: 'other protocols have no schema of function results',
  responseJsonSchema: 'other protocols have no schema of function results',
  behavior: 'other protocols have no non-blocking functions',
}

/** Tools that several protocols have; every other member of a tool runs at the upstream, too. */
const KINDS: Readonly<Record<string, HostedTool['kind']>> = {
  googleSearch: 'web_search',
  googleSearchRetrieval: 'web_search',
  codeExecution: 'code_execution',
  urlContext: 'web_fetch',
}

export function toolsIn(body: Reader, left: Left[]): Tool[] {
  return children(body, 'tools').flatMap(tool => {
    if (!isBounded(tool.value)) throw invalid(tool.at, 'it is nested too deep')
    return [
      ...children(tool, 'functionDeclarations').map(declaration => functionIn(declaration, left)),
      ...hostedIn(tool),
    ]
  })
}

/** A function, or what an encoder of this protocol made of a tool that takes free text. */
function functionIn(reader: Reader, left: Left[]): FunctionTool | CustomTool {
  leaveOthers(reader, DECLARATION, left, DECLARATION_WHY)
  const { name, custom } = clientName(reader.required('name'))
  const description = reader.string('description')
  if (custom) return { type: 'custom', name, at: reader.at, ...given({ description }) }
  const schema = reader.object('parametersJsonSchema') ?? reader.object('parameters')
  return {
    type: 'function',
    name,
    at: reader.at,
    ...given({
      description,
      schema: schema === undefined ? undefined : jsonSchema(schema.value, schema.at),
    }),
  }
}

function hostedIn(tool: Reader): HostedTool[] {
  return Object.keys(tool.value)
    .filter(name => name !== 'functionDeclarations' && tool.has(name))
    .map(name => ({
      type: 'hosted',
      kind: (Object.hasOwn(KINDS, name) ? KINDS[name] : undefined) ?? 'other',
      name,
      of: PROTOCOL,
      value: { [name]: tool.value[name] ?? {} },
      at: tool.path(name),
    }))
}

const CONFIG = new Set(['functionCallingConfig'])
const CONFIG_WHY = {
  retrievalConfig: "other protocols give the user's location differently",
  includeServerSideToolInvocations: 'other protocols cannot choose whether the work of hosted tools is shown',
}
const CALLING = new Set(['mode', 'allowedFunctionNames'])
const CALLING_WHY = { streamFunctionCallArguments: 'translated arguments are always streamed' }

export function toolChoiceIn(body: Reader, left: Left[]): ToolChoice | undefined {
  const config = child(body, 'toolConfig')
  if (config === undefined) return undefined
  leaveOthers(config, CONFIG, left, CONFIG_WHY)
  const calling = child(config, 'functionCallingConfig')
  if (calling === undefined) return undefined
  leaveOthers(calling, CALLING, left, CALLING_WHY)
  const names = (calling.strings('allowedFunctionNames') ?? []).map(name => clientName(name).name)
  const mode = calling.string('mode')?.toUpperCase()
  switch (mode) {
    case 'NONE':
      return { type: 'none' }
    case 'ANY':
      return required(names)
    case 'AUTO':
    case 'VALIDATED':
      return names.length > 0 ? { type: 'subset', mode: 'auto', names } : { type: 'auto' }
    case undefined:
    case 'MODE_UNSPECIFIED':
      return names.length > 0 ? { type: 'subset', mode: 'auto', names } : undefined
    default:
      throw invalid(calling.path('mode'), 'expected AUTO, ANY, NONE or VALIDATED')
  }
}

function required(names: readonly string[]): ToolChoice {
  const [first, second] = names
  if (first === undefined) return { type: 'required' }
  return second === undefined ? { type: 'tool', name: first } : { type: 'subset', mode: 'required', names }
}
