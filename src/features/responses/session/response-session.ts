import { compatibleError } from '../../../core/error-bodies.js'
import { GatewayError } from '../../../core/errors.js'
import { jsonText } from '../../../core/exact-json.js'
import type { Limits } from '../../../core/limits.js'
import type { EventLoopShares } from '../../../kernel/event-loop-shares.js'
import { InnerExchange, type Serve } from '../../../kernel/inner.js'
import { Keepalive } from '../../../kernel/keepalive.js'
import type { MemoryLease } from '../../../kernel/memory.js'
import { yieldToEventLoop } from '../../../kernel/translate/steps.js'
import { SOCKET_METHOD } from '../../../kernel/upgrade.js'
import type { FramedSocket, SocketHandler } from '../../../net/framed-socket.js'
import type { HttpRequest } from '../../../transport/exchange.js'
import { textFrames } from '../../../wire/frames.js'
import { replaceMembers, setValue } from '../../../wire/json-edit.js'
import { withLocal } from '../inside.js'
import { LastTurn } from './last-turn.js'
import { readMessage, streamId } from './socket-message.js'
import { errorEvent, marked, SocketTurn } from './socket-turn.js'

/** Maximum number of requests that wait for the current one. */
const MAX_WAITING_REQUESTS = 16
/** Maximum age of a connection, milliseconds; the protocol's clients expect to reopen it then. */
const MAX_SESSION_MS = 3_600_000

/** Members that concern the message and not the response. */
const ENVELOPE = ['type', 'stream_id', 'event_id', 'generate'] as const
/** Close codes of RFC 6455 §7.4.1. */
const CLOSE_GOING_AWAY = 1001
const CLOSE_UNSUPPORTED = 1003
const CLOSE_POLICY = 1008

/** `stall`: longest time in which a client may read nothing of what waits for it, milliseconds; unlimited without it. */
type SessionLimits = Pick<Limits, 'body' | 'values'> & Partial<Pick<Limits, 'stall'>>

/**
 * A WebSocket on which a client requests one response after another, each by a message `response.create`, and gets
 * the events of the protocol's streams as messages. Each request is handled like an HTTP request, authentication
 * included. Source: the Open Responses specification, WebSocket transport.
 */
export class ResponseSession implements SocketHandler {
  readonly #socket: FramedSocket
  readonly #serve: Serve
  readonly #request: HttpRequest
  readonly #limits: SessionLimits
  /** Heap for the objects of the current message. */
  readonly #memory: MemoryLease
  /** Many clients may send at once. */
  readonly #turns: EventLoopShares
  readonly #last = new LastTurn()
  readonly #onEnd: () => void
  readonly #opened = performance.now()
  readonly #keepalive = new Keepalive(this.#opened)
  #waiting: string[] = []
  #waitingBytes = 0
  #turn: SocketTurn | undefined
  /** A message is being read; its turn has not begun. */
  #beginning = false
  #state: 'open' | 'leaving' | 'over' = 'open'

  constructor(
    socket: FramedSocket,
    request: HttpRequest,
    limits: SessionLimits,
    memory: MemoryLease,
    turns: EventLoopShares,
    serve: Serve,
    onEnd: () => void,
  ) {
    this.#socket = socket
    this.#serve = serve
    this.#request = request
    this.#limits = limits
    this.#memory = memory
    this.#turns = turns
    this.#onEnd = onEnd
    socket.handle(this)
  }

  // ── called by the socket

