import type { Fields } from '../../families/fields.js'
import { describedTool, readChoice, toolList } from '../../families/tools.js'
import { isObject, type Json } from '../../json.js'
import type { Tool, ToolChoice } from '../../text/conversation.js'

const OURS = ['function', 'custom'] as const
const NONE: ToolChoice = { mode: 'none', names: undefined }

/** The tools that a client carries out itself. Hosted ones are accepted and never used. */
export function readTools(body: Fields): { tools: readonly Tool[]; choice: ToolChoice } {
  const listed = toolList(body, 'tools') ?? []
  const tools = listed.flatMap(tool => (tool.string('type') === 'namespace' ? readGroup(tool) : readTool(tool)))
  const hosted = isHosted(body.raw('tool_choice')) || (tools.length === 0 && listed.length > 0)
  return { tools, choice: hosted ? NONE : readChoice(body, 'tool_choice', tools) }
}

function readTool(tool: Fields): readonly Tool[] {
  const kind = OURS.find(each => each === tool.string('type'))
  return kind === undefined ? [] : [describedTool(kind, tool)]
}

/** `{ type: 'namespace', name, tools }`: calls to these tools say both names. */
function readGroup(group: Fields): readonly Tool[] {
  const namespace = group.need('name', group.string)
  return (group.list('tools') ?? [])
    .flatMap(readTool)
    .map(tool => ({ ...tool, name: `${namespace}__${tool.name}`, within: { namespace, name: tool.name } }))
}

function isHosted(choice: Json | undefined): boolean {
  return isObject(choice) && !['function', 'custom', 'allowed_tools'].includes(String(choice.type))
}
