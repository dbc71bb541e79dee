import { isObject, type JsonObject } from '../../core/json.js'
import type { HostedTool, Left, Tool, ToolChoice } from '../../core/text.js'
import { given, leaveOthers } from '../members.js'
import { invalid, Reader, stringOf } from '../read.js'
import type { Namespaces } from './namespaces.js'
import { PROTOCOL } from './protocol.js'
import { strictUnsaid } from './strict-default.js'

/** `tools`: flat functions and custom tools, groups of these, and tools that run at the upstream. */
export function readTools(body: Reader, left: Left[], names: Namespaces): Tool[] {
  return (body.objects('tools') ?? []).flatMap(tool =>
    tool.value.type === 'namespace' ? readGroup(tool, left, names) : readTool(tool, left),
  )
}

/** The tools of a group, each with what the group says of itself. */
function readGroup(group: Reader, left: Left[], names: Namespaces): Tool[] {
  leaveOthers(group, new Set(['type', 'name', 'description', 'tools']), left)
  const namespace = group.required('name')
  const about = group.string('description')
  return (group.objects('tools') ?? []).map(reader => {
    const tool = readTool(reader, left)
    if (tool.type === 'hosted') return tool
    const description = [about, tool.description].filter(Boolean).join('\n\n')
    return {
      ...tool,
      name: names.flat(namespace, tool.name),
      within: { namespace, name: tool.name },
      ...(description !== '' && { description }),
    }
  })
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

export function readToolChoice(body: Reader, names: Namespaces): ToolChoice | undefined {
  const choice = body.raw('tool_choice')
  if (choice === undefined) return undefined
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  if (!isObject(choice)) throw invalid('tool_choice', 'expected auto, none, required or an object')
  const reader = new Reader(choice, 'tool_choice')
  const type = reader.required('type')
  if (type === 'function' || type === 'custom') {
    return { type: 'tool', name: names.nameOf(choice, reader.required('name')) }
  }
  if (type === 'namespace') return { type: 'subset', mode: 'required', names: namesWithin(body, choice, names) }
  if (type === 'allowed_tools') {
    const allowed = (reader.objects('tools') ?? []).flatMap(tool => chosenNames(body, tool, names))
    return { type: 'subset', mode: reader.string('mode') === 'required' ? 'required' : 'auto', names: allowed }
  }
  // A tool that runs at the upstream is chosen by its type.
  return { type: 'tool', name: type }
}

function chosenNames(body: Reader, tool: Reader, names: Namespaces): readonly string[] {
  const type = tool.required('type')
  if (type === 'namespace') return namesWithin(body, tool.value, names)
  return type === 'function' || type === 'custom' ? [names.nameOf(tool.value, tool.required('name'))] : [type]
}

/** Names of all tools of a group. */
function namesWithin(body: Reader, { name: namespace }: JsonObject, names: Namespaces): readonly string[] {
  if (typeof namespace !== 'string') throw invalid('tool_choice', 'it names no group of tools')
  const groups = (body.objects('tools') ?? []).filter(
    ({ value }) => value.type === 'namespace' && value.name === namespace,
  )
  return groups
    .flatMap(group => (group.objects('tools') ?? []).flatMap(tool => stringOf(tool.value.name) ?? []))
    .map(name => names.flat(namespace, name))
}
