import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { GatewayError } from '../../core/errors.js'
import type { RetryCondition } from '../../core/limits.js'
import { CLOSED } from '../../kernel/closed.js'
import type { Failure } from '../../kernel/failure.js'
import { presentable } from '../../kernel/passed-refusal.js'
import { responseHeaders } from '../../kernel/response-headers.js'
import { classify, errorOfStatus, phaseOf } from '../../kernel/upstream-errors.js'
import { upstreamMessage } from '../../kernel/upstream-words.js'
import { acceptMessages, openUpstream, type Passed } from '../../net/message-socket.js'
import type { ExchangeObserver, SessionObserver, UpstreamRequest } from '../../net/pools.js'
import { openRaw } from '../../net/raw-tunnel.js'
import type { RequestSigner } from '../../net/signer.js'
import type { TunnelContext } from './context.js'
import { FramedSession } from './framed-session.js'
import { chosenSubprotocol, clientAnswer, passedLines, upstreamHandshake, upstreamRequest } from './handshake.js'
import { RawSession } from './raw-session.js'
import type { Session } from './session.js'

/** `connect` → `first_byte` (the handshake was sent) → `open` (a session) or `over`. */
type Phase = 'connect' | 'first_byte' | 'open' | 'over'

/** One try to open a WebSocket at one target. */
export class TunnelAttempt {
  readonly #context: TunnelContext
  readonly #report: (failure: Failure) => void
  readonly #started = performance.now()
  #since = this.#started
  #phase: Phase = 'connect'
  #status: number | undefined
  #session: Session | undefined
  #watched: ExchangeObserver | undefined
  #observer: SessionObserver | undefined
  #giveUp: () => void = () => undefined
  /** Renews a refused credential and asks again, once; `goOn` is called where there is no other one. */
  #renew: ((goOn: () => void) => void) | undefined

  constructor(context: TunnelContext, report: (failure: Failure) => void) {
    this.#context = context
    this.#report = report
  }

  start(): void {
    const { call, exchange, gated } = this.#context
    const request = gated.watched(upstreamRequest(gated))
    this.#watched = request.observer
    const { signer } = call.generation.reach(exchange.upstream).pool
    if (signer === undefined) this.open(request)
    else this.sign(signer, request, true)
  }

