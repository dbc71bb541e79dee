import { createHash } from 'node:crypto'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { HostedTool, Left, Tool, ToolChoice } from '../../core/text.js'
import { given, invalid, leaveOthers, Reader, stringOf } from '../read.js'
import { PROTOCOL } from './fields.js'

/** Longest name that all upstreams take. */
const MAX_NAME_CHARS = 64

/**
 * Names of tools in groups (`{ type: 'namespace', name, tools }`), where other protocols have one list: the
 * group's name and the tool's, joined. What the client calls it is kept with the tool (`Tool.within`), so calls of the
 * answer find the way back; calls of earlier turns, and choices, are joined in the same way.
 */
export class Namespaces {
  readonly #taken: Set<unknown>
  readonly #flat = new Map<string, string>()

  /** `tools`: those of the request, in which names outside groups are kept. */
  constructor(tools: readonly Reader[]) {
    this.#taken = new Set(tools.filter(({ value }) => value.type !== 'namespace').map(({ value }) => value.name))
  }

  /** The joined name; the same for the same two names, and for no other two. */
  flat(namespace: string, name: string): string {
    const key = JSON.stringify([namespace, name])
    const known = this.#flat.get(key)
    if (known !== undefined) return known
    const joined = namespace + (namespace.endsWith('_') || name.startsWith('_') ? '' : '__') + name
    const flat = joined.length > MAX_NAME_CHARS || this.#taken.has(joined) ? digested(joined, key) : joined
    this.#taken.add(flat)
    this.#flat.set(key, flat)
    return flat
  }

  /** The name of what a call, a result or a choice speaks of. */
  nameOf(value: JsonObject, name: string): string {
    return typeof value.namespace === 'string' && value.namespace !== '' ? this.flat(value.namespace, name) : name
  }
}

function digested(joined: string, key: string): string {
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 8)
  return `${joined.slice(0, MAX_NAME_CHARS - digest.length - 1)}_${digest}`
}

/** `name`, and `namespace` where it is in one, of a call to one of these tools. */
export function clientNames(
  tools: readonly Tool[],
  flat: string,
): { readonly name: string; readonly namespace?: string } {
  const tool = tools.find(({ name, type }) => type !== 'hosted' && name === flat)
  return tool?.type === 'hosted' || tool?.within === undefined ? { name: flat } : tool.within
}

/** Deepest schema that is looked through. */
const MAX_DEPTH = 64

/**
 * What it means that a function says nothing of `strict`: an upstream of this protocol then checks arguments by what it
 * can make of the schema. Others check by the unchanged schema or refuse it, so to them it is strict if every object is
 * closed and wants all of its members, and nothing is said of it otherwise.
 */
function strictUnsaid(schema: JsonObject | undefined): true | undefined {
  return schema?.type === 'object' && isStrictSchema(schema) ? true : undefined
}

function isStrictSchema(schema: JsonObject, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false
  const { type, properties, additionalProperties, required } = schema
  const isObjectSchema = type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties)
  if (isObjectSchema) {
    if (additionalProperties !== false) return false
    const wanted = new Set(Array.isArray(required) ? required : [])
    if (!Object.keys(isObject(properties) ? properties : {}).every(name => wanted.has(name))) return false
  }
  return innerOf(schema).every(inner => isStrictSchema(inner, depth + 1))
}

function innerOf({ properties, items, anyOf, $defs, definitions }: JsonObject): readonly JsonObject[] {
  const named = [properties, $defs, definitions].flatMap((each): readonly Json[] =>
    isObject(each) ? Object.values(each) : [],
  )
  const listed: readonly Json[] = Array.isArray(anyOf) ? anyOf : []
  return [...named, ...listed, ...(items === undefined ? [] : [items])].filter(isObject)
}

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
