import { GatewayError } from '../../core/errors.js'
import { type MemberRule, messageRules } from '../../core/members.js'
import { findInMessage } from '../../wire/find-members.js'
import { apply } from '../../wire/json-splice.js'
import { MessageUsage } from '../../wire/message-usage.js'
import { NamedValues } from '../../wire/named-values.js'
import type { TunnelContext } from './context.js'
import { modelCheck } from './model-check.js'

/**
 * Reads a session's messages: the models that the client's name, members that would decide where the session goes, and the
 * usage that the upstream's report.
 */
export class Messages {
  /** Undefined if the protocol's messages report no usage. */
  readonly usage: MessageUsage | undefined
  /** Whether a message of the client may name a model at all. */
  readonly mayNameModel: boolean
  readonly #named: NamedValues
  readonly #check: (name: string) => string | undefined
  readonly #rules: readonly MemberRule[]
  /** The name, where read, of a model that may not pass; `#isAlias`: only because the upstream has another name for it. */
  #refused: string | undefined
  #isAlias = false
  /** Whether the current message names a model that has another name at the upstream. */
  #renames = false

  /** `changes`: messages are passed on whole, so names in them can be replaced. */
  constructor({ call, route, exchange, gated }: TunnelContext, changes: boolean) {
    const { messages, usage } = route.protocol ?? { messages: { counted: [] }, usage: undefined }
    this.usage = usage ? new MessageUsage(messages.counted, usage) : undefined
    gated.unreported = this.usage?.unreported
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

  /** More of the message; false if it names a model that this caller may not use, or decides where the session goes. */
  push(bytes: Buffer, start: number, end: number): boolean {
    if (this.#named.push(bytes, start, end)) return true
    this.#refused ??= ''
    return false
  }

  /** A whole message that may pass, with the upstream's names of its models. */
  renamed(message: Buffer): Buffer {
    if (!this.#renames) return message
    const { names } = findInMessage(message, this.#rules)
    const edits = names.map(({ text, start, end }) => {
      const name = this.#check(text)
      // Only possible if the two readers disagreed.
      if (name === undefined) throw new SyntaxError('a model that may not be used')
      return { start, end, bytes: Buffer.from(JSON.stringify(name)) }
    })
    return apply(message, edits)
  }

  /** Why a message may not pass; undefined if none was refused. */
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
