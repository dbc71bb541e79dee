import type { AnswerContext, Frame, StreamEncoder } from '../../core/codec.js'
import { errorBody, exceptionName } from '../../core/error-bodies.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { LongText } from '../../core/long-text.js'
import type { CallPart, Citation, End, Part, Seal, TextEvent, TextUsage } from '../../core/text.js'
import { borrowedSeal, type SealPlace } from '../borrowed-seal.js'
import { InOrder } from '../in-order.js'
import { encodeCallId } from '../messages/names.js'
import { MAX_CITATIONS } from '../quotes.js'
import { wrapSeal } from '../seal.js'
import { encodeCitation } from './citations.js'
import { PROTOCOL } from './media-in.js'
import { encodeEnd, encodeUsage, hostedBlocks, imageOf, loseCitation, loseThought, METRICS } from './result-out.js'
import { encodeRedacted } from './seals.js'

/** The part at hand; `opened` once its block has begun. */
interface Current {
  readonly part: Part
  opened: boolean
  /** Text so far, for citations that quote it, and those whose place has not come yet. */
  readonly text: LongText
  readonly waiting: Citation[]
  cited: number
}

/**
 * Sends an answer as the events of this protocol. Blocks come one after the other; parts that open meanwhile wait. A block of
 * text or thoughts begins with its first delta.
 */
