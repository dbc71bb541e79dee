import type { Fields } from '../../families/fields.js'
import { describedTool, readChoice, toolList } from '../../families/tools.js'
import type { Tool, ToolChoice } from '../../text/conversation.js'

export interface ToolSet {
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice
  /** Whether the older `functions` were used, and are to be answered in kind. */
  readonly legacy: boolean
}

/** The tools of a body and the choice among them. */
export function readTools(body: Fields): ToolSet {
  const functions = toolList(body, 'functions')
  if (functions !== undefined) {
    const tools = functions.map(each => describedTool('function', each))
    return { tools, choice: readChoice(body, 'function_call', tools), legacy: true }
  }
  const tools = (toolList(body, 'tools') ?? []).map(tool)
  return { tools, choice: readChoice(body, 'tool_choice', tools), legacy: false }
}

function tool(definition: Fields): Tool {
  const kind = definition.oneOf('type', ['function', 'custom']) ?? 'function'
  return describedTool(kind, definition.need(kind, definition.fields))
}
