import { isDeepStrictEqual } from 'node:util'
import type { Target } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { CustomTool, FunctionTool, HostedTool, TextRequest, Tool, ToolChoice } from '../../core/text.js'
import { demandsCall } from '../forced-tool.js'
import { describedCustom, FREE_TEXT_SCHEMA } from '../free-text-tools.js'
import { containerLoss, loseHosted, searchLoss, searchSettings } from '../hosted-settings.js'

import { marked, toolName } from './blocks-out.js'
import { objectSchema, strictSchema } from './strict-schema.js'
import { SERVERS } from './tools-in.js'

interface ToolsOut {
  readonly tools?: Json
  readonly tool_choice?: JsonObject
}

export function encodeTools(request: TextRequest, target: Target): ToolsOut {
  const { toolChoice } = request
  const chosen = toolChoice?.type === 'subset' ? subset(request.tools, toolChoice.names, target) : request.tools
  const servers = chosen.find(isServers)?.value ?? {}
  const listed = chosen.filter(tool => !isServers(tool))
  const tools = listed.map(tool => encodeTool(tool, request, target)).filter(tool => tool !== undefined)
  if (tools.length === 0) {
    if (demandsCall(toolChoice)) target.lose('toolChoice', undefined, 'there are no tools')
    return servers
  }
  const choice = encodeChoice(toolChoice, request.parallelTools, chosen)
  return { tools, ...(choice !== undefined && { tool_choice: choice }), ...servers }
}

/** `mcp_servers` of a request of this protocol, which are not tools of other protocols. */
function isServers(tool: Tool): tool is HostedTool {
  return tool.type === 'hosted' && tool.of === 'messages' && tool.name === SERVERS
}

function subset(tools: readonly Tool[], names: readonly string[], target: Target): readonly Tool[] {
  target.lose('toolSubset')
  return tools.filter(tool => names.includes(tool.name))
}

function encodeChoice(
  choice: ToolChoice | undefined,
  parallel: boolean | undefined,
  tools: readonly Tool[],
): JsonObject | undefined {
  if (choice === undefined && parallel !== false) return undefined
  const serial = parallel === false && choice?.type !== 'none' ? { disable_parallel_tool_use: true } : {}
  switch (choice?.type) {
    case 'none':
      return { type: 'none' }
    case 'required':
      return { type: 'any', ...serial }
    case 'tool': {
      const custom = tools.some(({ type, name }) => type === 'custom' && name === choice.name)
      return { type: 'tool', name: toolName(choice.name, custom, 'tool_choice'), ...serial }
    }
    case 'subset':
      return { type: choice.mode === 'required' ? 'any' : 'auto', ...serial }
    default:
      return { type: 'auto', ...serial }
  }
}

function encodeTool(tool: Tool, request: TextRequest, target: Target): JsonObject | undefined {
  switch (tool.type) {
    case 'function':
      return marked(encodeFunction(tool, target), tool.cache)
    case 'custom':
      target.lose('customTools', tool.at, tool.format && 'the grammar of its input is not enforced')
      return marked(encodeCustom(tool), tool.cache)
    case 'hosted':
      return encodeHosted(tool, request, target)
  }
}

function encodeFunction({ name, description, schema, strict, at }: FunctionTool, target: Target): JsonObject {
  const wire = toolName(name, false, at)
  const asked = objectSchema(schema)
  if (wire !== name || asked.description !== schema?.description) target.lose('tools', at)
  const checked = strict === true ? encodeStrict(asked, at, target) : undefined
  return {
    name: wire,
    ...(description !== undefined && { description }),
    input_schema: checked ?? asked,
    ...(checked !== undefined && { strict: true }),
  }
}

/** Undefined for a model that knows no structured answers, and so no strict arguments, either. */
function encodeStrict(schema: JsonObject, at: string | undefined, target: Target): JsonObject | undefined {
  if (target.traits.structured === 'tool') {
    target.lose('strictTools', at, 'the model does not check arguments')
    return undefined
  }
  const checked = strictSchema(schema, at)
  if (!isDeepStrictEqual(checked, schema)) target.lose('strictTools', at)
  return checked
}

/** A function of one string, under a name that tells the way back. */
function encodeCustom(tool: CustomTool): JsonObject {
  return { name: toolName(tool.name, true, tool.at), ...describedCustom(tool), input_schema: FREE_TEXT_SCHEMA }
}

/** The versions that need no more than their name: later ones run in a container. */
const OWN_TOOLS = {
  web_search: { type: 'web_search_20250305', name: 'web_search' },
  web_fetch: { type: 'web_fetch_20250910', name: 'web_fetch' },
  code_execution: { type: 'code_execution_20250825', name: 'code_execution' },
} as const

function encodeHosted(tool: HostedTool, request: TextRequest, target: Target): JsonObject | undefined {
  const { kind, of, value, at } = tool
  if (of === 'messages') return value
  switch (kind) {
    case 'web_search':
      return encodeSearch(tool, target)
    case 'code_execution':
      target.lose('hostedCode', at, containerLoss(tool))
      return OWN_TOOLS.code_execution
    case 'web_fetch':
      return OWN_TOOLS.web_fetch
    case 'other':
      return loseHosted(tool, request, target)
  }
}

const SEARCH_SETTINGS = new Set(['place', 'allowed', 'blocked', 'uses'] as const)

/** Domains may be allowed or blocked, not both: those that are allowed say enough. */
function encodeSearch(tool: HostedTool, target: Target): JsonObject {
  const settings = searchSettings(tool)
  target.lose('hostedWebSearch', tool.at, searchLoss(settings, SEARCH_SETTINGS))
  const { place, allowed, blocked, uses } = settings.said
  return {
    ...OWN_TOOLS.web_search,
    ...(uses !== undefined && { max_uses: uses }),
    ...(allowed !== undefined && { allowed_domains: allowed }),
    ...(allowed === undefined && blocked !== undefined && { blocked_domains: blocked }),
    ...(place !== undefined && { user_location: { type: 'approximate', ...place } }),
  }
}