export class ConverseEncoder implements StreamEncoder {
  readonly #answer: AnswerContext
  readonly #order = new InOrder()
  #state: 'before' | 'begun' | 'over' = 'before'
  /** Index of the block at hand, or of the next. */
  #index = 0
  #current: Current | undefined
  #calls = false
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
      for (const one of this.#order.push(event)) this.#event(one, frames)
    } catch (cause) {
      const error =
        cause instanceof GatewayError ? cause : new GatewayError('internal', 'The gateway failed.', { cause })
      this.#error(error, frames)
    }
    return frames
  }

  #event(event: TextEvent, frames: Frame[]): void {
    switch (event.type) {
      case 'part-delta':
        this.#delta(event.text, frames)
        break
      case 'part-start':
        this.#partStart(event.part, frames)
        break
      case 'part-end':
        this.#partEnd(event.seal, frames)
        break
      case 'part-citation':
        this.#citation(event.citation, frames)
        break
      case 'start':
        this.#start(frames)
        break
      case 'end':
        this.#end = event.end
        break
      case 'ping':
        break
      case 'finish':
        this.#finish(event.usage, event.serviceTier, frames)
        break
      case 'error':
        this.#error(event.error, frames)
    }
  }

  #error(error: GatewayError, frames: Frame[]): void {
    frames.push({ event: exceptionName(error), data: JSON.stringify(errorBody(error, PROTOCOL, '')) })
    this.#state = 'over'
  }

  #start(frames: Frame[]): void {
    if (this.#state !== 'before') return
    this.#state = 'begun'
    frames.push(frameOf('messageStart', { role: 'assistant' }))
  }

  #partStart(part: Part, frames: Frame[]): void {
    this.#start(frames)
    this.#partEnd(undefined, frames)
    this.#current = { part, opened: false, text: new LongText(this.#answer.overflow), waiting: [], cited: 0 }
    switch (part.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        if (part.text !== '') this.#delta(part.text, frames)
        break
      case 'call':
        this.#call(part, frames)
        break
      case 'media': {
        const image = imageOf(part)
        if (image !== undefined) this.#image(image, frames)
        else {
          this.#answer.lose(part.kind, 'this protocol answers only in text and images')
          if (part.transcript) this.#piece({ text: part.transcript }, frames)
        }
        break
      }
      default:
        for (const block of hostedBlocks(part, this.#answer.lose)) this.#hosted(block, frames)
    }
  }

  #call({ id, name, seal, custom, arguments: text }: CallPart, frames: Frame[]): void {
    this.#calls = true
    if (seal !== undefined) this.#hidden(seal, 'next', frames)
    this.#opens({ toolUse: { toolUseId: encodeCallId(id), name } }, frames)
    if (custom === true) this.#piece({ toolUse: { input: '{"input":"' } }, frames)
    if (text !== '') this.#delta(text, frames)
  }

  #image({ format, source }: JsonObject, frames: Frame[]): void {
    this.#opens({ image: { format: format ?? 'png' } }, frames)
    this.#piece({ image: { source: source ?? {} } }, frames)
  }

  /** The trace of a tool that ran at the upstream: its call with the input, or its result. */
  #hosted(block: JsonObject, frames: Frame[]): void {
    const { toolUse, toolResult } = block
    if (isObject(toolUse)) {
      const { input, ...begun } = toolUse
      this.#opens({ toolUse: begun }, frames)
      this.#piece({ toolUse: { input: jsonText(input ?? {}) } }, frames)
    } else if (isObject(toolResult)) {
      const { content, ...begun } = toolResult
      this.#opens({ toolResult: begun }, frames)
      this.#piece({ toolResult: content ?? [] }, frames)
    } else this.#answer.lose('hosted', 'streams have no such block')
  }

  #delta(text: string, frames: Frame[]): void {
    const current = this.#current
    if (current === undefined || text === '') return
    const { part } = current
    switch (part.type) {
      case 'text':
        current.text.append(text)
        this.#piece({ text }, frames)
        break
      case 'refusal':
        this.#piece({ text }, frames)
        break
      case 'reasoning':
        if (part.redacted !== true) this.#piece({ reasoningContent: { text } }, frames)
        break
      case 'call':
        this.#piece({ toolUse: { input: part.custom === true ? JSON.stringify(text).slice(1, -1) : text } }, frames)
    }
  }

  #citation(citation: Citation, frames: Frame[]): void {
    const current = this.#current
    if (current?.part.type !== 'text') return
    const isComing = citation.quote === undefined && (citation.end ?? 0) > current.text.length
    if (++current.cited > MAX_CITATIONS) loseCitation(this.#answer.lose)
    else if (isComing || current.waiting.length > 0) current.waiting.push(citation)
    else this.#cite(citation, current, frames)
  }

  #cite(citation: Citation, current: Current, frames: Frame[]): void {
    const shown = encodeCitation(citation, current.text)
    if (shown === undefined) loseCitation(this.#answer.lose)
    else this.#piece({ citation: shown }, frames)
  }

  #partEnd(late: Seal | undefined, frames: Frame[]): void {
    const current = this.#current
    if (current === undefined) return
    for (const citation of current.waiting) this.#cite(citation, current, frames)
    const { part } = current
    const seal = late ?? part.seal
    if (part.type === 'reasoning' && seal !== undefined) {
      const sealed =
        part.redacted === true && !current.opened
          ? { redactedContent: encodeRedacted(seal, part) }
          : { signature: wrapSeal(seal, PROTOCOL, part) }
      this.#piece({ reasoningContent: sealed }, frames)
    } else if (part.type === 'reasoning' && !current.opened) loseThought(this.#answer.lose)
    if (part.type === 'call' && part.custom === true) this.#piece({ toolUse: { input: '"}' } }, frames)
    this.#current = undefined
    if (current.opened) this.#close(frames)
    if ((part.type === 'text' || part.type === 'refusal') && seal !== undefined) {
      this.#hidden(seal, current.opened ? 'prev' : 'text', frames)
    } else if (part.type === 'call' && late !== undefined) this.#hidden(late, 'prev', frames)
  }

  /** Hidden thoughts that hold the seal of what is beside them: a block of its own. */
  #hidden(seal: Seal, place: SealPlace, frames: Frame[]): void {
    const signature = borrowedSeal(seal, place)
    frames.push(this.#deltaFrame({ reasoningContent: { signature } }))
    this.#close(frames)
  }

  #opens(start: Json, frames: Frame[]): void {
    if (this.#current !== undefined) this.#current.opened = true
    frames.push(frameOf('contentBlockStart', { contentBlockIndex: this.#index, start }))
  }

  #piece(delta: Json, frames: Frame[]): void {
    if (this.#current !== undefined) this.#current.opened = true
    frames.push(this.#deltaFrame(delta))
  }

  #deltaFrame(delta: Json): Frame {
    return frameOf('contentBlockDelta', { contentBlockIndex: this.#index, delta })
  }

  #close(frames: Frame[]): void {
    frames.push(frameOf('contentBlockStop', { contentBlockIndex: this.#index }))
    this.#index += 1
  }

  #finish(usage: TextUsage | undefined, serviceTier: string | undefined, frames: Frame[]): void {
    this.#start(frames)
    this.#partEnd(undefined, frames)
    const stopReason = encodeEnd(this.#end, this.#calls, this.#answer.lose)
    const tier = serviceTier === undefined ? {} : { serviceTier: { type: serviceTier } }
    frames.push(
      frameOf('messageStop', { stopReason }),
      frameOf('metadata', { usage: encodeUsage(usage), metrics: METRICS, ...tier }),
    )
    this.#state = 'over'
  }
}

function frameOf(event: string, members: JsonObject): Frame {
  return { event, data: jsonText(members) }
}
