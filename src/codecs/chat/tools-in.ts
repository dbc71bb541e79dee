import type { Target } from '../../core/codec.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { CustomTool, HostedTool, Left, TextRequest, Tool, ToolChoice } from '../../core/text.js'
import { loseHosted, searchLoss, searchSettings, withoutLost } from '../hosted-settings.js'

import { compact, given, invalid, leaveOthers, Reader } from '../read.js'

import { readCacheMark } from './content-in.js'
import { PROTOCOL } from './reasoning.js'

/** `tools`, the older `functions`, and `web_search_options`. */
export function readTools(body: Reader, left: Left[]): Tool[] {
  const tools = (body.objects('tools') ?? []).map(tool => readTool(tool, left))
  const functions = (body.objects('functions') ?? []).map(tool => readFunction(tool, tool.at, left))
  const search = body.object('web_search_options')
  return [...tools, ...functions, ...(search === undefined ? [] : [searchTool(search)])]
}

/** Name of the hosted tool that `web_search_options` stands for. */
const SEARCH_OPTIONS = 'web_search_options'

function searchTool(options: Reader): HostedTool {
  const value = options.value
  return { type: 'hosted', kind: 'web_search', name: SEARCH_OPTIONS, of: PROTOCOL, value, at: options.at }
}

function readTool(tool: Reader, left: Left[]): Tool {
  const type = tool.string('type') ?? 'function'
  const cache = readCacheMark(tool)
  const marked = cache === undefined ? {} : { cache }
  if (type !== 'function' && type !== 'custom') {
    return { type: 'hosted', kind: kindOfHosted(type), name: type, of: PROTOCOL, value: tool.value, at: tool.at }
  }
  const called = tool.object(type)
  if (called === undefined) throw invalid(tool.path(type), 'it is required')
  leaveOthers(tool, new Set(['type', type, 'cache_control']), left)
  if (type === 'custom') {
    leaveOthers(called, new Set(['name', 'description', 'format']), left)
    const format = called.object('format')?.value
    return {
      type: 'custom',
      name: called.required('name'),
      at: tool.at,
      ...given({ description: called.string('description') }),
      ...(format !== undefined && format.type !== 'text' && { format: flatGrammar(format) }),
      ...marked,
    }
  }
  return { ...readFunction(called, tool.at, left), ...marked }
}

function kindOfHosted(type: string): HostedTool['kind'] {
  if (/web_?search/.test(type)) return 'web_search'
  return /^code_(interpreter|execution)/.test(type) ? 'code_execution' : 'other'
}

/** A grammar is in an object of its own here; canonically its members are beside the type. */
function flatGrammar(format: JsonObject): JsonObject {
  return isObject(format.grammar) ? { type: 'grammar', ...format.grammar } : format
}

function readFunction(called: Reader, at: string, left: Left[]): Tool {
  leaveOthers(called, new Set(['name', 'description', 'parameters', 'strict']), left)
  return {
    type: 'function',
    name: called.required('name'),
    at,
    ...given({
      description: called.string('description'),
      schema: called.object('parameters')?.value,
      strict: called.boolean('strict'),
    }),
  }
}

/** `tool_choice`, or the older `function_call`. */
export function readToolChoice(body: Reader, left: Left[]): ToolChoice | undefined {
  const name = body.has('tool_choice') ? 'tool_choice' : 'function_call'
  const choice = body.raw(name)
  if (choice === undefined) return undefined
  if (typeof choice === 'string') return choiceOfWord(choice, name)
  const object = body.object(name)
  if (object === undefined) return undefined
  if (name === 'function_call') return { type: 'tool', name: object.required('name') }
  // Some clients leave the type out and name the function alone.
  const type =
    object.string('type') ?? (object.has('custom') ? 'custom' : object.has('function') ? 'function' : undefined)
  if (type === 'function' || type === 'custom') {
    return { type: 'tool', name: object.object(type)?.required('name') ?? object.required('name') }
  }
  if (type === 'allowed_tools') return readSubset(object)
  left.push({ field: object.path('type'), why: 'tools of this type cannot be chosen by name' })
  return undefined
}

