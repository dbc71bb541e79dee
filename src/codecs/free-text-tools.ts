import type { Target } from '../core/codec.js'
import { jsonText } from '../core/exact-json.js'
import type { JsonObject } from '../core/json.js'
import type { CustomTool, FunctionTool, Part, TextEvent, TextRequest, TextResult, Tool, Turn } from '../core/text.js'
import { narrowed } from './narrow-names.js'
import { badUpstream, objectOf, parseObject, stringOf } from './read.js'

/**
 * Names that a tool can keep in protocols that know functions alone. Those that begin as the codecs' own rewritten names
 * are left to the codecs.
 */
const LEGAL: Readonly<Record<string, RegExp>> = {
  messages: /^(?!gw1c?_)[a-zA-Z0-9_-]{1,128}$/,
  converse: /^[a-zA-Z0-9_-]{1,64}$/,
  generate: /^(?!gwc?__)[A-Za-z_][A-Za-z0-9_:.-]{0,127}$/,
}

/** Protocols whose codecs write no names of their own: a tool beside a function of its name gets one here. */
const RENAMED: ReadonlySet<string> = new Set(['converse'])

/** Most characters of the arguments of one call that has to be whole before its text is known. */
const MAX_ARGUMENTS_CHARS = 16 * 1024 * 1024

/**
 * Tools that take free text, for a request to a `protocol` that knows functions alone: each becomes a function of one
 * text, under the client's name for it where that is free, because instructions speak of it by that name. Undefined where there is none.
 */
export function freeTextTools(request: TextRequest, protocol: string): FreeTextTools | undefined {
  const legal = LEGAL[protocol]
  if (legal === undefined) return undefined
  const functions = new Set(request.tools.filter(({ type }) => type === 'function').map(({ name }) => name))
  const names = new Map<string, string>()
  const add = (name: string): void => {
    if (legal.test(name) && !functions.has(name)) names.set(name, name)
    else if (RENAMED.has(protocol)) names.set(name, narrowed(name))
  }
  for (const tool of request.tools) if (tool.type === 'custom') add(tool.name)
  for (const { parts } of request.turns) {
    for (const part of parts) if (part.type === 'call' && part.custom === true) add(part.name)
  }
  return names.size === 0 ? undefined : new FreeTextTools(names)
}

export class FreeTextTools {
  /** Names of functions by the clients' names of tools, and the other way round. */
  readonly #names: ReadonlyMap<string, string>
  readonly #back: ReadonlyMap<string, string>

  constructor(names: ReadonlyMap<string, string>) {
    this.#names = names
    this.#back = new Map([...names].map(([name, wire]) => [wire, name]))
  }

  request(request: TextRequest, { lose }: Pick<Target, 'lose'>): TextRequest {
    const { toolChoice } = request
    const chosen = toolChoice?.type === 'tool' ? this.#names.get(toolChoice.name) : undefined
    return {
      ...request,
      ...(chosen !== undefined && { toolChoice: { type: 'tool', name: chosen } }),
      tools: request.tools.map(tool => this.tool(tool, lose)),
      turns: request.turns.map(turn => this.turn(turn)),
    }
  }

  result(result: TextResult): TextResult {
    const candidates = result.candidates.map(candidate => ({
      ...candidate,
      parts: candidate.parts.map(part => this.freed(part)),
    }))
    return { ...result, candidates }
  }

  /** The client's name of the tool that a call of an answer is of. */
  calledBy(part: Part): string | undefined {
    return part.type === 'call' ? this.#back.get(part.name) : undefined
  }

  private freed(part: Part): Part {
    const name = this.calledBy(part)
    return name === undefined
      ? part
      : { ...(part as Call), name, arguments: textOf((part as Call).arguments), custom: true }
  }

  private tool(tool: Tool, lose: Target['lose']): Tool {
    if (tool.type !== 'custom' || !this.#names.has(tool.name)) return tool
    lose('customTools', tool.at, tool.format && 'the grammar of its input is not enforced')
    return functionOf({ ...tool, name: this.#names.get(tool.name) ?? tool.name })
  }

  private turn(turn: Turn): Turn {
    return turn.parts.some(isFreeText) ? { ...turn, parts: turn.parts.map(part => this.functionCall(part)) } : turn
  }

  private functionCall(part: Part): Part {
    const name = isFreeText(part) ? this.#names.get(part.name) : undefined
    if (name === undefined) return part
    const { custom: _custom, ...call } = part as Call
    return { ...call, name, arguments: jsonText({ input: call.arguments }) }
  }
}

type Call = Extract<Part, { readonly type: 'call' }>

function isFreeText(part: Part): part is Call {
  return part.type === 'call' && part.custom === true
}

function functionOf(tool: CustomTool): FunctionTool {
  const { type: _type, format: _format, description: _description, ...rest } = tool
  return { ...rest, type: 'function', ...describedCustom(tool), schema: FREE_TEXT_SCHEMA }
}

/** Arguments of a function that replaces a tool of free text. */
export const FREE_TEXT_SCHEMA: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
}

/** The description of that function. A grammar is part of it, where the model reads it. */
export function describedCustom({ description, format }: CustomTool): { readonly description?: string } {
  const grammar = stringOf(objectOf(format?.grammar)?.definition) ?? stringOf(format?.definition)
  const said = [description, grammar && `The input has to follow this grammar:\n${grammar}`].filter(Boolean)
  return said.length > 0 ? { description: said.join('\n\n') } : {}
}

/** What the model wrote of the one text; all of it where it wrote something else. */
function textOf(json: string): string {
  return stringOf(parseObject(json)?.input) ?? json
}

/** Gives calls of such tools their text: it is known when their arguments, which come as JSON, are whole. */
export class FreeTextStream {
  readonly #tools: FreeTextTools
  readonly #open = new Map<string, { readonly pieces: string[]; length: number }>()

  constructor(tools: FreeTextTools) {
    this.#tools = tools
  }

  push(event: TextEvent): readonly TextEvent[] {
    switch (event.type) {
      case 'part-start': {
        const { part } = event
        const name = this.#tools.calledBy(part)
        if (name === undefined || part.type !== 'call' || part.custom === true) return [event]
        this.#open.set(keyOf(event), { pieces: [part.arguments], length: part.arguments.length })
        return [{ ...event, part: { ...part, name, arguments: '', custom: true } }]
      }
      case 'part-delta': {
        const call = this.#open.size === 0 ? undefined : this.#open.get(keyOf(event))
        if (call === undefined) return [event]
        call.length += event.text.length
        if (call.length > MAX_ARGUMENTS_CHARS) throw badUpstream('The arguments of a call are too long.')
        call.pieces.push(event.text)
        return []
      }
      case 'part-end': {
        const call = this.#open.size === 0 ? undefined : this.#open.get(keyOf(event))
        if (call === undefined) return [event]
        this.#open.delete(keyOf(event))
        const { candidate, index } = event
        return [{ type: 'part-delta', candidate, index, text: textOf(call.pieces.join('')) }, event]
      }
      default:
        return [event]
    }
  }
}

function keyOf({ candidate, index }: { readonly candidate: number; readonly index: number }): string {
  return `${candidate}:${index}`
}
