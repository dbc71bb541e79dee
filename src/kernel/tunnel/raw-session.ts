import type { Duplex } from 'node:stream'
import { errorBody } from '../../core/error-bodies.js'
import { GatewayError } from '../../core/errors.js'
import type { RawTunnel } from '../../net/raw-tunnel.js'
import type { FrameReader } from '../../wire/frame-reader.js'
import { closeFrame, pingFrame, textFrame } from '../../wire/frames.js'
import { LifeSigns } from '../life-signs.js'
import type { Place } from './attempt.js'
import { Reading } from './reading.js'
import type { Session } from './session.js'
import { ABNORMAL, closeError, GOING_AWAY, POLICY, PROTOCOL_ERROR, UPSTREAM_FAILED } from './verdicts.js'

/** Time for both sides to end their connections once a close frame has gone out, milliseconds. */
const CLOSING = 2000
/** How often a session is looked after, milliseconds. */
const EVERY = 250

/**
 * `open`: bytes pass. `leaving`: the gateway ends the session, and its close frame waits for the end of the frame at hand
 * towards the client. `closing`: nothing more passes; both sides end their connections. `over`: settled.
 */
type State = 'open' | 'leaving' | 'closing' | 'over'

/** One side, as far as it is watched for being alive. */
interface Side {
  readonly signs: LifeSigns
  /** Something has come from it since it was last looked after: a flag costs less than a look at the clock. */
  stirred: boolean
  /** It has ended its connection. */
  gone: boolean
}

/**
 * A session whose bytes pass unchanged in both directions, each no faster than its receiver takes them. Frames are read
 * while they pass: to add up usage, to stop a message that names a model which this caller may not use, and to know where
 * a frame of the gateway's own may stand. Those are few: a ping to a side that has been silent for 20 s (its pong passes
 * like any other, which RFC 6455 §5.5.3 allows), and a close frame where one side is gone or the gateway ends the session.
 */
export class RawSession implements Session {
  readonly #place: Place
  readonly #client: Duplex
  readonly #tunnel: RawTunnel
  readonly #reading: Reading
  readonly #up: FrameReader
  readonly #down: FrameReader
  readonly #clientSide: Side
  readonly #upstreamSide: Side
  #state: State = 'open'
  /** When the client stopped taking bytes. */
  #stalledSince: number | undefined
  #farewell: Buffer | undefined
  #closingSince = 0
  /** When a message last began; whether one has since the session was last looked after. */
  #moved: number
  #moves = false
  #checked = 0
  readonly #opened = performance.now()

