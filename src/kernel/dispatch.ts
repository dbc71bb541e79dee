import { estimate } from '../codecs/index.js'
import type { GatewayError } from '../core/errors.js'
import type { Exchange, Route, Translation } from '../core/plan.js'
import type { UpstreamRequest } from '../net/pools.js'
import type { DecodedRequest } from '../translate/decode.js'
import { translatorOf } from '../translate/pair.js'
import type { Translator } from '../translate/translator.js'
import { noteCause } from './account.js'
import { Attempt } from './attempt.js'
import type { Body, HeldBody } from './body.js'
import type { Call } from './call.js'
import type { Failure } from './failure.js'
import { GatedAttempt } from './gated-attempt.js'
import { bodyWithMembers } from './members.js'
import { passAnswer } from './passed-refusal.js'
import { logFailed } from './trail.js'
import { decodeRequest } from './translate/decoded-request.js'
import { sendOthers } from './translate/document.js'
import { hooksOf } from './translate/hooks.js'
import { RemoteMedia } from './translate/media.js'
import type { OtherCalls } from './translate/other-calls.js'
import { answerEstimate, othersOf, translatedRequest } from './translate/request.js'
import { isLarge } from './translate/steps.js'
import { buildLargeRequest, buildRequest } from './upstream-request.js'
import type { Work } from './watchdog.js'

/**
 * Walks the ordered targets of a call until one begins to answer. Each target is tried once; a connection that broke
 * before any byte (a kept-alive one that the upstream was just closing) may repeat its target once.
 */
export class Dispatch implements Work {
  readonly #call: Call
  readonly #route: Route
  readonly #body: Body
  readonly #exchanges: readonly Exchange[]
  #next = 0
  #tries = 0
  #repeated = false
  #attempt: Attempt | undefined
  /** The attempt at the target at hand, from before its gates on. */
  #gated: GatedAttempt | undefined
  /** The client's request as its protocol has it, once a target that speaks another one has come up. */
  #decoded: DecodedRequest | undefined
  #media: RemoteMedia | undefined
  /** Calls beside the one at hand, of requests that take several. */
  #others: OtherCalls | undefined
  readonly #started = performance.now()
  readonly #otherwise: (failure: Failure) => boolean

  /** `otherwise` is asked about the last failure: where it is true, the caller answers the request in another way. */
  constructor(
    call: Call,
    route: Route,
    body: Body,
    exchanges: readonly Exchange[],
    otherwise: (failure: Failure) => boolean = () => false,
  ) {
    this.#call = call
    this.#route = route
    this.#body = body
    this.#exchanges = exchanges
    this.#otherwise = otherwise
  }

  start(): void {
    this.#call.work = this
    this.try()
  }

  check(now: number): void {
    this.#attempt?.check(now)
  }

  cancel(): void {
    this.#media?.cancel()
    this.#others?.cancel()
    this.#attempt?.cancel()
    if (this.#attempt?.isDraining !== true) this.#gated?.end('cancelled', undefined, this.#call.error)
  }

  cut(error: GatewayError): boolean {
    return this.#attempt?.cut(error) ?? false
  }

  private try(): void {
    const exchange = this.#exchanges[this.#next]
    if (exchange === undefined) throw new Error('no exchange is left')
    this.#next++
    this.#tries++
    this.#gated = new GatedAttempt(this.#call, exchange)
    this.#gated.pass(
      () => this.ask(exchange),
      shut => this.skip(shut),
    )
  }

