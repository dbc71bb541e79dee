import type { Target } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { HostedTool, TextRequest, Tool, ToolChoice } from '../../core/text.js'
import { containerLoss, loseHosted, searchLoss, searchSettings, withoutLost } from '../hosted-settings.js'

import { compact } from '../read.js'
import { PROTOCOL } from './fields.js'

/** `tools`, `tool_choice` and `parallel_tool_calls`. */
export function writeTools(request: TextRequest, target: Target): Readonly<Record<string, Json | undefined>> {
  const tools = request.tools.flatMap(tool => {
    if (tool.cache !== undefined) target.lose('cacheMarks', tool.at)
    return writeTool(tool, request, target) ?? []
  })
  if (tools.length === 0) {
    const { toolChoice } = request
    const isDemand = toolChoice !== undefined && toolChoice.type !== 'auto' && toolChoice.type !== 'none'
    if (isDemand) target.lose('toolChoice', undefined, 'there are no tools to choose from')
    return {}
  }
  return {
    tools,
    tool_choice: request.toolChoice === undefined ? undefined : writeChoice(request.toolChoice, request.tools),
    parallel_tool_calls: request.parallelTools,
  }
}

function writeTool(tool: Tool, request: TextRequest, target: Target): JsonObject | undefined {
  switch (tool.type) {
    case 'function': {
      const { name, description, schema, strict } = tool
      // Strict is the default here and nowhere else, so it is said either way.
      return {
        ...compact({ type: 'function', name, description }),
        parameters: schema ?? null,
        strict: strict ?? false,
      }
    }
    case 'custom': {
      const { name, description, format } = tool
      return compact({ type: 'custom', name, description, format })
    }
    case 'hosted':
      return tool.of === PROTOCOL ? tool.value : writeHosted(tool, request, target)
  }
}

const SEARCH_SETTINGS = new Set(['size', 'place', 'allowed'] as const)

function writeSearch(tool: HostedTool, target: Target): JsonObject {
  const settings = searchSettings(tool)
  target.lose('hostedWebSearch', tool.at, searchLoss(settings, SEARCH_SETTINGS))
  const { size, place, allowed } = settings.said
  return compact({
    type: 'web_search',
    search_context_size: size,
    user_location: place === undefined ? undefined : { type: 'approximate', ...place },
    filters: allowed === undefined ? undefined : { allowed_domains: allowed },
  })
}

function writeHosted(tool: HostedTool, request: TextRequest, target: Target): JsonObject | undefined {
  if (tool.kind === 'web_search') return writeSearch(tool, target)
  if (tool.kind !== 'code_execution') return loseHosted(tool, request, target)
  target.lose('hostedCode', tool.at, containerLoss(tool))
  return { type: 'code_interpreter', container: { type: 'auto' } }
}

function writeChoice(choice: ToolChoice, tools: readonly Tool[]): Json {
  switch (choice.type) {
    case 'tool':
      return reference(choice.name, tools)
    case 'subset':
      return {
        type: 'allowed_tools',
        mode: choice.mode,
        tools: withoutLost(choice.names, tools, PROTOCOL).map(name => reference(name, tools)),
      }
    default:
      return choice.type
  }
}

function reference(name: string, tools: readonly Tool[]): JsonObject {
  const tool = tools.find(tool => tool.name === name)
  if (tool?.type === 'hosted') return { type: name }
  return { type: tool?.type === 'custom' ? 'custom' : 'function', name }
}
