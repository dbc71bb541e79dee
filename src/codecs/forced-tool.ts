import type { Target } from '../core/codec.js'
import { GatewayError } from '../core/errors.js'
import { type JsonObject, parseJson } from '../core/json.js'
import type { FunctionTool, Part, TextEvent, TextRequest, TextResult, ToolChoice } from '../core/text.js'
import { fold, unfold } from './fold.js'
import { badUpstream } from './read.js'

/** Name of the function that stands for a structured answer at upstreams that know no other way to ask for one. */
const FORCED_TOOL = 'gateway_json_answer'

/** Where no schema says what the arguments are. */
const ANY_OBJECT =
  'Gives the answer to the user. The arguments are the whole answer: the members and values of the requested JSON object.'

/**
 * Asks for the structured answer by a function that has to be called. Where the client has tools of its own the model
 * may call one of those instead; where the client itself demands a call, that demand wins and `format` is lost for this
 * turn. Requests without `format` come back as they are. Throws `untranslatable` where the answer shall be
 * something else than an object, which arguments of a function cannot be.
 */
export function forceTool(request: TextRequest, { lose }: Pick<Target, 'lose'>): TextRequest {
  const { format, ...rest } = request
  if (format === undefined) return request
  if (demandsCall(rest.toolChoice)) {
    const field = format.type === 'json' ? 'formatJson' : 'formatSchema'
    lose(field, undefined, 'the model answers in this format by calling a tool, and the client requires another call')
    return rest
  }
  if (rest.tools.some(tool => tool.type !== 'hosted' && tool.name === FORCED_TOOL)) {
    throw new GatewayError('untranslatable', `A tool cannot be named ${FORCED_TOOL} beside a structured answer.`)
  }
  const schema: JsonObject = format.type === 'schema' ? format.schema : { type: 'object' }
  if (schema.type !== undefined && schema.type !== 'object') {
    throw new GatewayError('untranslatable', 'The model can answer with a JSON object only, not with another value.')
  }
  const tool: FunctionTool = {
    type: 'function',
    name: FORCED_TOOL,
    description: format.type === 'json' ? ANY_OBJECT : (format.description ?? 'Gives the answer to the user.'),
    schema: schema.type === undefined ? { type: 'object', ...schema } : schema,
    ...(format.type === 'schema' && format.strict !== undefined && { strict: format.strict }),
  }
  return { ...rest, tools: [...rest.tools, tool], toolChoice: choiceWith(rest) }
}

export function demandsCall(choice: ToolChoice | undefined): boolean {
  return choice?.type === 'subset' ? choice.mode === 'required' : choice?.type === 'required' || choice?.type === 'tool'
}

function choiceWith({ tools, toolChoice }: Pick<TextRequest, 'tools' | 'toolChoice'>): ToolChoice {
  if (toolChoice?.type === 'subset') {
    return { type: 'subset', mode: 'required', names: [...toolChoice.names, FORCED_TOOL] }
  }
  const alone = tools.length === 0 || toolChoice?.type === 'none'
  return alone ? { type: 'tool', name: FORCED_TOOL } : { type: 'required' }
}

/**
 * Turns the call of the forced tool back into the text of the answer: what {@link UnforceStream} does, at once. Throws
 * `bad_upstream_response` for an answer in prose.
 */
export function unforceResult(result: TextResult): TextResult {
  if (!result.candidates.some(({ parts, end }) => parts.some(isForced) || end.reason === 'stop')) return result
  const stream = new UnforceStream()
  return fold(unfold(result).flatMap(event => stream.push(event)))
}

function isJson(text: string): boolean {
  return parseJson(text) !== undefined
}

function isForced(part: Part): boolean {
  return part.type === 'call' && part.name === FORCED_TOOL
}

/**
 * Turns the call of the forced tool back into text while it comes. Text waits until it is known to be the answer, or to
 * go before a call of the client's own; what is said around the forced call is dropped, as it is not JSON.
 */
export class UnforceStream {
  readonly #candidates = new Map<number, Unforcing>()
  #failed = false