  /** A stage gives this target up before it is asked. */
  private skip(shut: GatewayError): void {
    if (this.#next >= this.#exchanges.length) throw shut
    this.#tries--
    this.try()
  }

  private ask(exchange: Exchange): void {
    const { translation } = exchange
    if (translation === undefined && this.#body.type === 'bytes' && isLarge(this.#body.bytes.length)) {
      this.relayLarge(exchange, this.#body).catch((cause: unknown) => this.#call.fail(cause))
    } else if (translation === undefined) this.relay(exchange)
    else this.translate(exchange, translation).catch((cause: unknown) => this.#call.fail(cause))
  }

  private relay(exchange: Exchange): void {
    const attempt = this.attempt(exchange, undefined)
    let request: UpstreamRequest
    try {
      request = buildRequest(this.#call, exchange, bodyWithMembers(this.#call, exchange, this.#body))
    } catch (cause) {
      this.#call.fail(cause)
      return
    }
    attempt.send(request)
  }

  private async relayLarge(exchange: Exchange, body: HeldBody): Promise<void> {
    const call = this.#call
    const request = await buildLargeRequest(call, exchange, bodyWithMembers(call, exchange, body))
    // No copy is sent.
    if (request.body === body.bytes) call.bodyMemory.shrink(body.bytes.length)
    call.cancellation.throwIfCancelled()
    this.attempt(exchange, undefined).send(request)
  }

  private async translate(exchange: Exchange, translation: Translation): Promise<void> {
    const call = this.#call
    const body = bodyWithMembers(call, exchange, this.#body)
    const decoded =
      (body === this.#body ? this.#decoded : undefined) ?? (await decodeRequest(call, body, translation.server))
    // What one exchange gets otherwise than it came is read for that one alone.
    if (body === this.#body) this.#decoded = decoded
    if (translation.client === estimate) {
      this.#gated?.end('skipped')
      answerEstimate(call, translation.server, decoded)
      return
    }
    call.cancellation.throwIfCancelled()
    const strict = call.caller?.strict === true
    this.#media ??= new RemoteMedia(call)
    const whole = await this.#media.inlined(decoded, translation)
    call.cancellation.throwIfCancelled()
    const translator = translatorOf(whole, exchange, translation, strict, hooksOf(call))
    const request = await translatedRequest(call, exchange, translator, whole)
    // Where the first one is repeated, the others are under way.
    const known = this.#others
    const others = known ?? (await othersOf(call, exchange, translator, whole))
    call.cancellation.throwIfCancelled()
    call.losses = translator.losses
    // While the upstream works only the request's bytes are in memory; for another target they are decoded again.
    if (!this.#media.holds && translator.letGo()) {
      this.#decoded = undefined
      call.memory.release()
    }
    if (others !== undefined) translator.others = others
    this.#others = others
    this.attempt(exchange, translator).send(request)
    // The first one may have failed at once.
    if (known === undefined && this.#others === others) others?.start()
  }

  private attempt(exchange: Exchange, translator: Translator | undefined): Attempt {
    const mayYield = this.#next < this.#exchanges.length && this.hasTries(exchange)
    const gated = this.#gated
    if (gated === undefined) throw new Error('an attempt passes its gates first')
    const attempt = new Attempt(gated, this.#route, translator, this.#started, mayYield, failure =>
      this.failed(exchange, failure, translator),
    )
    this.#attempt = attempt
    return attempt
  }

  private failed(exchange: Exchange, failure: Failure, translator: Translator | undefined): void {
    const call = this.#call
    const again = this.mayTryAgain(exchange, failure)
    if (call.kernel.sink.debugs) logFailed(call, exchange, failure, again ? this.#exchanges[this.#next] : undefined)
    const others = this.#others
    const isRepeated = again && this.#exchanges[this.#next] === exchange
    if (!isRepeated) this.#others = undefined
    if (again) {
      if (!isRepeated) others?.cancel()
      noteCause(call, failure)
      this.try()
    } else if (this.#otherwise(failure)) this.#attempt = undefined
    else if (others !== undefined && translator !== undefined) {
      this.#others = others
      this.rescue(exchange, failure, translator).catch((cause: unknown) => call.fail(cause))
    } else this.logFailure(failure)
  }

  /** Where one call of several fails, the client gets what the others came to. */
  private async rescue(exchange: Exchange, failure: Failure, translator: Translator): Promise<void> {
    const call = this.#call
    const write = (bytes: Uint8Array): void => void call.write(bytes, () => undefined)
    // What the others used has been counted.
    const answering = { call, route: this.#route, exchange, usage: undefined, write, complete: () => undefined }
    const isAnswered = await sendOthers(answering, translator)
    if (!isAnswered) this.logFailure(failure)
  }

  private logFailure(failure: Failure): void {
    const call = this.#call
    if (failure.answer !== undefined) passAnswer(call, failure.answer, failure.error)
    else call.fail(failure.error)
  }

  /** Whether the declared rule allows another try; leaves `#next` at the target to be tried. */
  private mayTryAgain(exchange: Exchange, { condition }: Failure): boolean {
    if (!this.hasTries(exchange) || !exchange.retry.covers(condition)) return false
    if (this.#next < this.#exchanges.length) return true
    if (condition !== 'reset' || this.#repeated) return false
    this.#repeated = true
    this.#next--
    return true
  }

  private hasTries({ retry }: Exchange): boolean {
    return this.#body.type !== 'stream' && this.#tries < retry.attempts
  }
}
