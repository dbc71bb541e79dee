import { GatewayError } from '../../core/errors.js'
import { type MemberRule, messageRules } from '../../core/members.js'
import { findInMessage } from '../../wire/find-members.js'
import { apply } from '../../wire/json-splice.js'
import { MessageUsage } from '../../wire/message-usage.js'
import { NamedValues } from '../../wire/named-values.js'
import type { TunnelContext } from './context.js'
import { modelCheck } from './model-check.js'

/**
 * What a session's messages are read for: which models the client's name, whether they say where they are to go, and what
 * the upstream's say was used.
 */
export class Messages {
  /** Undefined where nothing is told of that. */
  readonly usage: MessageUsage | undefined
  /** Whether a message of the client may name a model at all. */
  readonly mayNameModel: boolean
  readonly #named: NamedValues
  readonly #check: (name: string) => string | undefined
  readonly #rules: readonly MemberRule[]
  /** The model that may not be used, as far as it is known; whether only its name is not the upstream's. */
  #refused: string | undefined
  #isAlias = false
  /** Whether a model of the message at hand has another name upstream. */
  #renames = false

  /** `changes`: messages are passed on whole, and may be changed before that. */
  constructor({ call, route, exchange }: TunnelContext, changes: boolean) {
    const { messages, usage } = route.protocol ?? { messages: { counted: [] }, usage: undefined }
    this.usage = usage ? new MessageUsage(messages.counted, usage) : undefined
    const rules = messageRules(route.members.of(exchange.upstream.name))
    this.#rules = rules.filter(({ action }) => action === 'model' || action === 'same')
    const barred = rules.filter(({ action }) => action === 'drop' || action === 'refuse').map(({ path }) => path)
    this.mayNameModel = rules.length > 0
    this.#check = modelCheck(call, exchange)
    const mayPass = (name: string): boolean => {
      const known = this.#check(name)
      if (known === name) return true
      if (known !== undefined && changes) {
        this.#renames = true
        return true
      }
      this.#refused = name
      this.#isAlias = known !== undefined
      return false
    }
    const named = this.#rules.map(({ path }) => path)
    this.#named = new NamedValues(named, mayPass, barred)
  }

  /** A message of the client begins. */
  begin(): void {
    this.#renames = false
    this.#named.begin()
  }

  /** More of it; false where it names a model that this caller may not use, or says where it is to go. */
  push(bytes: Buffer, start: number, end: number): boolean {
    if (this.#named.push(bytes, start, end)) return true
    this.#refused ??= ''
    return false
  }

  /** A whole message, which may pass, with the upstream's names of the models that it names. */
  renamed(message: Buffer): Buffer {
    if (!this.#renames) return message
    const { names } = findInMessage(message, this.#rules)
    const edits = names.map(({ text, start, end }) => {
      const name = this.#check(text)
      // The two readers would have to differ for that.
      if (name === undefined) throw new SyntaxError('a model that may not be used')
      return { start, end, bytes: Buffer.from(JSON.stringify(name)) }
    })
    return apply(message, edits)
  }

  /** Why a message may not pass; undefined where all may. */
  get refusal(): GatewayError | undefined {
    if (this.#refused === undefined) return undefined
    const { stoppedAt } = this.#named
    if (stoppedAt !== undefined) {
      const param = stoppedAt.join('.')
      const message = `'${param}' is not allowed: the gateway decides where a session goes.`
      return new GatewayError('invalid_parameter', message, { param })
    }
    const name = this.#refused.slice(0, 256)
    if (this.#isAlias) {
      const message = `Messages pass this tunnel unchanged, and its upstream has another name for \`${name}\`: omit the model from them.`
      return new GatewayError('model_not_found', message)
    }
    return new GatewayError('model_not_found', `The model \`${name}\` does not exist, or this session may not use it.`)
  }
}
