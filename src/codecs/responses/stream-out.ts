import type { AnswerContext, Frame, StreamEncoder } from '../../core/codec.js'
import { compatibleError } from '../../core/error-bodies.js'
import type { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import type { End, TextEvent, TextUsage } from '../../core/text.js'
import { ItemOut } from './item-out.js'
import { loseSeal } from './output.js'
import { incompleteReason, ResponseBase, Sequence, sayEnd } from './response-object.js'

const NOTHING: readonly Frame[] = []
/** Index of the part that says a refusal which came without one; no other part has it. */
const DECLINED = -1

/**
 * A stream of ResponseStreamEvent with its whole ladder: each item is added, grows and is done; the last event repeats the
 * entire output. Answers beside the first have no place here.
 */
export class ResponsesStreamEncoder implements StreamEncoder {
  readonly #answer: AnswerContext
  readonly #sequence = new Sequence()
  readonly #items = new Map<number, ItemOut>()
  readonly #output: JsonObject[] = []
  #base: ResponseBase | undefined
  #usage: TextUsage | undefined
  #end: End = { reason: 'other' }
  #over = false
  #refused = false

  constructor(answer: AnswerContext) {
    this.#answer = answer
  }

  push(event: TextEvent): readonly Frame[] {
    if (this.#over) return NOTHING
    if ('candidate' in event && event.candidate !== 0) {
      this.#answer.lose('candidates', 'responses give one answer')
      return NOTHING
    }
    switch (event.type) {
      case 'part-delta':
        return this.#items.get(event.index)?.delta(event) ?? NOTHING
      case 'start':
        return this.start(event)
      case 'part-start':
        return this.begin(event)
      case 'part-citation':
        return this.#items.get(event.index)?.cite(event.citation) ?? NOTHING
      case 'part-end':
        return this.finishItem(event)
      case 'end':
        this.#end = event.end
        return NOTHING
      case 'ping':
        return NOTHING
      case 'finish':
        this.#over = true
        return this.finish(event)
      case 'error':
        this.#over = true
        return this.fail(event.error)
    }
  }

  private base(): ResponseBase {
    this.#base ??= new ResponseBase(this.#answer, { model: '' })
    return this.#base
  }

  private start(event: Extract<TextEvent, { readonly type: 'start' }>): readonly Frame[] {
    this.#usage = event.usage
    const { model, created } = event
    this.#base = new ResponseBase(this.#answer, created === undefined ? { model } : { model, created })
    return this.opening()
  }

  private opening(): readonly Frame[] {
    const response = this.base().with('in_progress', [])
    return [
      this.#sequence.frame('response.created', { response }),
      this.#sequence.frame('response.in_progress', { response }),
    ]
  }

  private begin({ index, part }: Extract<TextEvent, { readonly type: 'part-start' }>): readonly Frame[] {
    const frames: Frame[] = this.#base === undefined ? [...this.opening()] : []
    this.#refused ||= part.type === 'refusal'
    loseSeal(part, part.seal, this.#answer)
    const item = new ItemOut(part, this.#output.length, this.#sequence, this.#answer)
    const added = item.open()
    if (added === undefined) return frames
    this.#items.set(index, item)
    // Keeps its place among the items until it is done.
    this.#output.push({})
    frames.push(...added)
    return frames
  }

  private finishItem({ index, seal }: Extract<TextEvent, { readonly type: 'part-end' }>): readonly Frame[] {
    const item = this.#items.get(index)
    if (item === undefined) return NOTHING
    this.#items.delete(index)
    const { frames, done } = item.close(seal)
    this.#output[item.place] = done
    loseSeal(item.part, seal, this.#answer)
    return frames
  }

  private finish(event: Extract<TextEvent, { readonly type: 'finish' }>): readonly Frame[] {
    const frames: Frame[] = this.#base === undefined ? [...this.opening()] : []
    for (const index of [...this.#items.keys()]) {
      frames.push(...this.finishItem({ type: 'part-end', candidate: 0, index }))
    }
    frames.push(...this.decline())
    sayEnd(this.#end, this.#answer)
    const status = incompleteReason(this.#end) === undefined ? 'completed' : 'incomplete'
    const { usage = this.#usage, serviceTier } = event
    const output = this.#output.map(item => (item.type === 'message' ? { ...item, status } : item))
    const response = this.base().with(status, output, { usage, tier: serviceTier, end: this.#end })
    return [...frames, this.#sequence.frame(`response.${status}`, { response })]
  }

  /** There is no finish reason for a refusal here: a part says it, which other protocols may leave out. */
  private decline(): readonly Frame[] {
    if (this.#end.reason !== 'refusal' || this.#refused) return NOTHING
    const part = { type: 'refusal', text: this.#end.detail ?? '' } as const
    const begun = this.begin({ type: 'part-start', candidate: 0, index: DECLINED, part })
    return [...begun, ...this.finishItem({ type: 'part-end', candidate: 0, index: DECLINED })]
  }

  /** As recorded: an `error` event with its members nested and flat, and then `response.failed`. */
  private fail(error: GatewayError): readonly Frame[] {
    const inner = compatibleError(error)
    const failure = this.#sequence.frame('error', {
      error: inner,
      code: inner.code ?? null,
      message: error.message,
      param: inner.param ?? null,
    })
    if (this.#base === undefined) return [failure]
    const done = this.#output.filter(item => item.type !== undefined)
    const response = { ...this.#base.with('failed', done), error: { code: codeOf(error), message: error.message } }
    return [failure, this.#sequence.frame('response.failed', { response })]
  }
}

/** Codes of a failed response are few. */
function codeOf({ code }: GatewayError): string {
  return code === 'rate_limited' ? 'rate_limit_exceeded' : 'server_error'
}
