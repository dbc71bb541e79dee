import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Part, Seal, TextEvent, TokenLogprob } from '../../core/text.js'
import { readLogprobs } from '../compatible-settings.js'
import { arrayOf, badUpstream, numberOf, stringOf } from '../read.js'
import { reasoningOf } from './items-in.js'
import { readAnnotation, sealOfItem } from './output.js'
import { callOf, partOfContent, partsOfItem } from './result-in.js'

/** Most parts of one message. */
const MAX_PARTS = 1000

/** A part of the item at hand. */
interface Open {
  readonly index: number
  filled: boolean
  /** How many citations have been sent. */
  cited: number
  ended: boolean
}

/**
 * One output item of a stream, as it grows; `made` is the id of a call that has none. Deltas are sent unchanged; what only a
 * `done` event says (some servers send
 * no deltas) is sent then.
 */
export class ItemIn {
  readonly isCall: boolean
  readonly #item: JsonObject
  readonly #made: string
  readonly #next: { index: number }
  /** By content index; thoughts and calls have one part, at 0. */
  readonly #parts = new Map<number, Open>()
  /** Arguments with which a call was announced: all that it has where no others come. */
  #announced = ''
  /** How a thought is sent, as its summary or itself, and the index of the text that was sent last. */
  #thought: 'summary' | 'content' | undefined
  #textAt = -1
  /** What its end says of its seal. */
  #seal: Seal | undefined
  refused = false
  isDone = false

  constructor(item: JsonObject, made: string, next: { index: number }) {
    this.#item = item
    this.#made = made
    this.#next = next
    this.isCall = item.type === 'function_call' || item.type === 'custom_tool_call'
  }

  isSame({ type, id }: JsonObject): boolean {
    return type === this.#item.type && id === this.#item.id
  }

