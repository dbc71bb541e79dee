import type { Left, TextRequest, Tool, ToolChoice } from '../../core/text.js'
import { invalid, isBounded, type Reader } from '../read.js'
import { decodeCachePoint, PROTOCOL } from './media-in.js'

/** `toolConfig`: tools, each an object with one member that says what it is, and the choice among them. */
export function readTools(config: Reader | undefined, left: Left[]): Pick<TextRequest, 'tools' | 'toolChoice'> {
  const tools: Tool[] = []
  for (const one of config?.objects('tools') ?? []) {
    const point = one.object('cachePoint')
    const last = tools.at(-1)
    if (point === undefined) tools.push(readTool(one))
    else if (last === undefined) left.push({ field: point.at, why: 'there is no tool before it' })
    else tools[tools.length - 1] = { ...last, cache: decodeCachePoint(point) }
  }
  const choice = config?.object('toolChoice')
  return { tools, ...(choice !== undefined && { toolChoice: choiceOf(choice) }) }
}

function readTool(one: Reader): Tool {
  const { at } = one
  if (!isBounded(one.value)) throw invalid(at, 'it is nested too deeply')
  const spec = one.object('toolSpec')
  if (spec === undefined) {
    const name = one.object('systemTool')?.string('name') ?? 'tool'
    return { type: 'hosted', kind: 'other', name, of: PROTOCOL, value: one.value, at }
  }
  const description = spec.string('description')
  const schema = spec.object('inputSchema')?.object('json')?.value
  const strict = spec.boolean('strict')
  return {
    type: 'function',
    name: spec.required('name'),
    at: spec.at,
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema }),
    ...(strict !== undefined && { strict }),
  }
}

function choiceOf(choice: Reader): ToolChoice {
  const tool = choice.object('tool')
  if (tool !== undefined) return { type: 'tool', name: tool.required('name') }
  if (choice.has('any')) return { type: 'required' }
  if (choice.has('auto')) return { type: 'auto' }
  throw invalid(choice.at, 'expected auto, any or tool')
}