  constructor(place: Place, tunnel: RawTunnel) {
    this.#place = place
    this.#client = place.client.socket
    this.#tunnel = tunnel
    this.#moved = this.#opened
    this.#clientSide = { signs: new LifeSigns(this.#opened), stirred: true, gone: false }
    this.#upstreamSide = { signs: new LifeSigns(this.#opened), stirred: true, gone: false }
    this.#reading = new Reading(place, this)
    this.#up = this.#reading.up
    this.#down = this.#reading.down
    const { call } = place
    call.kernel.tunnels.add(this)
    this.#client.on('data', (bytes: Buffer) => this.fromClient(bytes))
    this.#client.on('end', () => this.clientEnded())
    this.#client.on('close', () => this.clientEnded())
    this.#client.on('drain', () => {
      this.#stalledSince = undefined
      this.#tunnel.more()
    })
    if (place.client.head.length > 0) this.fromClient(place.client.head)
    if (call.kernel.draining) this.drain()
  }

  // ── bytes

  private fromClient(bytes: Buffer): void {
    this.#clientSide.stirred = true
    this.#place.call.bytesIn += bytes.length
    const passed = this.#up.push(bytes)
    if (this.#state === 'open') {
      if (passed > 0 && !this.#tunnel.send(passed === bytes.length ? bytes : bytes.subarray(0, passed)))
        this.#client.pause()
      if (passed < bytes.length) this.stopped()
    } else if (this.#up.closed) this.hangUp()
  }

  /** False where the client takes no more for now. */
  fromUpstream(bytes: Buffer): boolean {
    this.#upstreamSide.stirred = true
    if (this.#state !== 'open') {
      this.untilFarewell(bytes)
      return true
    }
    const passed = this.#down.push(bytes)
    const fits = passed === 0 || this.write(passed === bytes.length ? bytes : bytes.subarray(0, passed))
    const { fault } = this.#down
    if (fault !== undefined) {
      const error = new GatewayError('bad_upstream_response', 'The upstream broke the protocol.', {
        cause: fault.reason,
        phase: 'frame',
      })
      this.leave(UPSTREAM_FAILED, 'the upstream broke the protocol', error)
    }
    return fits
  }

  upstreamDrained(): void {
    if (this.#state === 'open') this.#client.resume()
  }

  private write(bytes: Buffer): boolean {
    this.#place.call.bytesOut += bytes.length
    if (this.#clientSide.gone || !this.#client.writable || this.#client.write(bytes)) return true
    this.#stalledSince ??= performance.now()
    return false
  }

  // ── what the frames say

  message(): void {
    this.#place.call.events++
    this.#moves = true
  }

  closed(by: 'client' | 'upstream', code: number, reason: string): void {
    if (this.#state !== 'open') return
    const { call } = this.#place
    if (call.closed === undefined) {
      call.closed = { code, by }
      if (by === 'upstream') call.error ??= closeError(code, reason)
    }
    this.#closingSince ||= performance.now()
  }

  /** The client sent something that may not pass. */
  private stopped(): void {
    const { fault } = this.#up
    if (fault !== undefined) {
      this.leave(
        fault.code,
        fault.reason,
        new GatewayError('bad_request', `The client broke the protocol: ${fault.reason}.`),
      )
    } else {
      const { refusal } = this.#reading.messages
      if (refusal !== undefined) this.leave(POLICY, 'a message names a model that may not be used', refusal)
    }
  }

  // ── ends

  /** Ends the session from here: an error event where the client is to blame, and close frames to both. */
  private leave(code: number, reason: string, error: GatewayError): void {
    if (this.#state !== 'open') return
    const { call } = this.#place
    this.#state = 'leaving'
    this.#closingSince = performance.now()
    call.error ??= error
    call.closed ??= { code, by: 'gateway' }
    const told = code === POLICY || code === PROTOCOL_ERROR ? [this.errorEvent(error)] : []
    this.#farewell = Buffer.concat([...told, closeFrame(code, reason, false)])
    if (this.#up.between) this.tellUpstream(GOING_AWAY, 'the session is over')
    else this.#tunnel.finish()
    this.#client.resume()
    this.#tunnel.more()
    this.untilFarewell(Buffer.alloc(0))
  }

  private errorEvent(error: GatewayError): Buffer {
    const { call, route } = this.#place
    const event = { type: 'error', event_id: `event_${call.id}`, ...errorBody(error, route.errors, call.id) }
    return textFrame(JSON.stringify(event), false)
  }

  /** Lets the frame at hand pass to its end, and then the farewell; not even that where the frame at fault has begun to pass. */
  private untilFarewell(bytes: Buffer): void {
    if (this.#state !== 'leaving' || this.#farewell === undefined) return
    const down = this.#down
    for (let at = 0; at < bytes.length && !down.between && down.fault === undefined; ) {
      // Of a head that is not whole yet nobody knows how much is missing.
      const piece = bytes.subarray(at, at + Math.max(1, down.missing))
      this.write(piece.subarray(0, down.push(piece)))
      at += piece.length
    }
    if (!down.between && down.fault === undefined) return
    this.#state = 'closing'
    if (down.between && !down.closed) this.write(this.#farewell)
    this.#farewell = undefined
    if (!down.between) this.hangUp()
  }

  private tellUpstream(code: number, reason: string): void {
    if (this.#upstreamSide.gone || this.#up.closed) return
    this.#tunnel.send(closeFrame(code, reason, true))
  }

  /** The connection to the upstream is broken, and `upstreamEnded` follows. */
  broke(cause: Error): void {
    if (this.#state !== 'open' || this.#down.closed || this.#up.closed) return
    this.#place.call.error ??= new GatewayError('upstream_truncated', 'The upstream broke off.', {
      cause,
      phase: 'reset',
    })
  }

  upstreamEnded(): void {
    if (this.#upstreamSide.gone) return
    this.#upstreamSide.gone = true
    const { call } = this.#place
    if (this.#state === 'open' && !this.#down.closed) {
      call.closed ??= { code: ABNORMAL, by: 'upstream' }
      call.error ??= new GatewayError('upstream_truncated', 'The upstream broke off.', { phase: 'reset' })
      if (this.#down.between) this.write(closeFrame(UPSTREAM_FAILED, 'the upstream broke off', false))
    }
    this.hangUp()
  }

  private clientEnded(): void {
    const side = this.#clientSide
    if (!side.gone) {
      side.gone = true
      const { call } = this.#place
      if (this.#state === 'open' && !this.#up.closed) {
        call.closed ??= { code: ABNORMAL, by: 'client' }
        if (!this.#upstreamSide.gone)
          call.error ??= new GatewayError('client_gone', 'The client went away.', { phase: 'client_abort' })
        if (this.#up.between) this.tellUpstream(GOING_AWAY, 'the client went away')
      }
      this.#tunnel.finish()
      this.#tunnel.more()
    }
    this.hangUp()
  }

  /** Ends what is still open of the two connections; settles once both are. */
  private hangUp(): void {
    if (this.#state === 'over') return
    this.#state = 'closing'
    this.#closingSince ||= performance.now()
    if (!this.#clientSide.gone && this.#client.writable) this.#client.end()
    if (this.#clientSide.gone && this.#upstreamSide.gone) this.settle()
  }

  private settle(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    const { call, client } = this.#place
    call.kernel.tunnels.delete(this)
    this.#tunnel.abort()
    if (this.#client.writable) this.#client.end(() => this.#client.destroy())
    else this.#client.destroy()
    client.response.settle()
  }

  // ── what the process does

  drain(): void {
    const error = new GatewayError('unavailable', 'The gateway is shutting down.', { phase: 'drain' })
    this.leave(GOING_AWAY, 'the gateway is shutting down', error)
  }

  cut(_error: GatewayError): void {
    this.settle()
  }

  /** The call is over already. */
  terminate(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#place.call.kernel.tunnels.delete(this)
    this.#tunnel.abort()
    this.#client.destroy()
  }

  check(now: number): void {
    if (now - this.#checked < EVERY) return
    this.#checked = now
    if (this.#closingSince !== 0) {
      if (now - this.#closingSince > CLOSING) this.settle()
      return
    }
    if (this.#moves) this.#moved = now
    this.#moves = false
    const { call, exchange } = this.#place
    if (this.#stalledSince !== undefined && now - this.#stalledSince > call.generation.plan.limits.stall) {
      call.error ??= new GatewayError('client_gone', 'The client stopped reading.', { phase: 'client_stall' })
      call.closed ??= { code: ABNORMAL, by: 'client' }
      this.settle()
    } else if (now - this.#moved > exchange.timeouts.idle) this.leave(GOING_AWAY, 'the session was idle', ended('idle'))
    else if (now - this.#opened > exchange.timeouts.total)
      this.leave(GOING_AWAY, 'the session is too old', ended('total'))
    else this.askForLife(now)
  }

  private askForLife(now: number): void {
    const [client, upstream] = [this.#clientSide, this.#upstreamSide]
    // A side that is kept waiting cannot be heard.
    if (client.stirred || this.#client.isPaused()) hear(client, now)
    if (upstream.stirred || this.#stalledSince !== undefined) hear(upstream, now)
    const ofClient = client.signs.check(now, this.#down.between)
    const ofUpstream = upstream.signs.check(now, this.#up.between)
    if (ofClient === 'ask') this.write(pingFrame(false))
    if (ofUpstream === 'ask') this.#tunnel.send(pingFrame(true))
    if (ofClient === 'dead') {
      this.#client.destroy()
    } else if (ofUpstream === 'dead') {
      this.broke(new Error('the upstream gave no sign of life'))
      this.upstreamEnded()
    }
  }
}

function hear(side: Side, now: number): void {
  side.stirred = false
  side.signs.heard(now)
}

function ended(phase: string): GatewayError {
  return new GatewayError('request_timeout', 'The session has ended.', { phase })
}
