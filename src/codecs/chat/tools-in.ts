import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { HostedTool, Left, Tool, ToolChoice } from '../../core/text.js'
import { given, leaveOthers } from '../members.js'
import { invalid, Reader } from '../read.js'
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
export const SEARCH_OPTIONS = 'web_search_options'

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
