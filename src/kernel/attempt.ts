import { madeBuffers } from '../core/dead-buffers.js'
import { GatewayError } from '../core/errors.js'
import type { RetryCondition } from '../core/limits.js'
import type { Exchange, Route, Usage } from '../core/plan.js'
import type { UpstreamController, UpstreamHandler, UpstreamPool, UpstreamRequest } from '../net/pools.js'
import type { Translator } from '../translate/translator.js'
import type { Call } from './call.js'
import { Drain, drains } from './drain.js'
import type { Worker } from './event-loop-shares.js'
import type { Failure } from './failure.js'
import type { GatedAttempt } from './gated-attempt.js'
import { opening } from './opening.js'
import { Pace } from './pace.js'
import type { Race } from './race.js'
import { HeldRelay } from './relay/held.js'
import type { Relay, Source } from './relay/relay.js'
import type { UpstreamHeaders } from './response-headers.js'
import { logAnswered, logSent } from './trail.js'
import { classify, noConnection, phaseOf } from './upstream-errors.js'

/** Time for an upstream to end its transfer after its stream has ended, before the connection is cut. */
const LINGER_MS = 1000

/**
 * (queue) → connect → first_byte → content → (lingering) → over. `queue` is the wait for a connection of the gateway's own
 * pool; `lingering` is the time between the end of the client's answer and the end of the upstream's transfer.
 */
type Phase = 'queue' | 'connect' | 'first_byte' | 'content' | 'lingering' | 'over'

/** One try at one target: the upstream's side of a call. */
export class Attempt implements UpstreamHandler, Source, Worker {
  readonly call: Call
  readonly route: Route
  readonly exchange: Exchange
  /** Set if the upstream's protocol is not the client's. */
  readonly translator: Translator | undefined
  readonly mayYield: boolean
  readonly key: string
  isWaiting = false
  readonly #gated: GatedAttempt
  readonly #race: Race<Attempt> | undefined
  readonly #report: (failure: Failure) => void
  readonly #dispatched: number
  readonly #started = performance.now()
  #phase: Phase = 'connect'
  /** When its time-out began: known at the first check after what began it, so that an event costs no look at the clock. */
  #since = this.#started
  #hasMoved = false
  #pool: UpstreamPool | undefined
  #controller: UpstreamController | undefined
  #relay: Relay | undefined
  #pace: Pace | undefined
  #status: number | undefined
  #noted = false
  /** Reading pauses until the client has received what was sent. */
  #paused = false
  /** Received bytes that wait for that, or for their turn, and how the transfer ended after them. */
  #rest: Buffer | undefined
  #ending: 'whole' | Error | undefined
  /** Its slot in the watchdog, while it lingers: its call has settled. */
  #watched = 0
  #drain: Drain | undefined
  /** Bytes that were read although the client had gone. */
  #drained = 0

  /**
   * `dispatched` is when the first attempt of the call began; the `total` time-out counts from there. `report` hears of a failure
   * before a byte of its answer had reached the client.
   */
  constructor(
    gated: GatedAttempt,
    route: Route,
    translator: Translator | undefined,
    dispatched: number,
    mayYield: boolean,
    race: Race<Attempt> | undefined,
    report: (failure: Failure) => void,
  ) {
    this.#gated = gated
    this.call = gated.call
    this.key = gated.call.key
    this.route = route
    this.exchange = gated.exchange
    this.translator = translator
    this.#dispatched = dispatched
    this.mayYield = mayYield
    this.#race = race
    this.#report = report
  }

  get usage(): Usage | undefined {
    return this.#gated.usage
  }

  set usage(usage: Usage | undefined) {
    this.#gated.usage = usage
  }

  get isDraining(): boolean {
    return this.#drain !== undefined
  }

