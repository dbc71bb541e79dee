import type { AnswerContext, Frame, StreamEncoder } from '../../core/codec.js'
import { compatibleError } from '../../core/error-bodies.js'
import type { TextEvent, TextUsage } from '../../core/text.js'
import { answeredTier } from '../compatible-settings.js'
import { ChoiceEncoder, type ChunkHead } from './choice-out.js'
import { writeUsage } from './result-in.js'
import { idOf } from './result-out.js'

const DONE: Frame = { data: '[DONE]' }

/**
 * A stream of CreateChatCompletionStreamResponse. Every chunk has the same id, time and model. Where the client asked for
 * usage every chunk says `usage: null`, and one without choices tells it before `[DONE]`. After an error there is no
 * `[DONE]`: clients raise what is in the chunk.
 */
export class ChatStreamEncoder implements StreamEncoder {
  readonly #answer: AnswerContext
  readonly #choices: (ChoiceEncoder | undefined)[] = []
  #head: ChunkHead | undefined
  #usage: TextUsage | undefined
  #over = false

  constructor(answer: AnswerContext) {
    this.#answer = answer
  }

  push(event: TextEvent): readonly Frame[] {
    if (this.#over) return []
    switch (event.type) {
      case 'part-start':
      case 'part-delta':
      case 'part-citation':
      case 'part-end':
      case 'end':
        return this.choice(event.candidate).push(event)
      case 'start':
        this.#usage = event.usage
        this.#head = this.headOf(event)
        return this.choice(0).begin()
      case 'ping':
        return []
      case 'finish':
        this.#over = true
        return this.finish(event)
      case 'error':
        this.#over = true
        return [{ data: JSON.stringify({ error: compatibleError(event.error) }) }]
    }
  }

  private headOf(start: { readonly id: string; readonly model: string; readonly created?: number }): ChunkHead {
    const { request, now } = this.#answer
    const id = JSON.stringify(idOf(start.id, this.#answer))
    const model = JSON.stringify(start.model === '' ? request.model : start.model)
    const created = JSON.stringify(start.created ?? now)
    return {
      chunk: `{"id":${id},"object":"chat.completion.chunk","created":${created},"model":${model},"choices":[`,
      tail: request.streamUsage ? ',"usage":null}' : '}',
    }
  }

  private choice(index: number): ChoiceEncoder {
    let choice = this.#choices[index]
    if (choice === undefined) {
      this.#head ??= this.headOf({ id: '', model: '' })
      choice = new ChoiceEncoder(index, this.#head, this.#answer)
      this.#choices[index] = choice
    }
    return choice
  }

  private finish(event: Extract<TextEvent, { readonly type: 'finish' }>): readonly Frame[] {
    const usage = event.usage ?? this.#usage
    if (!this.#answer.request.streamUsage || usage === undefined) return [DONE]
    this.#head ??= this.headOf({ id: '', model: '' })
    const word = answeredTier(event.serviceTier)
    const tier = word === undefined ? '' : `,"service_tier":"${word}"`
    return [{ data: `${this.#head.chunk}]${tier},"usage":${JSON.stringify(writeUsage(usage))}}` }, DONE]
  }
}
