import { isObject } from '../../core/json.js'
import type { HostedTool, Left, Tool, ToolChoice } from '../../core/text.js'
import { given, leaveOthers } from '../members.js'
import { invalid, Reader, stringOf } from '../read.js'
import { PROTOCOL } from './protocol.js'
import { strictUnsaid } from './strict-default.js'

/** `tools`: flat functions and custom tools, and tools that run at the upstream. */
export function readTools(body: Reader, left: Left[]): Tool[] {
  return (body.objects('tools') ?? []).map(tool => readTool(tool, left))
}

function readTool(tool: Reader, left: Left[]): Tool {
  const type = tool.required('type')
  const { at } = tool
  switch (type) {
    case 'function':
      leaveOthers(tool, new Set(['type', 'name', 'description', 'parameters', 'strict']), left)
      return {
        type,
        name: tool.required('name'),
        at,
        ...given({
          description: tool.string('description'),
          schema: tool.object('parameters')?.value,
          // The protocol's own default, which no other one shares.
          strict: tool.boolean('strict') ?? strictUnsaid(tool.object('parameters')?.value),
        }),
      }
    case 'custom': {
      leaveOthers(tool, new Set(['type', 'name', 'description', 'format']), left)
      const format = tool.object('format')?.value
      return {
        type,
        name: tool.required('name'),
        at,
        ...given({ description: tool.string('description') }),
        ...(format !== undefined && format.type !== 'text' && { format }),
      }
    }
    default:
      return { type: 'hosted', kind: kindOf(type), name: type, of: PROTOCOL, value: tool.value, at }
  }
}

function kindOf(type: string): HostedTool['kind'] {
  if (type.startsWith('web_search')) return 'web_search'
  return type === 'code_interpreter' ? 'code_execution' : 'other'
}

export function readToolChoice(body: Reader): ToolChoice | undefined {
  const choice = body.raw('tool_choice')
  if (choice === undefined) return undefined
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  if (!isObject(choice)) throw invalid('tool_choice', 'expected auto, none, required or an object')
  const reader = new Reader(choice, 'tool_choice')
  const type = reader.required('type')
  if (type === 'function' || type === 'custom') return { type: 'tool', name: reader.required('name') }
  if (type === 'allowed_tools') {
    const names = (reader.objects('tools') ?? []).map(tool => stringOf(tool.value.name) ?? tool.required('type'))
    return { type: 'subset', mode: reader.string('mode') === 'required' ? 'required' : 'auto', names }
  }
  // A tool that runs at the upstream is chosen by its type.
  return { type: 'tool', name: stringOf(choice.name) ?? type }
}
