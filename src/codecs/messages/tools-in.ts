import type { HostedTool, Left, TextRequest, Tool, ToolChoice } from '../../core/text.js'
import { invalid, isBounded, type Reader } from '../read.js'

import { cacheOf } from './blocks-in.js'

/** Members of a function that no other protocol knows. */
const OWN = ['eager_input_streaming', 'allowed_callers', 'defer_loading', 'input_examples'] as const

/** Name of the hosted tool that `mcp_servers` stands for. */
export const SERVERS = 'mcp_servers'

export function readTools(body: Reader, left: Left[]): Tool[] {
  return [...readFunctions(body, left), ...readServers(body)]
}

/** Servers whose tools the upstream calls itself. */
function readServers(body: Reader): HostedTool[] {
  const servers = body.array(SERVERS) ?? []
  if (servers.length === 0) return []
  if (!servers.every(isBounded)) throw invalid(SERVERS, 'it is nested too deeply')
  return [{ type: 'hosted', kind: 'other', name: SERVERS, of: 'messages', value: { [SERVERS]: servers }, at: SERVERS }]
}

function readFunctions(body: Reader, left: Left[]): Tool[] {
  return (body.objects('tools') ?? []).map(tool => {
    const type = tool.string('type')
    if (!isBounded(tool.value)) throw invalid(tool.at, 'it is nested too deeply')
    if (type !== undefined && type !== 'custom') {
      return { type: 'hosted', kind: kindOf(type), name: type, of: 'messages', value: tool.value, at: tool.at }
    }
    for (const name of OWN) {
      const value = tool.raw(name)
      if (value !== undefined && value !== false) {
        left.push({ field: tool.path(name), why: 'only tools of this protocol have it' })
      }
    }
    const description = tool.string('description')
    const schema = tool.object('input_schema')?.value
    const strict = tool.boolean('strict')
    return {
      type: 'function',
      name: tool.required('name'),
      ...(description !== undefined && { description }),
      ...(schema !== undefined && { schema }),
      ...(strict !== undefined && { strict }),
      ...cacheOf(tool),
      at: tool.at,
    }
  })
}

function kindOf(type: string): HostedTool['kind'] {
  const kinds = ['web_search', 'code_execution', 'web_fetch'] as const
  return kinds.find(kind => type.startsWith(`${kind}_`)) ?? 'other'
}

export function readToolChoice(body: Reader): Pick<TextRequest, 'toolChoice' | 'parallelTools'> {
  const choice = body.object('tool_choice')
  if (choice === undefined) return {}
  const serial = choice.boolean('disable_parallel_tool_use') === true
  return { toolChoice: choiceOf(choice), ...(serial && { parallelTools: false }) }
}

function choiceOf(choice: Reader): ToolChoice {
  const type = choice.required('type')
  switch (type) {
    case 'auto':
    case 'none':
      return { type }
    case 'any':
      return { type: 'required' }
    case 'tool':
      return { type, name: choice.required('name') }
    default:
      throw invalid(choice.path('type'), 'expected auto, any, tool or none')
  }
}
