import { randomUUID } from 'node:crypto'
import type { Caller } from '../core/caller.js'
import { writesDefault } from '../core/default-model.js'
import type { AttemptNote } from '../core/entry.js'
import { errorBody } from '../core/error-bodies.js'
import { type Family, GatewayError } from '../core/errors.js'
import { jsonText } from '../core/exact-json.js'
import { NO_PARAMS, type Params } from '../core/params.js'
import type { Choice, Exchange, Match, Miss, Route, Usage } from '../core/plan.js'
import { unexpected } from '../core/refusals.js'
import type { TraceContext } from '../core/trace.js'
import { tryUnread } from '../net/unread.js'
import { type Uptake, uptakeOf } from '../net/uptake.js'
import type { HttpExchange } from '../transport/exchange.js'
import { sumOfUsage } from '../wire/usage.js'
import { addDroppedHeader, errorHeaders } from './answer-head.js'
import type { AttemptUsage } from './attempt-usage.js'
import type { Body } from './body.js'
import { Cancellation } from './cancellation.js'
import { Drains } from './drains.js'
import type { Generation } from './generation.js'
import { clientRequestId, pathOf, queryOf } from './heads.js'
import { traceOf } from './inner.js'
import type { InFlight, Kernel } from './kernel.js'
import type { MemoryLease } from './memory.js'
import type { Ended } from './records.js'
import { Slots } from './slot.js'
import { Tally } from './tally.js'
import { Taps } from './tap.js'
import type { Upload } from './upload.js'
import type { Watched, Work } from './watchdog.js'

/** What a call itself runs of the stages of its route; `chain.ts` has all of them. */
export interface CallHooks {
  readonly onAnswerHead: readonly ((call: Call, status: number, headers: string[]) => void)[]
  readonly beforeEnd: readonly ((call: Call) => void | Promise<void>)[]
  readonly settle: readonly ((call: Call) => void)[]
  readonly record: readonly ((call: Call) => void)[]
}

/**
 * One request from arrival to settlement. It collects everything that is known about the request; the steps of the
 * pipeline fill it in. It settles exactly once, when its response is closed, for any reason.
 */
export class Call extends Slots implements Watched, InFlight, Ended {
  readonly kernel: Kernel
  readonly generation: Generation
  /** The client's request. Only the call itself writes the answer to it. */
  readonly request: HttpExchange
  readonly id: string
  readonly trace: TraceContext
  /** Address of the client, or of the proxy that represents it. */
  readonly client: string | undefined
  /** Number of trusted proxies that the request came through. */
  readonly proxies: number
  /** When it began and ended, by `performance.now()`. 0: it has not ended. */
  readonly started = performance.now()
  ended = 0
  /** The raw path, still encoded, and the query, parsed only where there is one. */
  readonly path: string
  readonly query: URLSearchParams | undefined

  route: Route | undefined
  /** Body and candidates, best first, as the stages so far have left them. */
  body: Body = { type: 'none' }
  candidates: readonly Exchange[] = []
  /** What the model's name stands for, where that gave the candidates. */
  choice: Choice | undefined
  params: Params = NO_PARAMS
  caller: Caller | undefined
  family: Family = 'compatible'
  model = ''
  /** Whether the request itself contains that name; it may have another word for it, or none. */
  named = false
  stream = false

  /** Ends with the call; everything that works for the call listens to it. */
  readonly cancellation = new Cancellation()
  #work: Work | undefined
  attempts: AttemptNote[] = []
  error: GatewayError | undefined
  status = 0
  readonly tally = new Tally()
  /** The attempt that began last; only for attempts. */
  lastAttempt: AttemptUsage | undefined
  /** Observe the answer as it is sent. */
  readonly taps = new Taps()
  /** The body, if it is passed on as it arrives. */
  upload: Upload | undefined
  /** Members that were not sent to the current exchange. */
  dropped: readonly string[] = []
  #memory: MemoryLease | undefined
  #bodyMemory: MemoryLease | undefined
  #answerMemory: MemoryLease | undefined
  /** What translation omitted. */
  losses: { readonly dropped: readonly string[] } | undefined
  readonly #entered: number
  readonly #watched: number
  #maxBody = Number.POSITIVE_INFINITY
  #match: Match | Miss | undefined
  #chain: CallHooks | undefined
  #settled = false
  /** The call is recorded after them. */
  #drains: Drains | undefined
  /** Nothing more can be sent: the answer is complete, broken off, or has lost its client. */
  #closed = false
  /** Since a check has found that bytes wait for the client. */
  #uptake: Uptake | undefined
  #nextTry = 0

  constructor(kernel: Kernel, request: HttpExchange, generation = kernel.generation) {
    super()
    this.kernel = kernel
    this.generation = generation.lease()
    this.request = request
    this.id = clientRequestId(request) ?? randomUUID()
    this.trace = traceOf(request)
    const { target, remoteAddress } = request
    const forwardedFor = request.headers['x-forwarded-for']
    this.client = this.generation.clients.of(remoteAddress, forwardedFor)
    this.proxies = this.generation.clients.proxies(remoteAddress, forwardedFor)
    this.path = pathOf(target)
    this.query = queryOf(target, this.path)
    this.#entered = kernel.enter(this)
    this.#watched = kernel.watchdog.add(this)
    request.onClose = () => this.close()
  }