  /** The answer ends with an error event where it is prose. */
  push(event: TextEvent): readonly TextEvent[] {
    if (this.#failed) return []
    if (!('candidate' in event)) return [event]
    let candidate = this.#candidates.get(event.candidate)
    if (candidate === undefined) {
      candidate = new Unforcing(event.candidate)
      this.#candidates.set(event.candidate, candidate)
    }
    if (event.type !== 'end') return candidate.part(event)
    const events = candidate.end(event)
    this.#failed = events.at(-1)?.type === 'error'
    return events
  }
}

type PartEvent = Extract<TextEvent, { readonly index: number }>
type EndEvent = Extract<TextEvent, { readonly type: 'end' }>

class Unforcing {
  readonly #candidate: number
  /** New index by the old one; absent where the part is held or dropped. */
  readonly #places = new Map<number, number>()
  #next = 0
  /** Events of text parts that may be dropped yet, and the old indices of those parts. */
  #held: PartEvent[] = []
  readonly #waiting = new Set<number>()
  /** Old index of the forced call, -1 until there is one, and whether arguments came. */
  #forced = -1
  #filled = false
  #otherCalls = false
  #refuses = false

  constructor(candidate: number) {
    this.#candidate = candidate
  }

  part(event: PartEvent): readonly TextEvent[] {
    if (event.type === 'part-start') return this.start(event)
    const index = this.#places.get(event.index)
    if (index === undefined) {
      if (this.#waiting.has(event.index)) this.#held.push(event)
      return []
    }
    if (event.index !== this.#forced) return [{ ...event, index }]
    if (event.type === 'part-delta') {
      this.#filled ||= event.text !== ''
      return [{ type: 'part-delta', candidate: this.#candidate, index, text: event.text }]
    }
    if (event.type !== 'part-end') return []
    const end: TextEvent = { type: 'part-end', candidate: this.#candidate, index }
    return this.#filled ? [end] : [{ type: 'part-delta', candidate: this.#candidate, index, text: '{}' }, end]
  }

  end(event: EndEvent): readonly TextEvent[] {
    if (this.#forced < 0 && !this.#otherCalls && event.end.reason === 'stop' && !this.#refuses && !isJson(this.text)) {
      return [{ type: 'error', error: badUpstream('The model answered in prose instead of JSON.') }]
    }
    const flushed = this.#forced < 0 ? this.flush() : []
    const stop = this.#forced >= 0 && !this.#otherCalls && event.end.reason === 'tool'
    return [...flushed, stop ? { ...event, end: { reason: 'stop' } } : event]
  }

  private start(event: Extract<PartEvent, { readonly type: 'part-start' }>): readonly TextEvent[] {
    const { part } = event
    if (part.type === 'text') {
      if (this.#forced < 0) {
        this.#held.push(event)
        this.#waiting.add(event.index)
      }
      return []
    }
    if (part.type !== 'call' || part.name !== FORCED_TOOL) {
      this.#otherCalls ||= part.type === 'call'
      this.#refuses ||= part.type === 'refusal'
      const flushed = part.type === 'call' && this.#forced < 0 ? this.flush() : []
      return [...flushed, { ...event, index: this.place(event.index) }]
    }
    if (this.#forced >= 0) return []
    this.#forced = event.index
    this.#filled = part.arguments !== ''
    this.#held = []
    this.#waiting.clear()
    const start = { type: 'text', text: part.arguments } as const
    return [{ type: 'part-start', candidate: this.#candidate, index: this.place(event.index), part: start }]
  }

  /** What the parts say that may be dropped yet. */
  private get text(): string {
    return this.#held
      .map(event => {
        if (event.type === 'part-start') return event.part.type === 'text' ? event.part.text : ''
        return event.type === 'part-delta' ? event.text : ''
      })
      .join('')
  }

  private flush(): TextEvent[] {
    const held = this.#held
    this.#held = []
    this.#waiting.clear()
    return held.map(event => ({ ...event, index: this.#places.get(event.index) ?? this.place(event.index) }))
  }

  private place(old: number): number {
    const index = this.#next++
    this.#places.set(old, index)
    return index
  }
}