  open(events: TextEvent[]): void {
    if (!this.isCall) return
    const call = callOf(this.#item, this.#made)
    this.#announced = call.arguments
    this.start(0, { ...call, arguments: '' }, events)
  }

  delta(type: string, event: JsonObject, events: TextEvent[]): void {
    const text = stringOf(event.delta) ?? ''
    const thought = thoughtOf(type)
    if (thought !== undefined) {
      this.think(thought, event, text, false, events)
      return
    }
    const open = this.partFor(type, event, events)
    if (open.ended) throw badUpstream(DONE)
    this.grow(open, text, events, readLogprobs(event.logprobs))
  }

  other(type: string, event: JsonObject, events: TextEvent[]): void {
    switch (type) {
      case 'response.content_part.added':
        if (isObject(event.part)) this.contentPart(event, event.part, events)
        return
      case 'response.output_text.annotation.added': {
        const open = this.partFor('response.output_text.delta', event, events)
        if (open.ended) throw badUpstream(DONE)
        open.cited += 1
        for (const citation of readAnnotation(event.annotation ?? null)) {
          events.push({ type: 'part-citation', candidate: 0, index: open.index, citation })
        }
        return
      }
      case 'response.output_text.done':
      case 'response.refusal.done':
      case 'response.reasoning_text.done':
      case 'response.reasoning_summary_text.done':
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        this.fill(type, event, events)
    }
  }

  /** The item as it is in the end: sends the rest of it. */
  complete(item: JsonObject, events: TextEvent[]): void {
    this.isDone = true
    if (this.isCall) this.settle(0, callOf(item, this.#made), events)
    else if (item.type === 'message') {
      for (const [place, content] of arrayOf(item.content).entries()) {
        const part = isObject(content) ? partOfContent(content) : undefined
        if (part !== undefined) this.settle(place, part, events)
      }
    } else for (const [place, part] of partsOfItem(item, this.#made).entries()) this.settle(place, part, events)
    this.#seal = item.type === 'reasoning' ? reasoningOf(item).seal : sealOfItem(item)
  }

  end(events: TextEvent[]): void {
    const seal = this.#seal
    const open = [...this.#parts.values()].filter(({ ended }) => !ended)
    for (const [i, part] of open.entries()) {
      if (!part.filled) this.grow(part, this.#announced, events)
      part.ended = true
      const { index } = part
      const sealed = seal !== undefined && i === open.length - 1
      events.push(sealed ? { type: 'part-end', candidate: 0, index, seal } : { type: 'part-end', candidate: 0, index })
    }
  }

  /** A part as it is in the end. */
  private settle(place: number, part: Part, events: TextEvent[]): void {
    const open = this.#parts.get(place)
    if (open === undefined) {
      this.tell(place, part, events)
      return
    }
    if (open.ended) return
    const { citations = [], logprobs } = part.type === 'text' ? part : {}
    if (!open.filled) this.grow(open, textOf(part), events, logprobs)
    for (const citation of citations.slice(open.cited)) {
      events.push({ type: 'part-citation', candidate: 0, index: open.index, citation })
    }
    open.cited = Math.max(open.cited, citations.length)
  }

  private tell(place: number, part: Part, events: TextEvent[]): void {
    const { seal: _seal, ...bare } = part
    switch (bare.type) {
      case 'text': {
        const { citations: _citations, logprobs: _logprobs, ...rest } = bare
        this.start(place, { ...rest, text: '' }, events)
        this.settle(place, part, events)
        return
      }
      case 'reasoning':
      case 'refusal':
        this.refused ||= bare.type === 'refusal'
        this.grow(this.start(place, { ...bare, text: '' }, events), bare.text, events)
        return
      default:
        this.start(place, bare, events)
    }
  }

  private contentPart(event: JsonObject, part: JsonObject, events: TextEvent[]): void {
    if (this.isCall) return
    if (part.type === 'output_text') this.partFor('response.output_text.delta', event, events)
    else if (part.type === 'refusal') this.partFor('response.refusal.delta', event, events)
  }

  /** The part that a delta goes to; it begins with its first event. */
  private partFor(type: string, event: JsonObject, events: TextEvent[]): Open {
    if (this.isCall !== isOfCall(type)) throw badUpstream('A delta does not match its item.')
    const place = this.#item.type === 'message' ? placeOf(event.content_index) : 0
    const open = this.#parts.get(place)
    if (open !== undefined) return open
    if (this.isCall) throw badUpstream('A delta does not match its item.')
    const isRefusal = type === 'response.refusal.delta'
    this.refused ||= isRefusal
    return this.start(place, isRefusal ? { type: 'refusal', text: '' } : { type: 'text', text: '' }, events)
  }

  /**
   * Text of a thought: a piece, or a whole one that may have come in pieces. Texts of one thought are one, with a blank
   * line between two of them; where a server sends both a summary and the thought itself, the one that comes first counts.
   */
  private think(
    kind: 'summary' | 'content',
    event: JsonObject,
    text: string,
    isWhole: boolean,
    events: TextEvent[],
  ): void {
    if (this.isCall) throw badUpstream('A delta does not match its item.')
    this.#thought ??= kind
    const at = placeOf(kind === 'summary' ? event.summary_index : event.content_index)
    if (text === '' || this.#thought !== kind || (isWhole && at <= this.#textAt)) return
    const open = this.#parts.get(0) ?? this.start(0, this.thought(kind), events)
    if (open.ended) throw badUpstream(DONE)
    const isNext = at > this.#textAt && this.#textAt >= 0
    this.#textAt = Math.max(at, this.#textAt)
    this.grow(open, isNext ? `\n\n${text}` : text, events)
  }

  private thought(kind: 'summary' | 'content'): Part {
    const id = stringOf(this.#item.id) ?? ''
    return {
      type: 'reasoning',
      text: '',
      ...(kind === 'summary' && { summary: true }),
      ...(id !== '' && { id }),
    }
  }

  private fill(type: string, event: JsonObject, events: TextEvent[]): void {
    const text = stringOf(event.text ?? event.refusal ?? event.arguments ?? event.input) ?? ''
    if (text === '') return
    const thought = thoughtOf(type)
    if (thought !== undefined) {
      this.think(thought, event, text, true, events)
      return
    }
    const open = this.partFor(type.replace('.done', '.delta'), event, events)
    if (!open.filled && !open.ended) this.grow(open, text, events, readLogprobs(event.logprobs))
  }

  private start(place: number, part: Part, events: TextEvent[]): Open {
    if (this.#parts.size >= MAX_PARTS) throw badUpstream('An item has too many parts.')
    const open: Open = { index: this.#next.index++, filled: false, cited: 0, ended: false }
    this.#parts.set(place, open)
    events.push({ type: 'part-start', candidate: 0, index: open.index, part })
    return open
  }

  private grow(open: Open, text: string, events: TextEvent[], logprobs?: readonly TokenLogprob[]): void {
    if (text === '') return
    open.filled = true
    const { index } = open
    events.push(
      logprobs === undefined
        ? { type: 'part-delta', candidate: 0, index, text }
        : { type: 'part-delta', candidate: 0, index, text, logprobs },
    )
  }
}

const DONE = 'Content arrived for an item that was done.'

function thoughtOf(type: string): 'summary' | 'content' | undefined {
  if (type.startsWith('response.reasoning_summary_text.')) return 'summary'
  return type.startsWith('response.reasoning_text.') ? 'content' : undefined
}

function isOfCall(type: string): boolean {
  return type === 'response.function_call_arguments.delta' || type === 'response.custom_tool_call_input.delta'
}

function textOf(part: Part): string {
  if (part.type === 'call') return part.arguments
  return 'text' in part ? part.text : ''
}

function placeOf(value: Json | undefined): number {
  const place = numberOf(value) ?? 0
  return Number.isInteger(place) && place >= 0 ? place : 0
}
