import { estimate } from '../codecs/index.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange, Route, Translation } from '../core/plan.js'
import type { UpstreamRequest } from '../net/pools.js'
import type { DecodedRequest } from '../translate/decode.js'
import { translatorOf } from '../translate/pair.js'
import type { Translator } from '../translate/translator.js'
import { Attempt } from './attempt.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import { chainOf } from './chain.js'
import { changedBody, changesOf } from './changes.js'
import type { Failure } from './failure.js'
import { GatedAttempt } from './gated-attempt.js'
import { noteCause } from './outcome.js'
import { passAnswer } from './passed-refusal.js'
import { pause } from './pause.js'
import type { Race } from './race.js'
import { sentAmounts } from './sent-amounts.js'
import type { Maybe, Next } from './stages.js'
import { isInSteps, takenBody } from './taken-body.js'
import { logFailed } from './trail.js'
import { decodeRequest } from './translate/decoded-request.js'
import { sendOthers } from './translate/document.js'
import { hooksOf } from './translate/hooks.js'
import { RemoteMedia } from './translate/media.js'
import type { OtherCalls } from './translate/other-calls.js'
import { answerEstimate, othersOf, translatedRequest } from './translate/request.js'
import { buildLargeRequest, buildRequest } from './upstream-request.js'
import { Walk } from './walk.js'
import type { Work } from './watchdog.js'

const NOTHING: Pick<Next, 'left' | 'waitMs'> = { left: [], waitMs: 0 }

/** A target that is being asked, from before its gates on. */
interface Asked {
  readonly gated: GatedAttempt
  attempt: Attempt | undefined
  translator: Translator | undefined
}

interface Failed extends Asked {
  readonly failure: Failure
}

/**
 * Walks the ordered targets of a call until one begins to answer. A model may have a second one asked beside one that does not answer
 * (a hedge): the first that has content wins, and as long as one lives, the failure of the other only waits to be noted.
 */
export class Dispatch implements Work, Race<Attempt> {
  readonly #call: Call
  readonly #route: Route
  readonly #body: Body
  readonly #walk: Walk
  #asked: Asked | undefined
  #hedge: Asked | undefined
  /** The attempt of two that has failed, as long as the other lives. */
  #failed: Failed | undefined
  /** An answer of status 200 that refused the content: the client gets it if no other target answers. */
  #refused: Failed | undefined
  /** When another target is asked beside the one at hand, monotonic, milliseconds. */
  #hedgeAt = Number.POSITIVE_INFINITY
  /** The client's request as its protocol has it, once a target that speaks another one has come up. */
  #decoded: DecodedRequest | undefined
  #media: RemoteMedia | undefined
  /** Calls beside the one at hand, of requests that take several. */
  #others: OtherCalls | undefined
  readonly #started = performance.now()
  readonly #onExhausted: (failure: Failure) => boolean

  /** `onExhausted` is asked about the last failure: where it is true, the caller answers the request in another way. */
  constructor(
    call: Call,
    route: Route,
    body: Body,
    exchanges: readonly Exchange[],
    onExhausted: (failure: Failure) => boolean = () => false,
  ) {
    this.#call = call
    this.#route = route
    this.#body = body
    this.#walk = new Walk(call, exchanges)
    this.#onExhausted = onExhausted
  }

  start(): void {
    this.#call.work = this
    this.try()
  }