  private sign(signer: RequestSigner, request: UpstreamRequest, mayRenew: boolean): void {
    Promise.resolve(request)
      .then(one => signer.sign(one))
      .then(
        signed => {
          if (this.#phase === 'over') return
          if (mayRenew) this.#renew = goOn => this.renew(signer, request, signed, goOn)
          this.open(signed)
        },
        cause => this.failed(cause),
      )
  }

  private renew(signer: RequestSigner, request: UpstreamRequest, signed: UpstreamRequest, goOn: () => void): void {
    const isOpen = (): boolean => this.#phase !== 'over'
    signer.renew(signed).then(
      isRenewed => {
        if (!isOpen()) return
        if (!isRenewed) return goOn()
        this.#giveUp()
        this.#phase = 'connect'
        this.#since = performance.now()
        this.sign(signer, request, false)
      },
      () => isOpen() && goOn(),
    )
  }

  private open(request: UpstreamRequest): void {
    const { call, route, gated } = this.#context
    const handshake = upstreamHandshake(gated, route, request)
    const events = {
      connected: () => this.connected(),
      refused: (status: number, headers: IncomingHttpHeaders, body: Buffer | undefined) =>
        this.refused(status, headers, body),
      failed: (cause: Error) => this.failed(cause),
    }
    if (route.tunnel !== 'framed') {
      const opened = (headers: IncomingHttpHeaders, upstream: Duplex): void => this.openRaw(headers, upstream)
      this.#giveUp = openRaw(handshake, { ...events, opened })
      return
    }
    const opened = (headers: IncomingHttpHeaders, upstream: Passed) => void this.openFramed(headers, upstream)
    try {
      this.#giveUp = openUpstream(handshake, call.maxBody, { ...events, opened })
    } catch (cause) {
      // The library throws at subprotocols that are none: the operator's own headers and credential may be such.
      this.failed(cause as Error)
    }
  }

  // ── called by the connection

  private connected(): void {
    this.#phase = 'first_byte'
    this.#context.gated.sent(this.#started)
    this.#since = performance.now()
  }

  private openRaw(headers: IncomingHttpHeaders, upstream: Duplex): void {
    const { call, route, exchange, client } = this.#context
    if (this.#phase === 'over') {
      upstream.destroy()
      return
    }
    this.begin(headers)
    client.leave()
    client.socket.write(clientAnswer(call, route, exchange, headers), 'latin1')
    call.status = 101
    call.tally.firstByte = performance.now()
    this.#session = new RawSession({ ...this.#context, observer: this.#observer }, upstream)
  }

  /** The upstream has accepted. */
  private begin(headers: IncomingHttpHeaders): void {
    this.#phase = 'open'
    this.#status = 101
    this.#context.gated.answered()
    this.note('ok')
    this.#watched?.onHead(101, headers)
    this.#observer = this.#watched?.onSession()
  }

  private async openFramed(headers: IncomingHttpHeaders, upstream: Passed): Promise<void> {
    const { call, route, exchange, client } = this.#context
    if (this.#phase === 'over') {
      upstream.socket.terminate()
      return
    }
    this.begin(headers)
    client.leave()
    // Messages that arrive before the session exists have to wait.
    upstream.socket.pause()
    const answer = {
      protocol: chosenSubprotocol(call, route, headers['sec-websocket-protocol']),
      lines: passedLines(call, exchange, headers),
    }
    const own = await acceptMessages(client.incoming, client.socket, client.rest, call.maxBody, answer)
    if (own === undefined) {
      call.error ??= new GatewayError('client_gone', 'The client disconnected.', { phase: 'client_abort' })
      upstream.socket.terminate()
      client.socket.destroy()
      client.settle()
      return
    }
    call.status = 101
    call.tally.firstByte = performance.now()
    this.#session = new FramedSession({ ...this.#context, observer: this.#observer }, own, upstream)
    upstream.socket.resume()
  }

  private refused(status: number, headers: IncomingHttpHeaders, body: Buffer | undefined): void {
    const { call, exchange } = this.#context
    const renew = this.#renew
    this.#renew = undefined
    const { signer } = call.generation.reach(exchange.upstream).pool
    if (renew !== undefined && signer?.isRefusal(status, headers)) {
      renew(() => this.refused(status, headers, body))
      return
    }
    this.#status = status
    if (body !== undefined) {
      this.#watched?.onHead(status, headers)
      this.#watched?.onData(body)
      this.#watched?.onEnd()
    }
    const error =
      status < 300
        ? noSocket(status)
        : errorOfStatus(status, headers, body && upstreamMessage(body, this.#context), exchange.resets)
    if (error.code === 'upstream_auth') call.kernel.onRefusedCredential(exchange.upstream.name)
    const isShown = status >= 400 && error.code !== 'upstream_auth' && body !== undefined
    const answer =
      isShown && presentable(body, call, exchange)
        ? { status, headers: responseHeaders(headers, exchange), body }
        : undefined
    this.fail(error.code === 'bad_upstream_response' ? 'bad_response' : status, error, answer)
  }

  private failed(cause: Error): void {
    const { condition, error } = classify(cause, this.#phase === 'connect')
    this.fail(condition, error)
  }

  // ── called by the call and its watchdog

  check(now: number): void {
    const { exchange, dispatched } = this.#context
    const { timeouts } = exchange
    switch (this.#phase) {
      case 'connect':
        if (now - this.#since > timeouts.connect + this.connectGraceMs) this.timeOut('connect')
        break
      case 'first_byte':
        if (now - this.#since > timeouts.first_byte) this.timeOut('first_byte')
        break
      case 'open':
        this.#session?.check(now)
        return
      case 'over':
        return
    }
    if (now - dispatched > timeouts.total) this.timeOut('first_byte')
  }

  private get connectGraceMs(): number {
    const { call, exchange } = this.#context
    return call.generation.reach(exchange.upstream).pool.connectGraceMs
  }

  cancel(): void {
    // The attempt of a session ends with its call.
    if (this.#phase === 'open') {
      const { call, gated } = this.#context
      this.#observer?.onEnd(call.get(CLOSED), call.error)
      gated.end(this.endOfSession(), this.#status, call.error)
    }
    if (this.#session !== undefined) {
      this.#session.terminate()
      return
    }
    if (this.#phase === 'over') return
    this.note('cancelled')
    this.stop()
  }

  private endOfSession(): string {
    const { error } = this.#context.call
    if (error === undefined) return 'ok'
    return error.code === 'client_gone' ? 'cancelled' : (error.details.phase ?? 'cancelled')
  }

  cut(error: GatewayError): boolean {
    if (this.#session === undefined) return false
    this.#session.cut(error)
    return true
  }

  private timeOut(condition: 'connect' | 'first_byte'): void {
    const error = new GatewayError('upstream_timeout', 'The upstream did not answer in time.', { phase: condition })
    this.fail(condition, error)
  }

  private fail(condition: RetryCondition, error: GatewayError, answer?: Failure['answer']): void {
    if (this.#phase === 'over') return
    const phase = phaseOf(condition, error)
    this.note(phase)
    this.#context.gated.end(phase, this.#status, error)
    this.stop()
    this.#report(answer === undefined ? { condition, error } : { condition, error, answer })
  }

  private stop(): void {
    this.#phase = 'over'
    this.#giveUp()
  }

  private note(phase: string): void {
    const { call, exchange } = this.#context
    const milliseconds = Math.round((performance.now() - this.#started) * 100) / 100
    const { upstream, model } = exchange
    call.attempts.push({ upstream: upstream.name, model, phase, status: this.#status, milliseconds })
  }
}

function noSocket(status: number): GatewayError {
  return new GatewayError('bad_upstream_response', 'The upstream did not open a WebSocket.', {
    cause: `upstream status ${status}`,
    phase: 'head',
  })
}
