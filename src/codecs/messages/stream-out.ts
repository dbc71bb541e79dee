import type { AnswerContext, Frame, StreamEncoder } from '../../core/codec.js'
import { errorBody } from '../../core/error-bodies.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import type { Json, JsonObject } from '../../core/json.js'
import { LongText } from '../../core/long-text.js'
import type { CallPart, Citation, End, Part, Seal, TextEvent, TextUsage } from '../../core/text.js'
import { InOrder } from '../in-order.js'
import { MAX_CITATIONS } from '../quotes.js'
import { wrapSeal } from '../seal.js'
import { encodeCitation } from './citations.js'
import { encodeEnd, loseEnd } from './result-in.js'
import { callHead, encodeBorrowedSeal, loseCitation, messageHead, otherBlocks, sealBehind } from './result-out.js'
import { encodeCounts, encodeUsage } from './usage.js'

const PING: Frame = { event: 'ping', data: '{"type":"ping"}' }
const STOP: Frame = { event: 'message_stop', data: '{"type":"message_stop"}' }
const DELTA_END = '}}'

/** The part at hand; `opened` once its block has begun. */
interface Current {
  readonly part: Part
  opened: boolean
  /** Text so far, for citations that quote it, and those whose place has not come yet. */
  readonly text: LongText
  readonly waiting: Citation[]
  cited: number
}

/** Sends an answer as the events of a message. Blocks come one after the other; parts that open meanwhile wait. */
export class MessagesEncoder implements StreamEncoder {
  readonly #answer: AnswerContext
  readonly #order = new InOrder()
  #state: 'before' | 'begun' | 'over' = 'before'
  /** Index of the block at hand, or of the next. */
  #index = 0
  #pinged = false
  #current: Current | undefined
  /** What is before the text of a delta of the block at hand. */
  #prefix = ''
  #calls = false
  #refusal = false
  #end: End = { reason: 'other' }

  constructor(answer: AnswerContext) {
    this.#answer = answer
  }