  message(text: string): void {
    this.alive()
    if (this.#state !== 'open') return
    if (this.#waiting.length >= MAX_WAITING_REQUESTS || this.#waitingBytes + text.length > this.#limits.body) {
      this.leave(CLOSE_POLICY, 'too many requests at once')
      return
    }
    this.#waiting.push(text)
    this.#waitingBytes += text.length
    this.next()
  }

  binary(): void {
    this.leave(CLOSE_UNSUPPORTED, 'messages must be JSON texts')
  }

  drained(): void {
    this.#turn?.request?.resumed()
    this.next()
  }

  alive(): void {
    this.#keepalive.received(performance.now(), this.#socket.sent)
  }

  closed(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#waiting = []
    this.#turn?.request?.destroy()
    this.#memory.end()
    this.#onEnd()
  }

  // ── called by the process

  /** Called periodically: pings a silent client, and ends a connection that is too old or dead, or that no one reads. */
  check(now: number): void {
    if (this.#state === 'open' && now - this.#opened > MAX_SESSION_MS && this.#turn === undefined) this.expire()
    const waiting = this.#socket.stalledFor(now)
    if (waiting !== undefined && waiting > (this.#limits.stall ?? Number.POSITIVE_INFINITY)) this.#socket.terminate()
    // A ping would queue behind bytes that the client has not read yet.
    else if (waiting !== undefined) this.#keepalive.wait(now)
    const sign = this.#keepalive.check(now, true, this.#socket.sent)
    if (sign === 'ping') this.#socket.ping()
    else if (sign === 'dead') this.#socket.terminate()
  }

  /** Rejects new requests, and closes after the current one has been answered. */
  drain(): void {
    this.leave(CLOSE_GOING_AWAY, 'the gateway is shutting down')
  }

  terminate(): void {
    this.#socket.terminate()
  }

  /** Begins the next message, unless there is one, or the client has not read the answers to earlier ones. */
  private next(): void {
    if (this.#turn !== undefined || this.#beginning || this.#socket.full || this.#state !== 'open') return
    const text = this.#waiting.shift()
    if (text === undefined) return
    this.#waitingBytes -= text.length
    this.#beginning = true
    this.#turns.begin(() => this.beginNext(text))
  }

  private beginNext(text: string): void {
    this.begin(text)
      .catch((cause: unknown) => {
        const error =
          cause instanceof GatewayError ? cause : new GatewayError('internal', 'The gateway failed.', { cause })
        this.#socket.send(textFrames([errorEvent(error.status, compatibleError(error))]))
      })
      .finally(() => {
        this.#beginning = false
        if (this.#turn === undefined) this.#memory.release()
        if (this.#state === 'leaving' && this.#turn === undefined)
          this.#socket.close(CLOSE_GOING_AWAY, 'the gateway is shutting down')
        else this.next()
      })
  }

  private async begin(text: string): Promise<void> {
    await yieldToEventLoop(text.length)
    const bytes = Buffer.from(text)
    const message = await readMessage(bytes, this.#limits.values, this.#memory)
    const stream = streamId(message)
    if (message.generate === false) {
      this.#socket.send(textFrames(this.#last.warm(message).map(event => marked(jsonText(event), stream))))
      return
    }
    await yieldToEventLoop(text.length)
    const sent = replaceMembers(bytes, ENVELOPE, 'stream', 'true')
    // The session may have begun to end meanwhile.
    if (this.#state !== 'open') return
    const { input } = this.#last.asked(message)
    const isOther = input !== undefined && input !== message.input
    const body = isOther ? setValue(sent, ['input'], jsonText(input), 'always') : sent
    const { target } = this.#request
    const turn = new SocketTurn(stream, this.#socket, this.#last, () => this.ended())
    const asked = { method: SOCKET_METHOD, target, body, inside: { slots: withLocal(this.#last) } }
    turn.request = new InnerExchange(this.#request, asked, turn)
    this.#turn = turn
    this.#serve(turn.request)
  }

  private ended(): void {
    this.#turn = undefined
    this.#last.asked({})
    this.#memory.release()
    if (this.#state === 'leaving') this.#socket.close(CLOSE_GOING_AWAY, 'the gateway is shutting down')
    else if (performance.now() - this.#opened > MAX_SESSION_MS) this.expire()
    else queueMicrotask(() => this.next())
  }

  private expire(): void {
    const message = 'This connection has reached its age limit (60 minutes). Open a new one to continue.'
    const error = new GatewayError('bad_request', message, { familyCode: 'websocket_connection_limit_reached' })
    this.#socket.send(textFrames([errorEvent(error.status, compatibleError(error))]))
    this.leave(CLOSE_GOING_AWAY, 'age limit')
  }

  private leave(code: number, reason: string): void {
    if (this.#state !== 'open') return
    this.#waiting = []
    this.#state = 'leaving'
    if (code === CLOSE_GOING_AWAY && (this.#turn !== undefined || this.#beginning)) return
    this.#socket.close(code, reason)
    this.#turn?.request?.destroy()
  }
}