function choiceOfWord(word: string, field: string): ToolChoice {
  if (word === 'auto' || word === 'none' || word === 'required') return { type: word }
  if (word === 'any') return { type: 'required' }
  throw invalid(field, `expected 'none', 'auto', 'required' or a tool`)
}

function readSubset(choice: Reader): ToolChoice {
  const allowed = choice.object('allowed_tools') ?? choice
  const names = (allowed.array('tools') ?? []).map((tool: Json, i) => {
    const at = `${allowed.path('tools')}[${i}]`
    if (!isObject(tool)) throw invalid(at, 'expected an object')
    const reader = new Reader(tool, at)
    return (reader.object('function') ?? reader.object('custom') ?? reader).required('name')
  })
  return { type: 'subset', mode: allowed.string('mode') === 'required' ? 'required' : 'auto', names }
}

/** `tools`, `tool_choice`, `parallel_tool_calls` and `web_search_options`. */
export function writeTools(request: TextRequest, target: Target): Record<string, Json | undefined> {
  const tools: JsonObject[] = []
  let search: JsonObject | undefined
  for (const tool of request.tools) {
    if (tool.cache !== undefined) target.lose('cacheMarks', tool.at)
    if (tool.type !== 'hosted') tools.push(writeTool(tool))
    else if (tool.of === PROTOCOL && tool.name !== SEARCH_OPTIONS) tools.push(tool.value)
    else if (tool.kind === 'web_search') search = writeSearch(tool, target)
    else loseHosted(tool, request, target, tool.kind === 'code_execution' ? 'hostedCode' : 'hostedOther')
  }
  const choice = request.toolChoice === undefined ? undefined : writeToolChoice(request.toolChoice, request.tools)
  // Servers refuse both of these where there are no tools to choose from.
  const some = tools.length > 0
  if (
    !some &&
    request.toolChoice !== undefined &&
    request.toolChoice.type !== 'auto' &&
    request.toolChoice.type !== 'none'
  ) {
    target.lose('toolChoice', undefined, 'there are no tools to choose from')
  }
  return {
    tools: some ? tools : undefined,
    tool_choice: some ? choice : undefined,
    parallel_tool_calls: some ? request.parallelTools : undefined,
    web_search_options: search,
  }
}

function writeTool(tool: Exclude<Tool, HostedTool>): JsonObject {
  const { name, description } = tool
  if (tool.type === 'custom') {
    return { type: 'custom', custom: compact({ name, description, format: writeGrammar(tool) }) }
  }
  return { type: 'function', function: compact({ name, description, parameters: tool.schema, strict: tool.strict }) }
}

/** A grammar's members are in their own object. */
function writeGrammar({ format }: CustomTool): JsonObject | undefined {
  if (format === undefined || format.type !== 'grammar' || isObject(format.grammar)) return format
  const { type, ...grammar } = format
  return { type, grammar }
}

const SEARCH_SETTINGS = new Set(['size', 'place'] as const)

/** What of a search tool the options can say. Locations are flat in other protocols. */
function writeSearch(tool: HostedTool, target: Target): JsonObject {
  if (tool.of === PROTOCOL) return tool.value
  const settings = searchSettings(tool)
  target.lose('hostedWebSearch', tool.at, searchLoss(settings, SEARCH_SETTINGS))
  const { size, place } = settings.said
  return compact({
    search_context_size: size,
    user_location: place === undefined ? undefined : { type: 'approximate', approximate: place },
  })
}

function writeToolChoice(choice: ToolChoice, tools: readonly Tool[]): Json {
  switch (choice.type) {
    case 'tool':
      return reference(choice.name, tools)
    case 'subset': {
      const allowed = {
        mode: choice.mode,
        tools: withoutLost(choice.names, tools, PROTOCOL).map(name => reference(name, tools)),
      }
      return { type: 'allowed_tools', allowed_tools: allowed }
    }
    default:
      return choice.type
  }
}

function reference(name: string, tools: readonly Tool[]): JsonObject {
  const custom = tools.some(tool => tool.type === 'custom' && tool.name === name)
  return custom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } }
}