  send(request: UpstreamRequest): void {
    const { pool } = this.call.generation.reach(this.exchange.upstream)
    // A request that the library refuses fails inside this call, and must be able to release its pool then.
    this.#pool = pool
    if (this.call.kernel.sink.debugs) logSent(this.call, this.exchange, request)
    const dispatched = pool.dispatch(this.#gated.watched(request), this)
    if (dispatched === 'waiting') this.enter('queue')
    else if (dispatched === 'full') this.failed('queue', noConnection('queue'))
  }

  // ── what the connection tells

  onPlace(): void {
    this.#gated.placed()
    this.enter('connect')
  }

  onRequestStart(controller: UpstreamController): void {
    this.#controller = controller
    if (this.#phase === 'over') {
      controller.abort(new Error('the call is over'))
      return
    }
    this.#gated.sent(this.#started)
    if (this.exchange.contract !== undefined && this.call.stream) this.#pace = new Pace(this.exchange.contract)
    this.enter('first_byte')
  }

  onResponseStart(controller: UpstreamController, status: number, headers: UpstreamHeaders): void {
    if (this.#phase === 'over') return
    this.#controller = controller
    this.#status = status
    if (this.call.kernel.sink.debugs) logAnswered(this.call, this.exchange, status, headers)
    // What is compressed cannot be measured; it passes where `forward` lets `accept-encoding` pass.
    if (headers['content-encoding'] !== undefined) this.#pace = undefined
    const open = opening(this, status, headers, this.#gated.inspect)
    this.#relay = status < 300 && this.isHeld ? this.held(headers, open) : open()
  }

  /** Whether the answer is held back until it has content. */
  private get isHeld(): boolean {
    if (this.#race !== undefined) return true
    return this.#pace !== undefined && this.mayYield && this.exchange.contract?.then === 'next'
  }

  private held(headers: UpstreamHeaders, open: () => Relay | undefined): Relay {
    const [hasRival, claim] = [() => this.#race?.hasRival === true, () => this.#race?.claim(this)]
    return new HeldRelay(this, headers, { open, hasRival, claim })
  }

  onResponseData(_controller: UpstreamController, chunk: Buffer): void {
    madeBuffers(chunk.length)
    this.#pace?.push(chunk)
    const relay = this.#relay
    if (relay === undefined) return
    if (this.#drain !== undefined) this.#drained += chunk.length
    if (this.#drained > this.route.limits.response) {
      this.abandon()
      return
    }
    if (relay.step === undefined && this.call.kernel.turns.tryRun(this, chunk.length)) {
      relay.data(chunk)
      return
    }
    this.#rest = chunk
    if (relay.step === undefined) this.#controller?.pause()
    else this.work()
  }

  onResponseEnd(): void {
    this.#pool?.finished(this.key)
    if (this.#rest === undefined) this.ended('whole')
    else this.#ending = 'whole'
  }

  onResponseError(_controller: UpstreamController, cause: Error): void {
    this.#pool?.finished(this.key)
    if (this.#rest === undefined) this.ended(cause)
    else this.#ending = cause
  }

  /** Passes received bytes to the relay while the client accepts them and it is this answer's turn. */
  private work(): void {
    const { turns } = this.call.kernel
    while (this.#rest !== undefined && !this.#paused) {
      if (!turns.tryRun(this, this.stepOf(this.#rest))) {
        this.#controller?.pause()
        return
      }
      this.step(this.#rest)
    }
  }

  turn(): void {
    try {
      if (this.#rest !== undefined && !this.#paused) this.step(this.#rest)
      this.continueReading()
    } catch (cause) {
      this.#rest = undefined
      this.#controller?.abort(cause as Error)
    }
  }

  /** One step; the rest waits as bytes. */
  private step(chunk: Buffer): void {
    const size = this.stepOf(chunk)
    this.#rest = size < chunk.length ? chunk.subarray(size) : undefined
    this.#relay?.data(this.#rest === undefined ? chunk : chunk.subarray(0, size))
    if (this.#phase === 'over') this.#rest = undefined
  }

  private stepOf(chunk: Buffer): number {
    return Math.min(chunk.length, this.#relay?.step ?? chunk.length)
  }

  /** Resumes after a pause: first the waiting bytes, then the upstream. */
  private continueReading(): void {
    this.work()
    if (this.#rest !== undefined || this.#paused || this.#phase === 'over') return
    if (this.#ending === undefined) this.#controller?.resume()
    else this.ended(this.#ending)
  }

  private ended(how: 'whole' | Error): void {
    if (this.#phase === 'over') return
    if (this.#phase === 'lingering') this.stop()
    else if (how === 'whole' && this.#relay !== undefined) this.#relay.end()
    else this.broken(how === 'whole' ? new Error('an end without an answer') : how)
  }

  private broken(cause: Error): void {
    const { condition, error } = classify(cause, this.#phase === 'connect')
    if (this.#relay?.broken(error) === true) return
    this.failed(this.#relay === undefined ? condition : 'reset', error)
  }

  // ── what relays say

  content(): void {
    if (this.#phase !== 'content') this.#gated.answered()
    this.#phase = 'content'
    this.#hasMoved = true
  }

  pause(): void {
    this.#paused = true
    this.#controller?.pause()
  }

  readonly resume = (): void => {
    this.#hasMoved = true
    this.#paused = false
    this.continueReading()
  }

  write(bytes: Uint8Array): void {
    if (!this.call.write(bytes, this.resume)) this.pause()
  }

  complete(upstreamEnded: boolean, whole = 0): void {
    if (this.#phase === 'over') return
    this.#gated.isWhole = true
    this.record('ok', this.call.error, this.isDraining ? 0 : whole)
    if (upstreamEnded) this.#phase = 'over'
    else {
      this.enter('lingering')
      this.#watched = this.call.kernel.watchdog.add(this)
    }
  }

  failed(condition: RetryCondition, error: GatewayError, answer?: Failure['answer'], said?: Failure['said']): void {
    if (this.#phase === 'over') return
    this.#relay?.settle()
    this.record(phaseOf(condition, error), error)
    this.stop()
    if (this.isDraining) return
    const failure = said === undefined ? { condition, error } : { condition, error, said }
    this.#report(answer === undefined ? failure : { ...failure, answer })
  }

  brokeOff(error: GatewayError): void {
    this.record(error.details.phase ?? 'reset', error)
    this.call.error ??= error
    this.call.tally.truncated = error.code === 'upstream_truncated'
    this.stop()
  }

  // ── what the call tells

  cancel(): void {
    if (this.#phase === 'over' || this.#phase === 'lingering' || this.isDraining) return
    if (this.isAsked && drains(this.call, this.exchange)) {
      this.#drain = new Drain(this.call, this)
      if (this.#paused) this.resume()
    } else this.abandon()
  }

  /** Whether the upstream has all of the request. */
  private get isAsked(): boolean {
    const hasBody = this.call.upload === undefined || this.call.request.complete
    return hasBody && (this.#phase === 'first_byte' || this.#phase === 'content')
  }

  abandon(): void {
    this.#relay?.settle()
    this.record('cancelled', this.call.error)
    this.stop()
  }

  cut(error: GatewayError): boolean {
    return this.#relay?.broken(error) ?? false
  }

  check(now: number): void {
    const { timeouts } = this.exchange
    if (this.#hasMoved) {
      this.#hasMoved = false
      this.#since = now
    }
    switch (this.#phase) {
      case 'queue':
        if (now - this.#since > timeouts.queue || now - this.#dispatched > timeouts.total)
          this.failed('queue', noConnection('connections'))
        return
      case 'connect':
        if (now - this.#since - (this.#pool?.connectGraceMs ?? 0) > timeouts.connect || this.leaves)
          this.timedOut('connect', 'connect')
        break
      case 'first_byte':
        if (now - Math.max(this.#since, this.call.upload?.moved ?? 0) > this.patience) this.silent()
        break
      case 'content':
        if (!this.#paused && now - this.#since > timeouts.idle) this.timedOut('idle', this.silence)
        break
      case 'lingering':
        if (now - this.#since > LINGER_MS) this.stop()
        return
      case 'over':
        return
    }
    const late = this.#drain === undefined ? this.#pace?.late(now, this.#paused) : undefined
    if (late !== undefined)
      this.timedOut(late, this.exchange.contract?.then === 'next' ? 'silent_stream' : 'first_byte')
    if (now - this.#dispatched > timeouts.total) this.timedOut('total', 'first_byte')
  }

  private get leaves(): boolean {
    return this.mayYield && this.#gated.leaves
  }

  /** How long nothing may come after the request, milliseconds. */
  private get patience(): number {
    const { first_event, first_byte } = this.exchange.timeouts
    return this.call.stream ? first_event : first_byte
  }

  private get silence(): RetryCondition {
    return this.call.stream ? 'silent_stream' : 'first_byte'
  }

  /** Nothing was received, and no more of the body was sent. */
  private silent(): void {
    const message = 'The request did not arrive in time.'
    if (this.call.upload?.starves !== true) this.timedOut('first_byte', this.silence)
    else this.failed('first_byte', new GatewayError('request_timeout', message, { phase: 'upload' }))
  }

  private timedOut(phase: string, condition: RetryCondition): void {
    const error = new GatewayError('upstream_timeout', 'The upstream did not answer in time.', { phase })
    if (this.#relay?.broken(error) === true) return
    this.failed(condition, error)
  }

  private enter(phase: Phase): void {
    this.#phase = phase
    this.#hasMoved = true
  }

  private stop(): void {
    if (this.#phase === 'lingering') this.call.kernel.watchdog.delete(this.#watched)
    if (this.#phase === 'queue') this.#pool?.withdraw(this)
    this.#phase = 'over'
    this.#rest = undefined
    this.#controller?.abort(new Error('the exchange is over'))
  }

  private record(end: string, error: GatewayError | undefined, whole = 0): void {
    if (this.#noted) return
    this.#noted = true
    const phase = this.isDraining ? 'cancelled' : end
    this.#gated.end(phase, this.#status, error, whole)
    this.#drain?.end()
    const { upstream, model } = this.exchange
    const milliseconds = Math.round((this.#gated.ended - this.#started) * 100) / 100
    const note = { upstream: upstream.name, model, phase, status: this.#status, milliseconds }
    this.call.attempts.push(this.#gated.beside === undefined ? note : { ...note, hedge: true })
  }
}
