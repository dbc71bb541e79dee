import { createHash } from 'node:crypto'
import type { Part, TextEvent, TextRequest, TextResult, Tool, ToolChoice } from '../core/text.js'
import { encodeCallId } from './messages/names.js'

/** Protocols whose upstreams take names of tools of at most 64 letters, digits, `_` and `-`. */
const NARROW: ReadonlySet<string> = new Set(['chat', 'responses', 'converse'])
const TAKEN = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * Names of tools that an upstream would refuse, for a request to `protocol`: each becomes one that it takes, and calls of
 * the answer get the client's name back. The same name becomes the same in every turn. Undefined where there is none.
 */
export function narrowNames(request: TextRequest, protocol: string): NarrowNames | undefined {
  if (!NARROW.has(protocol)) return undefined
  const names = new Map<string, string>()
  for (const name of namesOf(request)) if (!TAKEN.test(name)) names.set(name, narrowed(name))
  return names.size === 0 ? undefined : new NarrowNames(names)
}

function* namesOf({ tools, turns, toolChoice }: TextRequest): Generator<string> {
  for (const tool of tools) if (tool.type !== 'hosted') yield tool.name
  for (const { parts } of turns) for (const part of parts) if (part.type === 'call') yield part.name
  if (toolChoice?.type === 'tool') yield toolChoice.name
  if (toolChoice?.type === 'subset') yield* toolChoice.names
}

/** What can be read of the name, and a digest that tells it from others like it. */
export function narrowed(name: string): string {
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, 55).replace(/[^a-zA-Z0-9_-]/g, '_')}_${digest}`
}

/** Longest ids of calls, in characters, of protocols that bound them; older upstreams of `chat` take the fewest. */
const MAX_ID_CHARS: ReadonlyMap<string, number> = new Map([
  ['chat', 40],
  ['responses', 64],
  ['converse', 64],
])

/** The request with ids of calls that an upstream of `protocol` takes, in calls and results alike: long ones as digests. */
export function shortIds(request: TextRequest, protocol: string): TextRequest {
  const most = MAX_ID_CHARS.get(protocol) ?? Number.POSITIVE_INFINITY
  const lengthOf = (id: string): number => (protocol === 'converse' ? encodeCallId(id) : id).length
  const isLong = (part: Part): boolean => (part.type === 'call' || part.type === 'result') && lengthOf(part.id) > most
  if (!request.turns.some(({ parts }) => parts.some(isLong))) return request
  const short = (part: Part): Part =>
    (part.type === 'call' || part.type === 'result') && isLong(part) ? { ...part, id: idDigest(part.id) } : part
  return { ...request, turns: request.turns.map(turn => ({ ...turn, parts: turn.parts.map(short) })) }
}

function idDigest(id: string): string {
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}

export class NarrowNames {
  readonly #out: ReadonlyMap<string, string>
  readonly #back: ReadonlyMap<string, string>

  constructor(names: ReadonlyMap<string, string>) {
    this.#out = names
    this.#back = new Map([...names].map(([name, wire]) => [wire, name]))
  }

  request(request: TextRequest): TextRequest {
    const { toolChoice } = request
    return {
      ...request,
      tools: request.tools.map(tool => this.tool(tool)),
      turns: request.turns.map(turn => ({ ...turn, parts: turn.parts.map(part => renamed(part, this.#out)) })),
      ...(toolChoice !== undefined && { toolChoice: this.choice(toolChoice) }),
    }
  }

  result(result: TextResult): TextResult {
    const candidates = result.candidates.map(candidate => ({
      ...candidate,
      parts: candidate.parts.map(part => renamed(part, this.#back)),
    }))
    return { ...result, candidates }
  }

  event(event: TextEvent): TextEvent {
    return event.type === 'part-start' ? { ...event, part: renamed(event.part, this.#back) } : event
  }

  private tool(tool: Tool): Tool {
    return tool.type === 'hosted' ? tool : { ...tool, name: this.#out.get(tool.name) ?? tool.name }
  }

  private choice(choice: ToolChoice): ToolChoice {
    switch (choice.type) {
      case 'tool':
        return { ...choice, name: this.#out.get(choice.name) ?? choice.name }
      case 'subset':
        return { ...choice, names: choice.names.map(name => this.#out.get(name) ?? name) }
      default:
        return choice
    }
  }
}

function renamed(part: Part, names: ReadonlyMap<string, string>): Part {
  if (part.type === 'call') return { ...part, name: names.get(part.name) ?? part.name }
  if (part.type !== 'result' || part.name === undefined) return part
  return { ...part, name: names.get(part.name) ?? part.name }
}
