import { GatewayError } from '../../core/errors.js'
import { noteClosed } from '../../kernel/closed.js'
import { type MessageHandler, MessageSocket, type Passed } from '../../net/message-socket.js'
import {
  ABNORMAL,
  CLOSING_TIMEOUT_MS,
  closeError,
  codeForOther,
  type Fault,
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
import { Messages } from './messages.js'
import { openingMessage } from './opening-message.js'
import type { Session } from './session.js'
import { Side } from './side.js'
import { TUNNELS } from './tunnels.js'

const NOT_JSON = new GatewayError('bad_request', 'A message that names a model must be JSON.')

type By = Fault['by']

interface End {
  readonly socket: MessageSocket
  readonly side: Side
}

/** The close frame for the side that ended the session or broke the protocol, sent after the other one has finished. */
interface Answer {
  readonly to: By
  readonly code: number
  readonly reason: string
}

/**
 * `open`: messages pass. `parting`: one side has closed or broken the protocol; the other one was sent a close frame, and its
 * messages still pass until it answers. `closing`: nothing passes; both sides end their connections. `over`: settled.
 */
type State = 'open' | 'parting' | 'closing' | 'over'

/** A session that passes whole messages, up to the route's limit of size; the gateway answers pings of each side. */
export class FramedSession implements Session {
  readonly #context: SessionContext
  readonly #ends: Readonly<Record<By, End>>
  readonly #messages: Messages
  readonly #opened = performance.now()
  #lastMessageAt = this.#opened
  #state: State = 'open'
  #answer: Answer | undefined
  /** When the session began to end. */
  #closingSince = 0

  constructor(context: SessionContext, client: Passed, upstream: Passed) {
    const { call } = context
    this.#context = context
    this.#messages = new Messages(context, true)
    this.#ends = { client: this.end('client', client), upstream: this.end('upstream', upstream) }
    call.kernel.need(TUNNELS).add(this)
    const opening = openingMessage(call, context.route, context.exchange)
    if (typeof opening === 'string') {
      this.observe('client', Buffer.from(opening), true)
      this.#ends.upstream.socket.send(opening, true)
    }
    if (call.kernel.draining) this.drain()
  }

  private end(by: By, passed: Passed): End {
    const other = otherThan(by)
    const side = new Side(passed.connection, this.#opened)
    const handler: MessageHandler = {
      message: (data, isText) => this.message(by, other, data, isText),
      drained: () => this.#ends[other].socket.resume(),
      alive: () => {
        side.active = true
      },
      concluded: (code, reason) => this.concluded(by, code, reason),
      fault: (code, reason, overLimit) => this.part({ by, code, reason, overLimit }),
      gone: () => this.gone(by),
    }
    return { socket: new MessageSocket(passed, this.#context.call.kernel.turns, handler), side }
  }

  // ── messages

  private message(from: By, to: By, data: Buffer, isText: boolean): void {
    this.#ends[from].side.active = true
    if (this.#state !== 'open' && (this.#state !== 'parting' || this.#answer?.to === from)) return
    const { call } = this.#context
    call.tally.events++
    this.#lastMessageAt = performance.now()
    if (from === 'client') call.tally.bytesIn += data.length
    else call.tally.bytesOut += data.length
    const passed = this.read(from, data)
    if (passed === undefined) return
    this.observe(from, passed, isText)
    this.#ends[to].side.sent += passed.length
    if (!this.#ends[to].socket.send(passed, isText)) this.#ends[from].socket.pause()
  }

  private observe(by: By, data: Buffer, isText: boolean): void {
    const { observer } = this.#context
    observer?.onPiece(by, data)
    observer?.onMessage(by, isText)
  }

  /** The message to pass on; undefined if it must not pass. */
  private read(from: By, data: Buffer): Buffer | undefined {
    const { usage } = this.#messages
    if (from === 'upstream') {
      usage?.begin()
      usage?.push(data, 0, data.length)
      usage?.end()
      this.#context.gated.usage = usage?.usage
      return data
    }
    if (!this.#messages.mayNameModel) return data
    this.#messages.begin()
    this.#messages.push(data, 0, data.length)
    const renamed = this.#messages.refusal === undefined ? this.renamed(data) : undefined
    if (renamed !== undefined) return renamed
    this.leave(POLICY, 'a message names a model that may not be used', this.#messages.refusal ?? NOT_JSON)
    return undefined
  }

  /** Undefined if a message that must be changed is not JSON. */
  private renamed(data: Buffer): Buffer | undefined {
    try {
      return this.#messages.renamed(data)
    } catch (error) {
      if (error instanceof SyntaxError) return undefined
      throw error
    }
  }

  // ── ends

  /** A close frame was received: it is passed to the other side, which answers it. */
  private concluded(by: By, code: number, reason: string): void {
    const other = otherThan(by)
    if (this.#state === 'open') {
      const { call } = this.#context
      noteClosed(call, { code, by })
      this.#context.observer?.onClose(by, code, reason)
      if (by === 'upstream') call.error ??= closeError(code, reason)
      this.begin('parting', { to: by, code, reason })
      this.#ends[other].socket.close(code, reason)
    } else if (this.#state === 'parting' && this.#answer?.to === other) {
      this.#ends[by].socket.close(code, reason)
      this.parted()
    } else this.#ends[by].socket.close(code, reason)
  }

  /** One side broke the protocol: the other one is sent a close frame. */
  private part(fault: Fault): void {
    if (this.#state === 'parting' && this.#answer?.to !== fault.by) this.parted()
    if (this.#state !== 'open') {
      this.#ends[fault.by].socket.close(fault.code, fault.reason)
      return
    }
    const { call } = this.#context
    const code = codeForOther(fault)
    call.error ??= faultError(fault)
    noteClosed(call, { code: fault.by === 'client' ? fault.code : code, by: 'gateway' })
    this.begin('parting', { to: fault.by, code: fault.code, reason: '' })
    const reason = fault.by === 'client' ? 'the session is over' : 'the upstream violated the protocol'
    this.#ends[otherThan(fault.by)].socket.close(code, reason)
  }

  /** The other side has finished: the first one gets its close frame. */
  private parted(): void {
    const answer = this.#answer
    if (this.#state !== 'parting' || answer === undefined) return
    this.begin('closing')
    this.#ends[answer.to].socket.close(answer.code, answer.reason)
  }

  private gone(by: By): void {
    this.#ends[by].side.gone = true
    const other = otherThan(by)
    if (this.#state === 'open') {
      const { call } = this.#context
      noteClosed(call, { code: ABNORMAL, by })
      call.error ??= by === 'upstream' ? closeError(ABNORMAL, '') : clientGone()
      this.begin('closing')
      this.#ends[other].socket.close(by === 'upstream' ? UPSTREAM_FAILED : GOING_AWAY, `the ${by} broke off`)
    } else this.parted()
    if (this.#ends[other].side.gone) this.settle()
  }

  /** The gateway ends the session: close frames to both sides, for the client after an event with the reason. */
  private leave(code: number, reason: string, error: GatewayError): void {
    if (this.#state !== 'open' && this.#state !== 'parting') return
    const { call } = this.#context
    const event = code === POLICY ? errorEvent(this.#context, error) : undefined
    if (event !== undefined) this.#ends.client.socket.send(event, true)
    call.error ??= error
    noteClosed(call, { code, by: 'gateway' })
    this.begin('closing')
    this.#ends.client.socket.close(code, reason)
    this.#ends.upstream.socket.close(GOING_AWAY, 'the session is over')
  }

  private begin(state: 'parting' | 'closing', answer?: Answer): void {
    this.#state = state
    this.#answer = answer
    this.#closingSince = performance.now()
  }

  private settle(): void {
    if (this.#state === 'over') return
    this.terminate()
    this.#context.client.settle()
  }

  drain(): void {
    const error = new GatewayError('unavailable', 'The gateway is shutting down.', { phase: 'drain' })
    if (this.#state === 'open') this.leave(GOING_AWAY, 'the gateway is shutting down', error)
  }

  cut(error: GatewayError): void {
    if (error.details.phase === 'drain') this.settle()
    else this.leave(POLICY, 'a limit is reached', error)
  }

  terminate(): void {
    this.#state = 'over'
    this.#context.call.kernel.need(TUNNELS).delete(this)
    for (const { socket } of Object.values(this.#ends)) socket.terminate()
  }

  check(now: number): void {
    const { client, upstream } = this.#ends
    const { stall } = this.#context.call.generation.plan.limits
    const [ofClient, ofUpstream] = [client.side.stalledFor(now), upstream.side.stalledFor(now)]
    if ((ofClient ?? 0) > stall || (ofUpstream ?? 0) > stall) {
      this.stalled((ofClient ?? 0) > stall ? 'client' : 'upstream')
      return
    }
    const isTaken = ofClient !== undefined || ofUpstream !== undefined
    if (this.#closingSince !== 0) {
      this.checkEnd(now, isTaken)
      return
    }
    if (isTaken) this.#lastMessageAt = now
    const { idle, total } = this.#context.exchange.timeouts
    if (now - this.#lastMessageAt > idle) this.leave(GOING_AWAY, 'the session was idle', timedOut('idle'))
    else if (now - this.#opened > total) this.leave(GOING_AWAY, 'the session is too old', timedOut('total'))
    else {
      pingIfSilent(client, now, ofClient !== undefined)
      pingIfSilent(upstream, now, ofUpstream !== undefined)
    }
  }

  /** `isTaken`: a side still reads data that waits for it, so it gets more time. */
  private checkEnd(now: number, isTaken: boolean): void {
    if (isTaken) this.#closingSince = now
    else if (this.#state === 'parting') {
      if (now - this.#closingSince > PARTING_TIMEOUT_MS) this.parted()
    } else if (now - this.#closingSince > CLOSING_TIMEOUT_MS) this.settle()
  }

  private stalled(by: By): void {
    const { call } = this.#context
    call.error ??= stalledError(by)
    noteClosed(call, { code: ABNORMAL, by })
    this.settle()
  }
}

/** A side that is reading waiting data, or that is paused because the other one is slow, is not pinged. */
function pingIfSilent({ side, socket }: End, now: number, takes: boolean): void {
  const sign = side.check(now, takes || socket.isPaused, true)
  if (sign === 'ping') socket.ping()
  else if (sign === 'dead') socket.terminate()
}

function otherThan(by: By): By {
  return by === 'client' ? 'upstream' : 'client'
}

function clientGone(): GatewayError {
  return new GatewayError('client_gone', 'The client disconnected.', { phase: 'client_abort' })
}
