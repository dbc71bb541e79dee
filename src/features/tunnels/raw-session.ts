import type { Duplex } from 'node:stream'
import { GatewayError } from '../../core/errors.js'
import { CLOSED, noteClosed } from '../../kernel/closed.js'
import { Inflow } from '../../net/inflow.js'
import { closeFrame, pingFrame, textFrame } from '../../wire/frames.js'
import {
  ABNORMAL,
  CLOSING_TIMEOUT_MS,
  closeError,
  codeForOther,
  type Fault,
  FRAME_TIMEOUT_MS,
  faultError,
  GOING_AWAY,
  PARTING_TIMEOUT_MS,
  POLICY,
  stalledError,
  timedOut,
  UPSTREAM_FAILED,
} from './close-codes.js'
import type { SessionContext } from './context.js'
import { errorEvent } from './error-event.js'
import { FrameObserver } from './frame-observer.js'
import { Lane } from './lane.js'
import { openingMessage } from './opening-message.js'
import type { Session } from './session.js'
import { Side } from './side.js'
import { TUNNELS } from './tunnels.js'

/** How often a session is checked, milliseconds. */
const CHECK_INTERVAL_MS = 250

/**
 * `open`: bytes pass. `parting`: one side broke the protocol and is no longer read; the other one was sent a close frame, and
 * its bytes still pass until it answers. `closing`: only the rest of the current frames passes; both sides end their
 * connections. `over`: settled.
 */
type State = 'open' | 'parting' | 'closing' | 'over'

/**
 * A session whose bytes pass unchanged in both directions, each as fast as its receiver reads. Frames are read as they pass:
 * to add up usage, to stop a message that names a model which this caller may not use, and to know where a frame of the
 * gateway's own can be inserted. These are few: a ping to a side that has been silent for 20 s (its pong passes
 * like any other, which RFC 6455 §5.5.3 allows), and a close frame if one side is gone or the gateway ends the session.
 */
export class RawSession implements Session {
  readonly #context: SessionContext
  readonly #client: Duplex
  readonly #upstream: Duplex
  readonly #observer: FrameObserver
  /** From the client to the upstream, and back. */
  readonly #up: Lane
  readonly #down: Lane
  readonly #clientSide: Side
  readonly #upstreamSide: Side
  #state: State = 'open'
  #fault: Fault | undefined
  /** The client reads slower than the upstream sends, so the upstream is paused. */
  #isFull = false
  readonly #fromClient: Inflow
  readonly #fromUpstream: Inflow
  /** When the session began to end, or a side last read data that waited for it; 0 before that. */
  #closingSince = 0
  /** When the session was first found to be ending; 0 before that. */
  #endingSince = 0
  /** When a message last began; `#hadMessage`: whether one has begun since the last check. */
  #lastMessageAt: number
  #hadMessage = false
  #checked = 0
  readonly #opened = performance.now()

