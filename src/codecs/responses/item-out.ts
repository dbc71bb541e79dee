import type { AnswerContext, Frame } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import { LongText } from '../../core/long-text.js'
import type { CallPart, Citation, Part, Seal, TextEvent, TokenLogprob } from '../../core/text.js'
import { wrapSeal } from '../seal.js'
import { PROTOCOL } from './fields.js'
import {
  callItem,
  contentOf,
  loseCitation,
  messageItem,
  reasoningItem,
  sealedItem,
  writeAnnotation,
  writeLogprob,
  writeOutput,
} from './output.js'
import type { Sequence } from './response-object.js'

type Delta = Extract<TextEvent, { readonly type: 'part-delta' }>

/** One part of an answer as an output item that grows. */
export class ItemOut {
  readonly part: Part
  /** `output_index`. */
  readonly place: number
  readonly #sequence: Sequence
  readonly #answer: AnswerContext
  readonly #id: string
  /** JSON text of the members that all events of this item share. */
  readonly #where: string
  readonly #text: LongText
  readonly #annotations: JsonObject[] = []
  /** Citations of the whole text, sent when its length is known. */
  readonly #waiting: Citation[] = []
  readonly #logprobs: TokenLogprob[] = []
  #summaryOpen = false
  /** An item that comes whole. */
  #whole: JsonObject = {}

  constructor(part: Part, place: number, sequence: Sequence, answer: AnswerContext) {
    this.part = part
    this.place = place
    this.#sequence = sequence
    this.#text = new LongText(answer.overflow)
    this.#answer = answer
    this.#id = part.type === 'reasoning' && part.id?.startsWith('rs_') === true ? part.id : answer.newId(prefixOf(part))
    this.#where = `"item_id":${JSON.stringify(this.#id)},"output_index":${place}`
  }

