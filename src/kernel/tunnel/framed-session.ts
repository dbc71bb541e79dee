import { errorBody } from '../../core/error-bodies.js'
import { GatewayError } from '../../core/errors.js'
import { type MessageHandler, MessageSocket } from '../../net/framed-socket.js'
import { LifeSigns } from '../life-signs.js'
import type { Place } from './attempt.js'
import { Messages } from './messages.js'
import type { Session } from './session.js'
import { ABNORMAL, closeError, GOING_AWAY, POLICY, UPSTREAM_FAILED } from './verdicts.js'

/** Time for both sides to end their connections once the session ends, milliseconds. */
const CLOSING = 2000

const NOT_JSON = new GatewayError('bad_request', 'A message that names a model has to be JSON.')

type Sockets = ConstructorParameters<typeof MessageSocket>[0]
type Side = 'client' | 'upstream'

interface End {
  readonly socket: MessageSocket
  readonly signs: LifeSigns
  gone: boolean
}

/** A session whose messages are passed on whole, each no larger than the route allows; pings are answered on each side. */
export class FramedSession implements Session {
  readonly #place: Place
  readonly #ends: Readonly<Record<Side, End>>
  readonly #messages: Messages
  readonly #opened = performance.now()
  #moved = this.#opened
  #closingSince = 0
  #over = false

  constructor(place: Place, client: Sockets, upstream: Sockets) {
    const { call } = place
    this.#place = place
    this.#messages = new Messages(place, true)
    this.#ends = { client: this.end('client', client), upstream: this.end('upstream', upstream) }
    call.kernel.tunnels.add(this)
    if (call.kernel.draining) this.drain()
  }

  private end(side: Side, socket: Sockets): End {
    const other: Side = side === 'client' ? 'upstream' : 'client'
    const handler: MessageHandler = {
      message: (data, isText) => this.message(side, other, data, isText),
      drained: () => this.#ends[other].socket.resume(),
      alive: () => this.#ends[side].signs.heard(performance.now()),
      closed: (code, reason) => this.closed(side, other, code, reason),
    }
    return { socket: new MessageSocket(socket, handler), signs: new LifeSigns(this.#opened), gone: false }
  }

  private message(from: Side, to: Side, data: Buffer, isText: boolean): void {
    const now = performance.now()
    this.#ends[from].signs.heard(now)
    if (this.#closingSince !== 0) return
    const { call } = this.#place
    call.events++
    this.#moved = now
    if (from === 'client') call.bytesIn += data.length
    else call.bytesOut += data.length
    const passed = isText ? this.read(from, data) : data
    if (passed !== undefined && !this.#ends[to].socket.send(passed, isText)) this.#ends[from].socket.pause()
  }

  /** The message as it passes on; undefined where it may not. */
  private read(from: Side, data: Buffer): Buffer | undefined {
    const { call, route } = this.#place
    const { usage } = this.#messages
    if (from === 'upstream') {
      usage?.begin()
      usage?.push(data, 0, data.length)
      usage?.end()
      call.usage = usage?.usage
      return data
    }
    this.#messages.begin()
    this.#messages.push(data, 0, data.length)
    const renamed = this.#messages.refusal === undefined ? this.renamed(data) : undefined
    if (renamed !== undefined) return renamed
    const error = this.#messages.refusal ?? NOT_JSON
    const event = { type: 'error', event_id: `event_${call.id}`, ...errorBody(error, route.errors, call.id) }
    this.#ends.client.socket.send(JSON.stringify(event), true)
    this.leave(POLICY, 'a message names a model that may not be used', error)
    return undefined
  }

  /** Undefined where a message that is to be changed is no JSON. */
  private renamed(data: Buffer): Buffer | undefined {
    try {
      return this.#messages.renamed(data)
    } catch (error) {
      if (error instanceof SyntaxError) return undefined
      throw error
    }
  }

  private closed(by: Side, to: Side, code: number, reason: string): void {
    const { call } = this.#place
    this.#ends[by].gone = true
    if (this.#closingSince === 0) {
      call.closed ??= { code, by }
      call.error ??= by === 'upstream' ? closeError(code, reason) : clientError(code)
      const abnormal = by === 'upstream' ? UPSTREAM_FAILED : GOING_AWAY
      this.#ends[to].socket.close(
        code === ABNORMAL ? abnormal : code,
        code === ABNORMAL ? `the ${by} broke off` : reason,
      )
      this.#closingSince = performance.now()
    }
    if (this.#ends[to].gone) this.settle()
  }

  private leave(code: number, reason: string, error: GatewayError): void {
    if (this.#closingSince !== 0) return
    const { call } = this.#place
    this.#closingSince = performance.now()
    call.error ??= error
    call.closed ??= { code, by: 'gateway' }
    this.#ends.client.socket.close(code, reason)
    this.#ends.upstream.socket.close(GOING_AWAY, 'the session is over')
  }

  private settle(): void {
    if (this.#over) return
    this.terminate()
    this.#place.client.response.settle()
  }

  drain(): void {
    const error = new GatewayError('unavailable', 'The gateway is shutting down.', { phase: 'drain' })
    this.leave(GOING_AWAY, 'the gateway is shutting down', error)
  }

  cut(): void {
    this.settle()
  }

  terminate(): void {
    this.#over = true
    this.#place.call.kernel.tunnels.delete(this)
    for (const { socket } of Object.values(this.#ends)) socket.terminate()
  }

  check(now: number): void {
    if (this.#closingSince !== 0) {
      if (now - this.#closingSince > CLOSING) this.settle()
      return
    }
    const { idle, total } = this.#place.exchange.timeouts
    const ended = (phase: string) => new GatewayError('request_timeout', 'The session has ended.', { phase })
    if (now - this.#moved > idle) this.leave(GOING_AWAY, 'the session was idle', ended('idle'))
    else if (now - this.#opened > total) this.leave(GOING_AWAY, 'the session is too old', ended('total'))
    else for (const end of Object.values(this.#ends)) askForLife(end, now)
  }
}

function askForLife({ signs, socket }: End, now: number): void {
  const sign = signs.check(now)
  if (sign === 'ask') socket.ping()
  else if (sign === 'dead') socket.terminate()
}

function clientError(code: number): GatewayError | undefined {
  if (code === ABNORMAL) return new GatewayError('client_gone', 'The client went away.', { phase: 'client_abort' })
  if (code !== 1009) return undefined
  return new GatewayError('too_large', 'A message is over the limit.', { limit: 'body' })
}
