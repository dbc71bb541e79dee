import { isDeepStrictEqual } from 'node:util'
import type { Target } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { FunctionTool, TextRequest, Tool } from '../../core/text.js'
import { demandsCall } from '../forced-tool.js'
import { describedCustom, FREE_TEXT_SCHEMA } from '../free-text-tools.js'
import { loseHosted } from '../hosted-settings.js'
import { objectSchema, strictSchema } from '../messages/strict-schema.js'
import { marked } from './blocks-out.js'
import { PROTOCOL } from './media-in.js'

/**
 * `toolConfig`; undefined where there are no tools. A conversation with calls needs it, so the tools that these name are in it
 * if the client defines none.
 */
export function encodeTools(request: TextRequest, target: Target): JsonObject | undefined {
  const { toolChoice } = request
  const isOff = toolChoice?.type === 'none'
  const called = calledNames(request)
  if (isOff && called.length === 0) {
    target.lose('toolChoice')
    return undefined
  }
  if (isOff) target.lose('toolChoice', undefined, 'the conversation has calls, so their tools cannot be left out')
  const chosen = toolChoice?.type === 'subset' ? subset(request.tools, toolChoice.names, target) : request.tools
  const tools = chosen.flatMap(tool => encodeTool(tool, request, target))
  if (tools.length === 0) {
    if (demandsCall(toolChoice)) target.lose('toolChoice', undefined, 'there are no tools')
    return called.length === 0 ? undefined : { tools: called.map(standIn) }
  }
  const choice = choiceOf(toolChoice)
  if (request.parallelTools === false) target.lose('parallelTools')
  return { tools, ...(choice !== undefined && { toolChoice: choice }) }
}

function calledNames({ turns }: TextRequest): readonly string[] {
  const calls = turns.flatMap(({ parts }) => parts.flatMap(part => (part.type === 'call' ? [part.name] : [])))
  return [...new Set(calls)]
}

function standIn(name: string): JsonObject {
  return { toolSpec: { name, inputSchema: { json: { type: 'object' } } } }
}

function subset(tools: readonly Tool[], names: readonly string[], target: Target): readonly Tool[] {
  target.lose('toolSubset')
  return tools.filter(tool => names.includes(tool.name))
}

function choiceOf(choice: TextRequest['toolChoice']): JsonObject | undefined {
  switch (choice?.type) {
    case 'auto':
      return { auto: {} }
    case 'required':
      return { any: {} }
    case 'tool':
      return { tool: { name: choice.name } }
    case 'subset':
      return choice.mode === 'required' ? { any: {} } : { auto: {} }
    default:
      return undefined
  }
}

function encodeTool(tool: Tool, request: TextRequest, target: Target): readonly JsonObject[] {
  switch (tool.type) {
    case 'function':
      return marked({ toolSpec: encodeFunction(tool, target) }, tool, target)
    case 'custom':
      target.lose('customTools', tool.at, tool.format && 'the grammar of its input is not enforced')
      return marked(
        { toolSpec: { name: tool.name, ...describedCustom(tool), inputSchema: { json: FREE_TEXT_SCHEMA } } },
        tool,
        target,
      )
    case 'hosted': {
      if (tool.of === PROTOCOL) return [tool.value]
      if (tool.kind === 'web_search') target.lose('hostedWebSearch', tool.at)
      else loseHosted(tool, request, target, tool.kind === 'code_execution' ? 'hostedCode' : 'hostedOther')
      return []
    }
  }
}

function encodeFunction({ name, description, schema, strict, at }: FunctionTool, target: Target): JsonObject {
  const asked = objectSchema(schema)
  if (asked.description !== schema?.description) target.lose('tools', at)
  const isChecked = strict === true && target.traits.structured !== 'tool'
  if (strict === true && !isChecked) target.lose('strictTools', at, 'the model does not check arguments')
  const json = isChecked ? strictSchema(asked, at) : asked
  if (isChecked && !isDeepStrictEqual(json, asked)) target.lose('strictTools', at)
  return {
    name,
    // An empty description is refused.
    ...(description !== undefined && description !== '' && { description }),
    inputSchema: { json },
    ...(isChecked && { strict: true }),
  }
}