  /** Only for the pipeline, once. */
  matched(match: Match | Miss, family: Family, chain: CallHooks): void {
    this.#match = match
    this.#chain = chain
    this.family = family
    this.route = match.route
    if (match.route !== undefined) this.params = match.params
  }

  get match(): Match | Miss {
    if (this.#match === undefined) throw new Error('the call has not been matched')
    return this.#match
  }

  /** Largest body, bytes: what the route takes, or less. */
  get maxBody(): number {
    return Math.min(this.#maxBody, this.route?.limits.body ?? 0)
  }

  /** Lowers it, before the body is read; for each message where a tunnel passes them on whole. */
  limitBody(bytes: number): void {
    this.#maxBody = Math.min(this.#maxBody, bytes)
  }

  /** The stages that this call passes. */
  get chain(): CallHooks {
    if (this.#chain === undefined) throw new Error('the call has not been matched')
    return this.#chain
  }

  /** Usage so far, of all attempts together. */
  get usage(): Usage | undefined {
    let sum: Usage | undefined
    for (let attempt = this.lastAttempt; attempt !== undefined; attempt = attempt.before) {
      if (attempt.usage !== undefined) sum = sumOfUsage(sum, attempt.usage)
    }
    return sum
  }

  /** Memory of this call's request as objects. */
  get memory(): MemoryLease {
    this.#memory ??= this.kernel.memory.requests.lease(this.key)
    return this.#memory
  }

  /** Memory of this call's body if it is large, and of what is sent of it. */
  get bodyMemory(): MemoryLease {
    this.#bodyMemory ??= this.kernel.memory.bodies.lease(this.key)
    return this.#bodyMemory
  }

  /** Memory of this call's answer, if it is gathered as it arrives. */
  get answerMemory(): MemoryLease {
    this.#answerMemory ??= this.kernel.memory.answers.lease(this.key)
    return this.#answerMemory
  }

  /** The work by which the call is answered, instead of an earlier one that has ended. */
  set work(work: Work) {
    this.#work = work
    this.cancellation.add(work)
  }

  /** For the runner of stages: whether an answer has begun, or none can be given any more. */
  get answered(): boolean {
    return this.#closed || this.begun
  }

  /** The name of the caller's key: the owner of records, and the unit of fair sharing. All callers without a key count as one. */
  get key(): string {
    return this.caller?.name ?? ''
  }

  /** Whether the model's name is sent upstream: the request contains it, or the route writes its default. */
  get namesModel(): boolean {
    return this.named || (this.route?.model !== undefined && writesDefault(this.route.model))
  }

  get begun(): boolean {
    return this.request.begun
  }

  /**
   * Sends the head of the answer. `headers` is a flat name, value list that now belongs to this call. Without effect on a
   * call that has been answered, as are {@link write}, {@link end} and {@link answer}: results may come too late.
   */
  begin(status: number, headers: string[]): void {
    if (this.#closed || this.begun) return
    headers.push('x-request-id', this.id)
    // Its clients read no other header; an upstream's own passes.
    if (this.family === 'messages' && !headers.includes('request-id')) headers.push('request-id', this.id)
    for (const onAnswerHead of this.chain.onAnswerHead) onAnswerHead(this, status, headers)
    if (this.dropped.length > 0) addDroppedHeader(headers, this.dropped)
    const early = this.upload !== undefined && !this.request.complete
    if ((this.kernel.draining || early) && !headers.includes('connection')) headers.push('connection', 'close')
    if (early) this.request.linger()
    this.tally.early = early
    this.status = status
    this.request.head(status, headers)
  }

  /** Returns false if the client is slower than the upstream; continue after `onDrain`. */
  write(bytes: Uint8Array, onDrain: () => void): boolean {
    if (this.#closed) return true
    this.tally.firstByte ??= performance.now()
    this.tally.bytesOut += bytes.length
    this.taps.push(bytes)
    // An observer may have ended the call.
    if (this.#closed) return true
    const kept = this.taps.kept
    if (kept !== undefined) return this.writeAfter(kept, bytes)
    if (this.request.write(bytes)) return true
    this.onceDrained(onDrain)
    return false
  }

  private writeAfter(kept: Promise<void>, bytes: Uint8Array): true {
    this.after(kept, () => this.request.write(bytes))
    return true
  }

  /** A function of its own: a closure in {@link write} would keep the bytes in memory until the client has read them. */
  private onceDrained(onDrain: () => void): void {
    if (this.request.onDrain !== undefined) return
    this.request.onDrain = () => {
      this.request.onDrain = undefined
      onDrain()
    }
  }

  /** Ends the answer with bytes in a string, one character each; `raw`: the same bytes. */
  endLatin1(bytes: string, raw: Uint8Array): void {
    if (this.#closed) return
    this.tally.firstByte ??= performance.now()
    this.tally.bytesOut += bytes.length
    this.taps.push(raw, true)
    if (!this.#closed) this.finish(() => this.request.end(bytes, 'latin1'))
  }

  end(bytes?: Uint8Array | string): void {
    if (this.#closed) return
    if (bytes !== undefined) {
      this.taps.push(bytes, true)
      this.tally.firstByte ??= performance.now()
      this.tally.bytesOut += typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length
    }
    if (!this.#closed) this.finish(() => this.request.end(bytes))
  }

  /** The answer's end waits until the answer has been stored, if it must be. */
  private finish(end: () => void): void {
    this.#closed = true
    this.taps.end()
    const kept = this.taps.kept
    const last = this.chain.beforeEnd.length === 0 ? end : (): void => this.endAfterStages(end)
    if (kept === undefined) last()
    else this.after(kept, last)
  }

  /** Waits only if a stage does. */
  private endAfterStages(end: () => void, from = 0): void {
    try {
      for (let at = from; at < this.chain.beforeEnd.length; at++) {
        const waiting = this.chain.beforeEnd[at]?.(this)
        if (waiting === undefined) continue
        this.after(waiting, () => this.endAfterStages(end, at + 1))
        return
      }
    } catch (cause) {
      this.fail(cause)
      return
    }
    end()
  }

  private after(kept: Promise<void>, send: () => void): void {
    const sent = kept.then(() => {
      if (!this.#settled) send()
    })
    sent.catch((cause: unknown) => this.fail(cause))
  }

  /** Sends a whole JSON answer of the gateway's own. */
  answer(status: number, body: object, headers: string[] = []): void {
    this.answerBytes(status, Buffer.from(jsonText(body)), headers)
  }

  /** The same for serialized JSON. */
  answerBytes(status: number, json: Buffer, headers: string[]): void {
    headers.push('content-type', 'application/json', 'content-length', String(json.length))
    this.begin(status, headers)
    this.end(json)
  }

  /**
   * Ends the call with an error in the caller's family. After the first byte only a broken transfer is honest; streams
   * that have an error event of their own send it before they come here.
   */
  fail(cause: unknown): void {
    if (this.#settled || this.error !== undefined) return
    const error = cause instanceof GatewayError ? cause : unexpected(cause)
    this.error = error
    this.cancellation.end(error)
    if (this.begun) this.breakOff()
    else if (error.code === 'client_gone') {
      this.#closed = true
      this.request.destroy()
    } else {
      // Of an upload that has begun `begin` sees to the rest.
      if (!this.request.complete && this.upload === undefined) this.request.linger()
      this.answer(error.status, errorBody(error, this.family, this.id), errorHeaders(error, this.request))
    }
  }

  /** Breaks the transfer off: the only honest end of an answer that has begun and has no error of its own. */
  breakOff(): void {
    this.#closed = true
    this.request.destroy()
  }

  cut(error: GatewayError): boolean {
    if (this.#settled) return this.#drains?.cut() ?? false
    if (this.#work?.cut(error) !== true) this.fail(error)
    return true
  }

  check(now: number): void {
    const { limits } = this.generation.plan
    if (now > this.#nextTry) this.#nextTry = tryUnread(this.request.connection, now)
    if (this.begun) this.#uptake ??= uptakeOf(this.request.connection)
    if ((this.#uptake?.stalledFor(now) ?? 0) > limits.stall) {
      this.error ??= new GatewayError('client_gone', 'The client stopped reading.', { phase: 'client_stall' })
      this.breakOff()
    } else if (this.#work !== undefined) this.#work.check(now)
    else if (!this.begun && now - this.started > limits.upload) {
      this.fail(new GatewayError('request_timeout', 'The request did not arrive in time.', { phase: 'upload' }))
    }
  }

  private close(): void {
    if (this.#settled) return
    if (!this.request.finished) {
      this.error ??= new GatewayError('client_gone', 'The client disconnected.', { phase: 'client_abort' })
    }
    this.#settled = true
    this.#closed = true
    this.tally.bytesIn = this.upload?.size ?? this.tally.bytesIn
    this.cancellation.end(this.error)
    this.#memory?.end()
    this.#bodyMemory?.end()
    this.#answerMemory?.end()
    this.kernel.watchdog.delete(this.#watched)
    for (const settle of this.chain.settle) settle(this)
    this.ended = performance.now()
    if (this.#drains?.isOver !== false) this.kernel.records.addCall(this)
  }

  get drains(): Drains {
    this.#drains ??= new Drains(() => this.ended > 0 && this.kernel.records.addCall(this))
    return this.#drains
  }

  /** At the end of the turn in which all of it ended. */
  record(): void {
    for (const record of this.chain.record) record(this)
    this.generation.release()
    this.kernel.leave(this.#entered)
  }
}
