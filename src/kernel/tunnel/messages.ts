import { GatewayError } from '../../core/errors.js'
import { MessageUsage } from '../../wire/message-usage.js'
import { NamedValues } from '../../wire/named-values.js'
import type { Place } from './attempt.js'
import { modelJudge } from './model-judge.js'

/** What a session's messages are read for: which models the client's name, and what the upstream's say was used. */
export class Messages {
  /** Undefined where nothing is told of that. */
  readonly usage: MessageUsage | undefined
  /** Whether a message of the client may name a model at all. */
  readonly mayName: boolean
  readonly #named: NamedValues
  /** The model that may not be used, as far as it is known. */
  #refused: string | undefined

  constructor({ call, route, exchange }: Place) {
    const { messages, usage } = route.protocol ?? { messages: { model: [], counted: [] }, usage: undefined }
    this.usage = usage && messages.counted.length > 0 ? new MessageUsage(messages.counted, usage) : undefined
    this.mayName = messages.model.length > 0
    const judge = modelJudge(call, route, exchange)
    this.#named = new NamedValues(messages.model, name => {
      if (judge(name)) return true
      this.#refused = name
      return false
    })
  }

  /** A message of the client begins. */
  begin(): void {
    this.#named.begin()
  }

  /** More of it; false where it names a model that this caller may not use. */
  push(bytes: Buffer, start: number, end: number): boolean {
    if (this.#named.push(bytes, start, end)) return true
    this.#refused ??= ''
    return false
  }

  /** Why a message may not pass; undefined where all may. */
  get refusal(): GatewayError | undefined {
    if (this.#refused === undefined) return undefined
    const name = this.#refused.slice(0, 256)
    return new GatewayError('model_not_found', `The model \`${name}\` does not exist, or this session may not use it.`)
  }
}