  /** The events that announce it; undefined where it has no place in this protocol. */
  open(): readonly Frame[] | undefined {
    const { part } = this
    switch (part.type) {
      case 'text':
      case 'refusal': {
        const opened = [
          this.added(messageItem(this.#id, 'in_progress', [])),
          this.event('response.content_part.added', {
            content_index: 0,
            part: contentOf({ ...part, text: '' }, this.#answer),
          }),
        ]
        return part.text === '' ? opened : [...opened, ...this.grow(part.text)]
      }
      case 'reasoning':
        return [
          this.added(reasoningItem({ ...part, text: '' }, this.#id)),
          ...(part.text === '' ? [] : this.grow(part.text)),
        ]
      case 'call':
        return [
          this.added(callItem({ ...part, arguments: '' }, this.#id, 'in_progress', this.#answer)),
          ...(part.arguments === '' ? [] : this.grow(part.arguments)),
        ]
      default: {
        const [item] = writeOutput([part], this.#answer, 'completed')
        if (item === undefined) return undefined
        this.#whole = item
        // The bytes of an image come with its end.
        return [this.added(part.type === 'media' ? { ...item, status: 'in_progress', result: null } : item)]
      }
    }
  }

  delta({ text, logprobs }: Delta): readonly Frame[] {
    if (logprobs === undefined || this.part.type !== 'text') return this.grow(text)
    for (const one of logprobs) this.#logprobs.push(one)
    return this.grow(text, JSON.stringify(logprobs.map(writeLogprob)))
  }

  cite(citation: Citation): readonly Frame[] {
    const isPlaced = citation.end !== undefined || citation.own?.of === PROTOCOL
    if (isPlaced && this.#waiting.length === 0) return this.annotate(citation)
    this.#waiting.push(citation)
    return []
  }

  private annotate(citation: Citation): readonly Frame[] {
    if (this.part.type !== 'text') return []
    const annotation = writeAnnotation(citation, this.#text.length)
    if (annotation === undefined) {
      loseCitation(this.#answer)
      return []
    }
    this.#annotations.push(annotation)
    const annotation_index = this.#annotations.length - 1
    return [this.event('response.output_text.annotation.added', { content_index: 0, annotation_index, annotation })]
  }

  /** The events that end it, and the item as it then is. */
  close(seal: Seal | undefined): { readonly frames: readonly Frame[]; readonly done: JsonObject } {
    const { part } = this
    const text = this.#text.toString()
    switch (part.type) {
      case 'text': {
        const cited = this.#waiting.flatMap(citation => this.annotate(citation))
        const content = {
          ...contentOf({ type: 'text', text, logprobs: this.#logprobs }, this.#answer),
          annotations: this.#annotations,
        }
        const { logprobs } = content as JsonObject
        const done = sealedItem(messageItem(this.#id, 'completed', [content]), seal ?? part.seal)
        return {
          done,
          frames: [
            ...cited,
            this.event('response.output_text.done', { content_index: 0, text, logprobs: logprobs ?? [] }),
            this.event('response.content_part.done', { content_index: 0, part: content }),
            this.done(done),
          ],
        }
      }
      case 'refusal': {
        const content = contentOf({ type: 'refusal', text }, this.#answer)
        const done = messageItem(this.#id, 'completed', [content])
        return {
          done,
          frames: [
            this.event('response.refusal.done', { content_index: 0, refusal: text }),
            this.event('response.content_part.done', { content_index: 0, part: content }),
            this.done(done),
          ],
        }
      }
      case 'reasoning':
        return this.closeReasoning(text, seal ?? part.seal)
      case 'call':
        return this.closeCall(text, part, seal ?? part.seal)
      default:
        return { done: this.#whole, frames: [this.done(this.#whole)] }
    }
  }

  private closeReasoning(
    text: string,
    seal: Seal | undefined,
  ): { readonly frames: readonly Frame[]; readonly done: JsonObject } {
    const { seal: _seal, ...part } = this.part
    const bare = part.type === 'reasoning' ? part : { type: 'reasoning' as const, text: '' }
    const item = reasoningItem({ ...bare, text }, this.#id)
    const done = seal === undefined ? item : { ...item, encrypted_content: wrapSeal(seal, PROTOCOL, bare) }
    if (!this.#summaryOpen) return { done, frames: [this.done(done)] }
    const summary = { summary_index: 0, part: { type: 'summary_text', text } }
    return {
      done,
      frames: [
        this.event('response.reasoning_summary_text.done', { summary_index: 0, text }),
        this.event('response.reasoning_summary_part.done', summary),
        this.done(done),
      ],
    }
  }

  private closeCall(
    text: string,
    part: CallPart,
    seal: Seal | undefined,
  ): { readonly frames: readonly Frame[]; readonly done: JsonObject } {
    const done = sealedItem(callItem({ ...part, arguments: text }, this.#id, 'completed', this.#answer), seal)
    const ended =
      part.custom === true
        ? this.event('response.custom_tool_call_input.done', { input: text })
        : this.event('response.function_call_arguments.done', {
            name: done.name ?? '',
            arguments: done.arguments ?? '{}',
          })
    return { done, frames: [ended, this.done(done)] }
  }

  private grow(text: string, logprobs = '[]'): readonly Frame[] {
    this.#text.append(text)
    const delta = JSON.stringify(text)
    switch (this.part.type) {
      case 'text':
        return [
          this.#sequence.written(
            'response.output_text.delta',
            `${this.#where},"content_index":0,"delta":${delta},"logprobs":${logprobs}`,
          ),
        ]
      case 'refusal':
        return [this.#sequence.written('response.refusal.delta', `${this.#where},"content_index":0,"delta":${delta}`)]
      case 'reasoning':
        return this.growSummary(delta)
      case 'call': {
        const type = this.part.custom === true ? 'custom_tool_call_input' : 'function_call_arguments'
        return [this.#sequence.written(`response.${type}.delta`, `${this.#where},"delta":${delta}`)]
      }
      default:
        return []
    }
  }

  private growSummary(delta: string): readonly Frame[] {
    const type = 'response.reasoning_summary_text.delta'
    if (this.#summaryOpen) return [this.#sequence.written(type, `${this.#where},"summary_index":0,"delta":${delta}`)]
    this.#summaryOpen = true
    return [
      this.event('response.reasoning_summary_part.added', {
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      }),
      this.#sequence.written(type, `${this.#where},"summary_index":0,"delta":${delta}`),
    ]
  }

  private added(item: JsonObject): Frame {
    return this.#sequence.frame('response.output_item.added', { output_index: this.place, item })
  }

  private done(item: JsonObject): Frame {
    return this.#sequence.frame('response.output_item.done', { output_index: this.place, item })
  }

  private event(type: string, members: JsonObject): Frame {
    return this.#sequence.frame(type, { item_id: this.#id, output_index: this.place, ...members })
  }
}

function prefixOf(part: Part): string {
  switch (part.type) {
    case 'call':
      return part.custom === true ? 'ctc_' : 'fc_'
    case 'reasoning':
      return 'rs_'
    case 'media':
      return 'ig_'
    default:
      return 'msg_'
  }
}