  push(event: TextEvent): readonly Frame[] {
    if (this.#state === 'over') return []
    if ('candidate' in event && event.candidate !== 0) {
      this.#answer.lose('candidates', 'a message is one answer')
      return []
    }
    const frames: Frame[] = []
    try {
      for (const one of this.#order.push(event)) this.event(one, frames)
    } catch (cause) {
      const error =
        cause instanceof GatewayError ? cause : new GatewayError('internal', 'The gateway failed.', { cause })
      this.error(error, frames)
    }
    return frames
  }

  private event(event: TextEvent, frames: Frame[]): void {
    switch (event.type) {
      case 'part-delta':
        this.delta(event.text, frames)
        break
      case 'part-start':
        this.partStart(event.part, frames)
        break
      case 'part-end':
        this.partEnd(event.seal, frames)
        break
      case 'part-citation':
        this.citation(event.citation, frames)
        break
      case 'start':
        this.start(event.id, event.model, event.usage, frames)
        break
      case 'end':
        this.#end = event.end
        break
      case 'ping':
        if (this.#state === 'begun') this.ping(frames)
        break
      case 'finish':
        this.finish(event.usage, frames)
        break
      case 'error':
        this.error(event.error, frames)
    }
  }

  private ping(frames: Frame[]): void {
    this.#pinged = true
    frames.push(PING)
  }

  private error(error: GatewayError, frames: Frame[]): void {
    const { request_id: _, ...body } = errorBody(error, 'messages', '')
    frames.push({ event: 'error', data: JSON.stringify(body) })
    this.#state = 'over'
  }

  private start(id: string, model: string, usage: TextUsage | undefined, frames: Frame[]): void {
    if (this.#state !== 'before') return
    this.#state = 'begun'
    const message = {
      ...messageHead(id, model, this.#answer),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: encodeUsage(usage, undefined),
    }
    frames.push(frameOf('message_start', { message }))
  }

  private partStart(part: Part, frames: Frame[]): void {
    if (this.#state === 'before') this.start('', '', undefined, frames)
    if (this.#current !== undefined) this.partEnd(undefined, frames)
    this.#current = { part, opened: false, text: new LongText(this.#answer.overflow), waiting: [], cited: 0 }
    switch (part.type) {
      case 'text':
      case 'refusal':
        this.#refusal ||= part.type === 'refusal'
        if (part.text !== '') this.delta(part.text, frames)
        break
      case 'reasoning':
        if (part.redacted === true) break
        this.open({ type: 'thinking', thinking: '', signature: '' }, 'thinking_delta","thinking', frames)
        if (part.text !== '') this.delta(part.text, frames)
        break
      case 'call':
        this.call(part, frames)
        break
      default:
        for (const block of otherBlocks(part, this.#answer.lose)) this.whole(block, frames)
    }
  }

  private call(part: CallPart, frames: Frame[]): void {
    this.#calls = true
    if (part.seal !== undefined) this.whole(encodeBorrowedSeal(part.seal, 'next'), frames)
    this.open({ ...callHead(part.id, part.name), input: {} }, 'input_json_delta","partial_json', frames)
    frames.push(this.deltaFrame(''))
    if (part.custom === true) frames.push(this.deltaFrame('{"input":"'))
    if (part.arguments !== '') this.delta(part.arguments, frames)
  }

  private delta(text: string, frames: Frame[]): void {
    const current = this.#current
    if (current === undefined || text === '') return
    if (!current.opened) {
      const { type } = current.part
      if (type !== 'text' && type !== 'refusal') return
      this.open({ type: 'text', text: '' }, 'text_delta","text', frames)
    }
    if (current.part.type === 'text') current.text.append(text)
    const free = current.part.type === 'call' && current.part.custom === true
    frames.push(this.deltaFrame(free ? JSON.stringify(text).slice(1, -1) : text))
  }

  private deltaFrame(text: string): Frame {
    return { event: 'content_block_delta', data: this.#prefix + JSON.stringify(text) + DELTA_END }
  }

  private citation(citation: Citation, frames: Frame[]): void {
    const current = this.#current
    if (current?.part.type !== 'text') return
    const isComing = citation.quote === undefined && (citation.end ?? 0) > current.text.length
    if (++current.cited > MAX_CITATIONS) loseCitation(this.#answer.lose)
    else if (isComing || current.waiting.length > 0) current.waiting.push(citation)
    else this.cite(citation, current, frames)
  }

  private cite(citation: Citation, current: Current, frames: Frame[]): void {
    const shown = encodeCitation(citation, current.text)
    if (shown === undefined) {
      loseCitation(this.#answer.lose)
      return
    }
    if (!current.opened) this.open({ type: 'text', text: '' }, 'text_delta","text', frames)
    frames.push(this.otherDelta({ type: 'citations_delta', citation: shown }))
  }

  private partEnd(late: Seal | undefined, frames: Frame[]): void {
    const current = this.#current
    if (current === undefined) return
    for (const citation of current.waiting) this.cite(citation, current, frames)
    this.#current = undefined
    const { part, opened } = current
    const seal = late ?? part.seal
    if (part.type === 'reasoning') {
      this.thinkingEnd(current, seal, frames)
      return
    }
    if (part.type === 'call' && part.custom === true) frames.push(this.deltaFrame('"}'))
    if (opened) this.close(frames)
    if (part.type === 'text' || part.type === 'refusal') {
      for (const block of sealBehind(seal, !opened)) this.whole(block, frames)
    } else if (part.type === 'call' && late !== undefined) this.whole(encodeBorrowedSeal(late, 'prev'), frames)
  }

  private thinkingEnd({ part, opened }: Current, seal: Seal | undefined, frames: Frame[]): void {
    const shape = part.type === 'reasoning' ? part : {}
    const signature = seal === undefined ? undefined : wrapSeal(seal, 'messages', shape)
    if (!opened) {
      if (signature !== undefined) this.whole({ type: 'redacted_thinking', data: signature }, frames)
      else this.#answer.lose('reasoning', 'thoughts that are hidden and not sealed have no content')
      return
    }
    if (signature !== undefined) frames.push(this.otherDelta({ type: 'signature_delta', signature }))
    this.close(frames)
  }

  private open(block: JsonObject, delta: string, frames: Frame[]): void {
    if (this.#current !== undefined) this.#current.opened = true
    const index = this.#index
    this.#prefix = `{"type":"content_block_delta","index":${index},"delta":{"type":"${delta}":`
    frames.push(frameOf('content_block_start', { index, content_block: block }))
    if (!this.#pinged) this.ping(frames)
  }

  private close(frames: Frame[]): void {
    frames.push({ event: 'content_block_stop', data: `{"type":"content_block_stop","index":${this.#index}}` })
    this.#index += 1
  }

  /** A block of its own that comes at once. Thoughts tell their signature as they do in streams. */
  private whole(block: JsonObject, frames: Frame[]): void {
    const { signature } = block
    const sealed = block.type === 'thinking' && signature !== undefined
    const held = this.#current
    this.#current = undefined
    this.open(sealed ? { ...block, signature: '' } : block, '', frames)
    if (sealed) frames.push(this.otherDelta({ type: 'signature_delta', signature }))
    this.close(frames)
    this.#current = held
  }

  private otherDelta(delta: Json): Frame {
    return frameOf('content_block_delta', { index: this.#index, delta })
  }

  private finish(usage: TextUsage | undefined, frames: Frame[]): void {
    if (this.#state === 'before') this.start('', '', undefined, frames)
    if (this.#current !== undefined) this.partEnd(undefined, frames)
    const end = this.#end
    loseEnd(end, this.#answer.lose)
    const delta = encodeEnd(end, { calls: this.#calls, refusal: this.#refusal })
    frames.push(frameOf('message_delta', { delta, usage: encodeCounts(usage) }), STOP)
    this.#state = 'over'
  }
}

function frameOf(event: string, members: Readonly<Record<string, Json>>): Frame {
  return { event, data: jsonText({ type: event, ...members }) }
}
