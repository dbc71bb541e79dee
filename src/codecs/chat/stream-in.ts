import type { Frame, StreamDecoder } from '../../core/codec.js'
import type { GatewayError } from '../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Citation, TextEvent, TextUsage } from '../../core/text.js'
import { errorInside } from '../compatible-errors.js'
import { readLogprobs } from '../compatible-settings.js'
import { MadeIds } from '../made-ids.js'
import { badUpstream, numberOf, objectOf, parseEvent, stringOf, truncated } from '../read.js'
import { ChoiceDecoder } from './choice-in.js'
import { asGatewayError, MAX_CHOICES, readSources, readUsage } from './result-in.js'

const NOTHING: readonly TextEvent[] = []

/**
 * Events of a stream of CreateChatCompletionStreamResponse. It is whole when every choice has a `finish_reason` and either
 * `[DONE]` or the end of the transfer follows: some servers never send `[DONE]`, others send it after usage and forget the
 * `finish_reason`. Anything else is broken off.
 */
export class ChatStreamDecoder implements StreamDecoder {
  readonly #choices: (ChoiceDecoder | undefined)[] = []
  #ids: MadeIds | undefined
  #done = false
  #usage: TextUsage | undefined
  #serviceTier: string | undefined
  #sources: readonly Citation[] = []

  push(frame: Frame): readonly TextEvent[] {
    const { data } = frame
    if (this.#done || (data === '' && frame.event !== 'error')) return NOTHING
    if (data.startsWith('[DONE]')) return this.finish()
    const events: TextEvent[] = []
    try {
      if (frame.event === 'error') throw errorInside(parseError(data), 'stream_error')
      this.read(parseEvent(data), events)
    } catch (error) {
      this.fail(asGatewayError(error), events)
    }
    return events
  }

  end(): readonly TextEvent[] {
    if (this.#done) return NOTHING
    return this.#choices.every(choice => choice === undefined || choice.ended)
      ? this.finish()
      : this.fail(truncated(), [])
  }

  private read(chunk: JsonObject, events: TextEvent[]): void {
    if (chunk.error !== undefined && chunk.error !== null) throw errorInside(chunk, 'stream_error')
    const { choices } = chunk
    if (Array.isArray(choices)) {
      for (const choice of choices) this.readChoice(choice, chunk, events)
    } else if (!isObject(chunk.usage) && chunk.object !== 'chat.completion.chunk') {
      throw badUpstream('An event of the stream is not a chunk.')
    }
    // Some servers have an object of their own for it.
    for (const name in chunk) if (name.startsWith('x_')) this.count(objectOf(chunk[name])?.usage)
    this.count(chunk.usage)
    if (typeof chunk.service_tier === 'string') this.#serviceTier = chunk.service_tier
  }

  private readChoice(choice: Json, chunk: JsonObject, events: TextEvent[]): void {
    if (!isObject(choice)) throw badUpstream('A choice is not an object.')
    if (this.#ids === undefined) this.start(chunk, events)
    this.count(choice.usage)
    const state = this.choiceAt(choice.index)
    const delta = choice.delta ?? choice.message
    const logprobs = readLogprobs(objectOf(choice.logprobs)?.content)
    if (isObject(delta)) state.read(delta, logprobs, events)
    const reason = choice.finish_reason
    if (typeof reason !== 'string' || reason === '') return
    if (reason === 'error') throw errorInside(choice.error === undefined ? chunk : choice, 'stream_error')
    state.finish(reason, choice.stop_reason, this.sourcesOf(chunk), events)
  }

  /** Later counts replace earlier ones; what they leave out stays. */
  private count(usage: Json | undefined): void {
    const counted = readUsage(usage)
    if (counted !== undefined) this.#usage = { ...this.#usage, ...counted }
  }

  private start(chunk: JsonObject, events: TextEvent[]): void {
    const id = stringOf(chunk.id) ?? ''
    const model = stringOf(chunk.model) ?? ''
    const created = numberOf(chunk.created)
    this.#ids = new MadeIds(id)
    events.push(created === undefined ? { type: 'start', id, model } : { type: 'start', id, model, created })
  }

  private choiceAt(value: Json | undefined): ChoiceDecoder {
    const index = value === undefined || value === null ? 0 : numberOf(value)
    if (index === undefined || !Number.isInteger(index) || index < 0 || index >= MAX_CHOICES) {
      throw badUpstream('A choice has an invalid index.')
    }
    let choice = this.#choices[index]
    if (choice === undefined) {
      choice = new ChoiceDecoder(index, this.#ids ?? new MadeIds(''))
      this.#choices[index] = choice
    }
    return choice
  }

  /** Servers that name their sources beside the choices do so in every chunk. */
  private sourcesOf(chunk: JsonObject): readonly Citation[] {
    const sources = readSources(chunk)
    if (sources.length > 0) this.#sources = sources
    return this.#sources
  }

  private finish(): readonly TextEvent[] {
    const seen = this.#choices.filter(choice => choice !== undefined)
    const ended = seen.every(choice => choice.ended) || this.#usage !== undefined
    const events: TextEvent[] = []
    if (seen.length === 0 || !ended) return this.fail(truncated(), events)
    this.#done = true
    for (const choice of seen) choice.finish('', undefined, this.#sources, events)
    const usage = this.#usage === undefined ? {} : { usage: this.#usage }
    const tier = this.#serviceTier === undefined ? {} : { serviceTier: this.#serviceTier }
    events.push({ type: 'finish', ...usage, ...tier })
    return events
  }

  private fail(error: GatewayError, events: TextEvent[]): readonly TextEvent[] {
    this.#done = true
    events.push({ type: 'error', error })
    return events
  }
}

/** What an event named `error` says, in any form. */
function parseError(data: string): JsonObject {
  try {
    return parseEvent(data)
  } catch {
    return data === '' ? {} : { error: data }
  }
}
