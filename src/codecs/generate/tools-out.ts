import type { Target } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { CustomTool, FunctionTool, HostedTool, TextRequest, Tool, ToolChoice } from '../../core/text.js'
import { describedCustom, FREE_TEXT_SCHEMA } from '../free-text-tools.js'
import { containerLoss, loseHosted, searchLoss, searchSettings } from '../hosted-settings.js'

import { PROTOCOL, wireName } from './calls.js'
import { schemaOut } from './schema-out.js'

/** Fields of the protocol for what several protocols have. */
const HOSTED: Readonly<Record<Exclude<HostedTool['kind'], 'other'>, string>> = {
  web_search: 'googleSearch',
  code_execution: 'codeExecution',
  web_fetch: 'urlContext',
}

/** `tools`: one list of functions, and an element for each tool that runs at the upstream. */
export function toolsOut(request: TextRequest, target: Target): readonly JsonObject[] {
  const functions: JsonObject[] = []
  const hosted: JsonObject[] = []
  for (const tool of request.tools) {
    if (tool.cache !== undefined) target.lose('cacheMarks', tool.at)
    switch (tool.type) {
      case 'function':
        functions.push(functionOut(tool, target))
        break
      case 'custom':
        target.lose('customTools', tool.at, tool.format && 'the grammar of its input is not enforced')
        functions.push(customOut(tool))
        break
      case 'hosted': {
        const value = hostedOut(tool, request, target)
        if (value !== undefined) hosted.push(value)
      }
    }
  }
  return functions.length > 0 ? [{ functionDeclarations: functions }, ...hosted] : hosted
}

function functionOut({ name, description, schema, strict, at }: FunctionTool, target: Target): JsonObject {
  const unchecked = new Set<string>()
  const wanted = schema === undefined || isEmpty(schema) ? undefined : schemaOut(schema, unchecked)
  if (strict === true) {
    target.lose(
      'strictTools',
      at,
      unchecked.size > 0 ? `it is not checked for ${[...unchecked].join(', ')}` : undefined,
    )
  }
  return {
    name: wireName(name),
    ...(description !== undefined && { description }),
    ...(wanted !== undefined && { parametersJsonSchema: wanted }),
  }
}

/** Free text is in an object with one text; a grammar in the description, where the model reads it. */
function customOut(tool: CustomTool): JsonObject {
  return { name: wireName(tool.name, true), ...describedCustom(tool), parametersJsonSchema: FREE_TEXT_SCHEMA }
}

const SAYS_NOTHING = new Set(['type', 'properties', 'required', 'additionalProperties', '$schema', 'title'])

/** Whether a schema wants no arguments: the protocol says so by leaving it out, and older models refuse an empty one. */
function isEmpty(schema: JsonObject): boolean {
  const { properties, required, additionalProperties } = schema
  return (
    Object.keys(schema).every(name => SAYS_NOTHING.has(name)) &&
    isNothing(properties) &&
    isNothing(required) &&
    (additionalProperties === undefined || additionalProperties === false)
  )
}

function isNothing(value: Json | undefined): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

const OF_FETCHING = ['allowed_domains', 'blocked_domains', 'max_uses', 'max_content_tokens', 'citations']

function hostedOut(tool: HostedTool, request: TextRequest, target: Target): JsonObject | undefined {
  if (tool.of === PROTOCOL) return tool.value
  switch (tool.kind) {
    case 'web_search':
      target.lose('hostedWebSearch', tool.at, searchLoss(searchSettings(tool), new Set()))
      return { [HOSTED.web_search]: {} }
    case 'code_execution':
      target.lose('hostedCode', tool.at, containerLoss(tool))
      return { [HOSTED.code_execution]: {} }
    case 'web_fetch':
      if (OF_FETCHING.some(name => tool.value[name] !== undefined)) {
        target.lose('hostedWebSearch', tool.at, 'pages are fetched without its settings')
      }
      return { [HOSTED.web_fetch]: {} }
    case 'other':
      return loseHosted(tool, request, target)
  }
}

/**
 * `toolConfig`. Strict functions make the mode VALIDATED where the model may answer in words as well, for all functions
 * alike: calls then follow their schemas, as they do in the mode ANY.
 */
export function toolConfigOut(
  { tools, toolChoice, parallelTools }: TextRequest,
  target: Target,
): JsonObject | undefined {
  if (parallelTools === false) target.lose('parallelTools')
  const hasFunctions = tools.some(({ type }) => type !== 'hosted')
  const isStrict = tools.some(tool => tool.type === 'function' && tool.strict === true)
  if (!hasFunctions) {
    const isDemand =
      toolChoice !== undefined && toolChoice.type !== 'auto' && (toolChoice.type !== 'none' || tools.length > 0)
    if (isDemand) target.lose('toolChoice', undefined, 'only functions can be chosen')
    return undefined
  }
  const calling = callingOut(toolChoice, isStrict ? 'VALIDATED' : 'AUTO', tools, target)
  return calling === undefined ? undefined : { functionCallingConfig: calling }
}

function callingOut(
  choice: ToolChoice | undefined,
  free: string,
  tools: readonly Tool[],
  target: Target,
): JsonObject | undefined {
  if (choice === undefined) return free === 'AUTO' ? undefined : { mode: free }
  switch (choice.type) {
    case 'auto':
      return { mode: free }
    case 'none':
      return { mode: 'NONE' }
    case 'required':
      return { mode: 'ANY' }
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [nameOf(choice.name, tools)] }
    case 'subset':
      target.lose('toolSubset')
      return {
        mode: choice.mode === 'required' ? 'ANY' : 'VALIDATED',
        allowedFunctionNames: choice.names.map(name => nameOf(name, tools)),
      }
  }
}

function nameOf(name: string, tools: readonly Tool[]): string {
  return wireName(
    name,
    tools.some(tool => tool.type === 'custom' && tool.name === name),
  )
}