  constructor(context: SessionContext, upstream: Duplex) {
    this.#context = context
    this.#client = context.client.socket
    this.#upstream = upstream
    this.#lastMessageAt = this.#opened
    this.#clientSide = new Side(this.#client, this.#opened)
    this.#upstreamSide = new Side(upstream, this.#opened)
    this.#observer = new FrameObserver(context, this)
    this.#up = new Lane(this.#observer.up, bytes => this.toUpstream(bytes))
    this.#down = new Lane(this.#observer.down, bytes => this.toClient(bytes))
    const { call } = context
    call.kernel.need(TUNNELS).add(this)
    const { turns } = call.kernel
    this.#fromClient = new Inflow(turns, this.#client, bytes => this.passUp(bytes))
    this.#fromUpstream = new Inflow(turns, upstream, bytes => this.passDown(bytes))
    this.#client.on('end', () => this.clientEnded())
    this.#client.on('close', () => this.clientEnded())
    this.#client.on('drain', () => {
      this.#isFull = false
      this.#fromUpstream.resume()
    })
    upstream.on('drain', () => this.#fromClient.resume())
    upstream.on('error', cause => this.broke(cause))
    upstream.on('end', () => this.upstreamEnded())
    upstream.on('close', () => this.upstreamEnded())
    const opening = openingMessage(call, context.route, context.exchange)
    if (typeof opening === 'string') this.open(opening)
    if (context.client.rest.length > 0) this.#fromClient.push(context.client.rest)
    if (call.kernel.draining) this.drain()
  }

  // ── bytes

  private passUp(bytes: Buffer): void {
    this.#clientSide.active = true
    this.#context.call.tally.bytesIn += bytes.length
    if (!this.#up.push(bytes)) this.#fromClient.pause()
    if (this.#up.reader.stopped) this.stopped('client')
    this.endFinishedSides()
  }

  private passDown(bytes: Buffer): void {
    this.#upstreamSide.active = true
    const fits = this.#down.push(bytes)
    if (this.#down.reader.stopped) this.stopped('upstream')
    this.endFinishedSides()
    if (!fits) this.#fromUpstream.pause()
  }

  /** The gateway's own first message. */
  private open(message: string): void {
    this.#context.observer?.onPiece('client', Buffer.from(message))
    this.#context.observer?.onMessage('client', true)
    this.toUpstream(textFrame(message, true))
  }

  private toUpstream(bytes: Buffer): boolean {
    this.#upstreamSide.sent += bytes.length
    return !this.#upstream.writable || this.#upstream.write(bytes)
  }

  private toClient(bytes: Buffer): boolean {
    if (this.#clientSide.gone) return true
    this.#context.call.tally.bytesOut += bytes.length
    this.#clientSide.sent += bytes.length
    if (!this.#client.writable || this.#client.write(bytes)) return true
    this.#isFull = true
    return false
  }

  // ── called by the frame observer

  message(): void {
    this.#context.call.tally.events++
    this.#hadMessage = true
  }

  /** False if the close frame must not pass: the other side broke the protocol, so the gateway sends its own. */
  closed(by: 'client' | 'upstream', code: number, reason: string): boolean {
    if (this.#state === 'parting') return false
    if (this.#state !== 'open') return true
    const { call } = this.#context
    if (call.get(CLOSED) === undefined) {
      noteClosed(call, { code, by })
      this.#context.observer?.onClose(by, code, reason)
      if (by === 'upstream') call.error ??= closeError(code, reason)
    }
    this.#closingSince ||= performance.now()
    return true
  }

  /** A side sent something that must not pass. */
  private stopped(by: 'client' | 'upstream'): void {
    if (this.#state === 'parting' && by !== this.#fault?.by) this.parted()
    if (this.#state !== 'open') return
    const { fault } = by === 'client' ? this.#up.reader : this.#down.reader
    if (fault !== undefined) {
      this.part({ by, code: fault.code, reason: fault.reason })
      return
    }
    const { refusal } = this.#observer.messages
    if (refusal !== undefined) this.leave(POLICY, 'a message names a model that may not be used', refusal)
  }

  // ── ends

  /** One side broke the protocol: the other one is sent a close frame. */
  private part(fault: Fault): void {
    const { call } = this.#context
    const code = codeForOther(fault)
    this.#state = 'parting'
    this.#fault = fault
    this.#closingSince = performance.now()
    call.error ??= faultError(fault)
    noteClosed(call, { code: fault.by === 'client' ? fault.code : code, by: 'gateway' })
    const other = fault.by === 'client' ? this.#down : this.#up
    if (fault.by === 'client') this.#up.end(closeFrame(code, 'the session is over', true))
    else this.#down.end(closeFrame(code, 'the upstream violated the protocol', false))
    this.readOn()
    if (other.reader.closed || other.ended) this.parted()
  }

  /** The other side has finished: the side at fault gets its close frame. */
  private parted(): void {
    const fault = this.#fault
    if (this.#state !== 'parting' || fault === undefined) return
    this.#state = 'closing'
    this.#closingSince = performance.now()
    if (fault.by === 'client') this.#down.end(this.finalFrames(fault.code, fault.reason, faultError(fault)))
    else this.#up.end(closeFrame(fault.code, fault.reason, true))
    this.endFinishedSides()
  }

  /** The gateway ends the session: close frames to both sides, for the client after an event with the reason. */
  private leave(code: number, reason: string, error: GatewayError): void {
    if (this.#state !== 'open') return
    const { call } = this.#context
    this.#state = 'closing'
    this.#closingSince = performance.now()
    call.error ??= error
    noteClosed(call, { code, by: 'gateway' })
    const frames = code === POLICY ? this.finalFrames(code, reason, error) : closeFrame(code, reason, false)
    this.#up.end(closeFrame(GOING_AWAY, 'the session is over', true))
    this.#down.end(frames)
    this.readOn()
    this.endFinishedSides()
  }

  private finalFrames(code: number, reason: string, error: GatewayError): Buffer {
    const event = errorEvent(this.#context, error)
    const close = closeFrame(code, reason, false)
    return event === undefined ? close : Buffer.concat([textFrame(event, false), close])
  }

  private readOn(): void {
    this.#fromClient.resume()
    this.#fromUpstream.resume()
  }

  /** Ends the connection to a side that was sent everything, if nothing more of it could be read or is expected. */
  private endFinishedSides(): void {
    if (this.#state !== 'closing') return
    const [up, down] = [this.#up, this.#down]
    const isClientDone = up.reader.stopped || up.reader.closed || !down.reader.between
    if (down.ended && isClientDone && !this.#clientSide.gone && this.#client.writable) this.#client.end()
    if (up.ended && (down.reader.stopped || !up.reader.between)) this.#upstream.end()
  }

  /** The connection to the upstream broke; `upstreamEnded` follows. */
  private broke(cause: Error): void {
    if (this.#state !== 'open' || this.#down.reader.closed || this.#up.reader.closed) return
    this.#context.call.error ??= new GatewayError('upstream_truncated', "The upstream's answer ended early.", {
      cause,
      phase: 'reset',
    })
  }

  private upstreamEnded(): void {
    if (this.#upstreamSide.gone) return
    this.#upstreamSide.gone = true
    const { call } = this.#context
    if (this.#state === 'open' && !this.#down.reader.closed) {
      noteClosed(call, { code: ABNORMAL, by: 'upstream' })
      call.error ??= new GatewayError('upstream_truncated', "The upstream's answer ended early.", { phase: 'reset' })
      this.#down.end(closeFrame(UPSTREAM_FAILED, 'the upstream disconnected', false))
    }
    this.parted()
    this.#fromClient.resume()
    this.endBothSides()
  }

  private clientEnded(): void {
    const side = this.#clientSide
    if (!side.gone) {
      side.gone = true
      const { call } = this.#context
      if (this.#state === 'open' && !this.#up.reader.closed) {
        noteClosed(call, { code: ABNORMAL, by: 'client' })
        if (!this.#upstreamSide.gone)
          call.error ??= new GatewayError('client_gone', 'The client disconnected.', { phase: 'client_abort' })
        this.#up.end(closeFrame(GOING_AWAY, 'the client disconnected', true))
      }
      this.parted()
      this.#upstream.end()
      this.#fromUpstream.resume()
    }
    this.endBothSides()
  }

  /** Ends the connections that are still open; settles when both have ended. */
  private endBothSides(): void {
    if (this.#state === 'over') return
    this.#state = 'closing'
    this.#closingSince ||= performance.now()
    if (!this.#clientSide.gone && this.#client.writable) this.#client.end()
    if (this.#clientSide.gone && this.#upstreamSide.gone) this.settle()
  }

  private settle(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    const { call, client } = this.#context
    call.kernel.need(TUNNELS).delete(this)
    this.#upstream.destroy()
    const end = (): unknown => this.#client.destroy()
    if (this.#client.writable) this.#client.end(end)
    else end()
    // No one watches it any more, and what waits may never be read.
    if (this.#client.writableLength > 0) setTimeout(end, CLOSING_TIMEOUT_MS).unref()
    client.settle()
  }

  // ── called by the process

  drain(): void {
    const error = new GatewayError('unavailable', 'The gateway is shutting down.', { phase: 'drain' })
    this.leave(GOING_AWAY, 'the gateway is shutting down', error)
  }

  cut(error: GatewayError): void {
    if (error.details.phase === 'drain') this.settle()
    else this.leave(POLICY, 'a limit is reached', error)
  }

  /** Breaks both connections: the call is over already. */
  terminate(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#context.call.kernel.need(TUNNELS).delete(this)
    this.#upstream.destroy()
    this.#client.destroy()
  }

  check(now: number): void {
    if (now - this.#checked < CHECK_INTERVAL_MS && this.#state !== 'parting') return
    this.#checked = now
    const [client, upstream] = [this.#clientSide.stalledFor(now), this.#upstreamSide.stalledFor(now)]
    const { stall } = this.#context.call.generation.plan.limits
    if ((client ?? 0) > stall || (upstream ?? 0) > stall) {
      this.stalled((client ?? 0) > stall ? 'client' : 'upstream')
      return
    }
    const isTaken = client !== undefined || upstream !== undefined
    if (this.#closingSince !== 0) {
      this.checkEnd(now, isTaken)
      return
    }
    if (this.#hadMessage || isTaken) this.#lastMessageAt = now
    this.#hadMessage = false
    const { idle, total } = this.#context.exchange.timeouts
    if (now - this.#lastMessageAt > idle) this.leave(GOING_AWAY, 'the session was idle', timedOut('idle'))
    else if (now - this.#opened > total) this.leave(GOING_AWAY, 'the session is too old', timedOut('total'))
    else this.pingIfSilent(now, client !== undefined, upstream !== undefined)
  }

  /** `isTaken`: a side still reads data that waits for it, so it gets more time; but a frame may be of any length. */
  private checkEnd(now: number, isTaken: boolean): void {
    this.#endingSince ||= now
    const isLate = now - this.#endingSince > FRAME_TIMEOUT_MS && (this.#up.isEnding || this.#down.isEnding)
    if (this.#state === 'parting') {
      if (now - this.#closingSince > PARTING_TIMEOUT_MS) this.parted()
    } else if (isTaken && !isLate) this.#closingSince = now
    else if (now - this.#closingSince > CLOSING_TIMEOUT_MS) {
      // Its connection would last until it has read what waits.
      if (this.#client.writableLength > 0) this.#client.destroy()
      this.settle()
    }
  }

  private stalled(by: Fault['by']): void {
    const { call } = this.#context
    call.error ??= stalledError(by)
    noteClosed(call, { code: ABNORMAL, by })
    if (by === 'client') this.#client.destroy()
    this.settle()
  }

  private pingIfSilent(now: number, clientTakes: boolean, upstreamTakes: boolean): void {
    const ofClient = this.#clientSide.check(now, clientTakes || this.#client.isPaused(), this.#down.reader.between)
    const ofUpstream = this.#upstreamSide.check(now, upstreamTakes || this.#isFull, this.#up.reader.between)
    if (ofClient === 'ping') this.toClient(pingFrame(false))
    if (ofUpstream === 'ping' && this.#upstream.writable) this.#upstream.write(pingFrame(true))
    if (ofClient === 'dead') {
      this.#client.destroy()
    } else if (ofUpstream === 'dead') {
      this.broke(new Error('the upstream stopped responding'))
      this.upstreamEnded()
    }
  }
}
