import type { Target } from '../../core/codec.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { CustomTool, HostedTool, TextRequest, Tool, ToolChoice } from '../../core/text.js'
import { searchLoss, searchSettings } from '../hosted-settings.js'
import { loseHosted, withoutLost } from '../lose-hosted.js'
import { compact } from '../read.js'
import { PROTOCOL } from './reasoning.js'
import { SEARCH_OPTIONS } from './tools-in.js'

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