  check(now: number): void {
    this.#asked?.attempt?.check(now)
    this.#hedge?.attempt?.check(now)
    if (now >= this.#hedgeAt) this.hedge()
  }

  cancel(): void {
    this.#hedgeAt = Number.POSITIVE_INFINITY
    this.#media?.cancel()
    this.#others?.cancel()
    for (const asked of [this.#asked, this.#hedge]) {
      asked?.attempt?.cancel()
      if (asked?.attempt?.isDraining !== true) asked?.gated.end('cancelled', undefined, this.#call.error)
    }
  }

  cut(error: GatewayError): boolean {
    return this.#asked?.attempt?.cut(error) ?? false
  }

  private try(): void {
    const exchange = this.#walk.take()
    if (exchange === undefined) throw new Error('no exchange is left')
    const gated = new GatedAttempt(this.#call, exchange)
    const asked: Asked = { gated, attempt: undefined, translator: undefined }
    this.#asked = asked
    gated.pass(
      () => this.ask(asked),
      rejection => this.skip(rejection),
    )
  }

  /** The target at hand has not answered in its time: the next one is asked beside it. */
  private hedge(): void {
    this.#hedgeAt = Number.POSITIVE_INFINITY
    const slow = this.#asked?.gated
    if (slow === undefined || this.#call.kernel.draining || !this.#walk.mayLeave(slow.exchange)) return
    const exchange = this.#walk.take()
    if (exchange === undefined) return
    const hedge: Asked = {
      gated: new GatedAttempt(this.#call, exchange, false, slow),
      attempt: undefined,
      translator: undefined,
    }
    this.#hedge = hedge
    hedge.gated.pass(
      () => this.ask(hedge),
      () => this.giveUpHedge(hedge),
      cause => this.fault(hedge, cause),
    )
  }

  /** A hedge is not sent. If the attempt beside it has failed meanwhile, that failure decides after all. */
  private giveUpHedge({ gated }: Asked): void {
    this.#walk.putBack(gated.exchange)
    if (this.#hedge?.gated === gated) this.#hedge = undefined
    else if (this.#failed !== undefined) {
      const failed = this.#failed
      this.#failed = undefined
      this.afterFailure(failed)
    }
  }

  /** What goes wrong before a hedge is sent ends the hedge alone. */
  private fault(asked: Asked, cause: unknown): void {
    const { gated } = asked
    if (gated.isOver && this.#hedge !== asked && this.#asked !== asked) return
    if (gated.beside === undefined) {
      this.#call.fail(cause)
      return
    }
    gated.end('cancelled', undefined, cause instanceof GatewayError ? cause : undefined)
    if (!this.#call.answered) this.giveUpHedge(asked)
  }

  get hasRival(): boolean {
    return this.#hedge !== undefined
  }

  claim(attempt: Attempt): void {
    this.#hedgeAt = Number.POSITIVE_INFINITY
    const [asked, hedge] = [this.#asked, this.#hedge]
    const [winner, loser] = hedge?.attempt === attempt ? [hedge, asked] : [asked, hedge]
    this.#asked = winner
    this.#hedge = undefined
    // Also where the other one has failed: it was asked later, and has left what it drops.
    this.#call.losses = winner?.translator?.losses
    if (winner !== undefined) this.noteDropped(winner.gated.exchange)
    loser?.attempt?.abandon()
    loser?.gated.end('cancelled')
  }

  /** The answer says what was not sent to the target that has given it. */
  private noteDropped(exchange: Exchange): void {
    this.#call.dropped = changesOf(this.#call, exchange)?.dropped ?? []
  }

  /** A stage gives this target up before it is asked. */
  private skip(rejection: GatewayError): void {
    if (this.#walk.skip()) this.try()
    else if (this.#refused === undefined) throw rejection
    else this.logFailure(this.#refused.failure, this.#refused.gated.exchange)
  }

  private ask(asked: Asked): void {
    const { exchange } = asked.gated
    const { translation } = exchange
    if (translation === undefined && isInSteps(this.#call, exchange, this.#body)) {
      this.relayInSteps(asked).catch((cause: unknown) => this.fault(asked, cause))
    } else if (translation === undefined) this.relay(asked)
    else this.translate(asked, translation).catch((cause: unknown) => this.fault(asked, cause))
  }

  private relay(asked: Asked): void {
    const { exchange } = asked.gated
    const attempt = this.attempt(asked, undefined)
    let request: UpstreamRequest
    try {
      request = buildRequest(asked.gated, changedBody(this.#call, exchange, this.#body))
    } catch (cause) {
      this.fault(asked, cause)
      return
    }
    attempt.send(request)
  }

  private async relayInSteps(asked: Asked): Promise<void> {
    const [call, held] = [this.#call, this.#body]
    const { gated } = asked
    const { exchange } = gated
    const body = await takenBody(call, exchange, changedBody(call, exchange, held))
    const request = body.type === 'bytes' ? await buildLargeRequest(gated, body) : buildRequest(gated, body)
    // No copy is sent.
    if (held.type === 'bytes' && request.body === held.bytes) call.bodyMemory.shrink(held.bytes.length)
    call.cancellation.throwIfCancelled()
    gated.sentValues = sentAmounts(call, exchange, body, request.document ?? request.body)
    const rejection = this.decideAgain(asked, undefined)
    if ((rejection instanceof Promise ? await rejection : rejection) !== undefined || gated.isOver) return
    this.attempt(asked, undefined).send(request)
  }

  private async translate(asked: Asked, translation: Translation): Promise<void> {
    const call = this.#call
    const { gated } = asked
    const { exchange } = gated
    gated.translating()
    const body = changedBody(call, exchange, this.#body)
    const decoded =
      (body === this.#body ? this.#decoded : undefined) ?? (await decodeRequest(call, body, translation.server))
    // What one exchange gets otherwise than it came is read for that one alone.
    if (body === this.#body) this.#decoded = decoded
    if (translation.client === estimate) {
      gated.end('skipped')
      answerEstimate(call, translation.server, decoded)
      return
    }
    call.cancellation.throwIfCancelled()
    const strict = call.caller?.strict === true
    this.#media ??= new RemoteMedia(call)
    const whole = await this.#media.inlined(decoded, translation, exchange.upstream)
    call.cancellation.throwIfCancelled()
    const translator = translatorOf(whole, exchange, translation, strict, hooksOf(call))
    const request = await translatedRequest(gated, translator, whole)
    // Where the first one is repeated, the others are under way.
    const known = this.#others
    const others = known ?? (await othersOf(gated, translator, whole))
    call.cancellation.throwIfCancelled()
    gated.sentValues = sentAmounts(call, exchange, body, request.document ?? request.body)
    const rejection = this.decideAgain(asked, others)
    if ((rejection instanceof Promise ? await rejection : rejection) !== undefined || gated.isOver) return
    call.losses = translator.losses
    gated.translated()
    // While the upstream works only the request's bytes are in memory; for another target they are decoded again.
    if (!this.#media.holds && translator.release()) {
      this.#decoded = undefined
      call.memory.release()
    }
    if (others !== undefined) translator.others = others
    this.#others = others
    this.attempt(asked, translator).send(request)
    // The first one may have failed at once.
    if (known === undefined && this.#others === others) others?.start()
  }

  /** Stages decide again where what is sent is not what they knew. An error: the attempt is given up, and another begun. */
  private decideAgain(asked: Asked, others: OtherCalls | undefined): Maybe<GatewayError | undefined> {
    const { gated } = asked
    const isOther = others !== undefined || this.#media?.holds === true || gated.exchange.adds?.paths !== undefined
    if (gated.isOver || !isOther) return undefined
    gated.calls = 1 + (others?.size ?? 0)
    const decide = (rejection: GatewayError | undefined): GatewayError | undefined => {
      this.#call.cancellation.throwIfCancelled()
      if (rejection === undefined) return undefined
      this.#others?.cancel()
      this.#others = undefined
      if (gated.beside === undefined) this.skip(rejection)
      else this.giveUpHedge(asked)
      return rejection
    }
    const rejection = gated.beforeSend()
    return rejection instanceof Promise ? rejection.then(decide) : decide(rejection)
  }

  private attempt(asked: Asked, translator: Translator | undefined): Attempt {
    const { gated } = asked
    const { exchange } = gated
    const mayYield = !this.isSentOnce && this.#walk.mayLeave(exchange)
    const race = this.mayRace(gated) ? this : undefined
    const attempt = new Attempt(gated, this.#route, translator, this.#started, mayYield, race, failure =>
      this.failed({ ...asked, failure }),
    )
    asked.attempt = attempt
    asked.translator = translator
    if (race !== undefined && asked === this.#asked) this.#hedgeAt = gated.hedgeAt
    return attempt
  }

  /** Whether another target may be asked beside this one: not where its body, or one of several calls, is sent once. */
  private mayRace({ exchange, beside }: GatedAttempt): boolean {
    if (beside !== undefined) return true
    const isRaced = exchange.hedge !== undefined && chainOf(this.#call).patience.length > 0
    return isRaced && this.#body.type === 'bytes' && this.#others === undefined
  }

  private failed(failed: Failed): void {
    const { gated, failure } = failed
    this.#call.taps.dropAttempt()
    if (this.#hedge === undefined) {
      this.afterFailure(failed)
      return
    }
    const { call, exchange } = gated
    if (call.kernel.sink.debugs) logFailed(call, exchange, failure, undefined)
    noteCause(call, failure)
    this.#hedgeAt = Number.POSITIVE_INFINITY
    this.#failed = failed
    if (this.#hedge.gated !== gated) this.#asked = this.#hedge
    this.#hedge = undefined
  }

  /** No attempt is under way: stages say what comes next. */
  private afterFailure(failed: Failed): void {
    const { gated, failure, translator } = failed
    const call = this.#call
    if (isAnswer(failure)) this.#refused = failed
    const { exchange } = gated
    this.#hedgeAt = Number.POSITIVE_INFINITY
    if (this.#failed !== undefined) this.#walk.note(this.#failed.gated, this.#failed.failure)
    this.#failed = undefined
    const { left, waitMs } = this.isSentOnce ? NOTHING : this.#walk.failed(gated, failure)
    const [next] = left
    if (call.kernel.sink.debugs) logFailed(call, exchange, failure, next)
    const others = this.#others
    const isRepeated = next === exchange
    if (!isRepeated) this.#others = undefined
    this.#asked = undefined
    noteCause(call, failure)
    if (next === undefined) {
      this.giveUp(exchange, failure, translator, others)
      return
    }
    if (!isRepeated) others?.cancel()
    pause(call, waitMs, continues => {
      if (continues) this.try()
      else if (!call.answered) this.giveUp(exchange, failure, translator, others)
    })
  }

  /** The failure is the answer, unless the request can be answered in another way. */
  private giveUp(
    exchange: Exchange,
    failure: Failure,
    translator: Translator | undefined,
    others: OtherCalls | undefined,
  ): void {
    if (this.#onExhausted(failure)) return
    if (others !== undefined && translator !== undefined) {
      this.#others = others
      this.rescue(exchange, failure, translator).catch((cause: unknown) => this.#call.fail(cause))
    } else this.logFailure(failure, exchange)
  }

  /** Where one call of several fails, the client gets what the others came to. */
  private async rescue(exchange: Exchange, failure: Failure, translator: Translator): Promise<void> {
    const call = this.#call
    const write = (bytes: Uint8Array): void => void call.write(bytes, () => undefined)
    // What the others used has been counted.
    const answering = { call, route: this.#route, exchange, usage: undefined, write, complete: () => undefined }
    const isAnswered = await sendOthers(answering, translator)
    if (!isAnswered) this.logFailure(failure, exchange)
  }

  private logFailure(last: Failure, exchange: Exchange): void {
    const call = this.#call
    const { failure } = this.#refused ?? { failure: last }
    this.noteDropped(this.#refused?.gated.exchange ?? exchange)
    if (failure.answer !== undefined) passAnswer(call, failure.answer, failure.error)
    else call.fail(failure.error)
  }

  /** A body that passes as it arrives is gone once it has been sent. */
  private get isSentOnce(): boolean {
    return this.#body.type === 'stream'
  }
}

/** Whether the upstream did answer, with nothing but a refusal. */
function isAnswer({ condition }: Failure): boolean {
  return typeof condition === 'number' && condition < 300
}
