import type { Socket } from 'node:net'
import type { IdleTimes } from './answer-head.js'
import { AnswerReader } from './answer-reader.js'
import { type ExchangeHandler, TransportFault, type UpstreamController } from './handler.js'
import { openSocket, type SocketSettings } from './socket.js'

/** Larger bodies are not copied behind their heads, but sent beside them in one write. */
const MAX_JOINED_BYTES = 64 * 1024
/** The same over TLS, where the buffer is kept until it has been encrypted and sent. */
const MAX_JOINED_TLS_BYTES = 16 * 1024
/**
 * Where a head and its body are joined. The system takes nearly every request at once, and the next one is put in its place: a
 * buffer for each request costs a collection of garbage every few hundred requests.
 */
let joined: Buffer | undefined

/** One request and its answer. */
export class Exchange implements UpstreamController {
  readonly method: string
  /** With its blank line, in Latin-1. */
  readonly head: string
  readonly body: Uint8Array | null
  readonly handler: ExchangeHandler
  /** From `onRequestStart` to the end. */
  connection: Connection | undefined

  constructor(method: string, head: string, body: Uint8Array | null, handler: ExchangeHandler) {
    this.method = method
    this.head = head
    this.body = body
    this.handler = handler
  }

  get paused(): boolean {
    return this.connection?.isPaused === true
  }

  pause(): void {
    this.connection?.pause()
  }

  resume(): void {
    this.connection?.resume()
  }

  abort(reason: Error): void {
    this.connection?.abort(reason)
  }
}

/** What a connection tells its pool. */
interface ConnectionOwner {
  /** An exchange is over, and another may follow within so many milliseconds; undefined where it was never sent. */
  onFree(connection: Connection, idleMs: number | undefined): void
  /** The same over TLS, which says with the next turn of the event loop only that a request is taken: `free` has to wait for it. */
  onAnswered(connection: Connection, idleMs: number): void
  onClose(connection: Connection): void
}

/** Connections that were opened together end apart: up to this share before their time. */
const AGE_SPREAD = 0.1

export interface ConnectionSettings extends SocketSettings {
  readonly idle: IdleTimes
  /** How old it may be when it gets another request. */
  readonly ageMs: number
}

/** A connection to an upstream. It carries one exchange at a time. */
export class Connection {
  readonly #owner: ConnectionOwner
  readonly #reader: AnswerReader
  readonly #socket: Socket
  readonly #isSecure: boolean
  #exchange: Exchange | undefined
  #isSent = false
  isPaused = false
  /** The handler is being called from `#read`: what it asks for takes effect behind that call. */
  #isReading = false
  /** Bytes that arrived in a pause. */
  #held: Buffer | undefined
  #hasEnded = false
  #isClosed = false
  #error: Error | undefined
  /** When it is closed if no one uses it, by `performance.now()`. */
  expires = 0
  /** When it gets no further request, by `performance.now()`. */
  readonly retires: number

  /** Connects, and begins the exchange then. */
  constructor(owner: ConnectionOwner, settings: ConnectionSettings, first: Exchange) {
    this.#owner = owner
    this.#reader = new AnswerReader(settings.idle)
    this.retires = performance.now() + settings.ageMs * (1 - Math.random() * AGE_SPREAD)
    this.#exchange = first
    this.#isSecure = settings.origin.protocol === 'https:'
    this.#socket = openSocket(settings, {
      onOpen: () => {
        // Not the parameter: the closure would keep it as long as the connection. Absent where the pool has given up.
        const waiting = this.#exchange
        if (waiting !== undefined) this.begin(waiting)
      },
      onBytes: (bytes, end) => this.#take(bytes, end),
      onEnd: () => {
        this.#hasEnded = true
        this.#settle()
      },
      onClose: error => {
        this.#isClosed = true
        this.#error = error
        owner.onClose(this)
        this.#settle()
      },
    })
  }

  /** Whether an exchange may begin; the other end may have closed without our knowing yet. */
  get isUsable(): boolean {
    return !this.#hasEnded && !this.#socket.destroyed
  }

  /** Sends the request. If its handler gives up before, the connection is free again. */
  begin(exchange: Exchange): void {
    this.#exchange = exchange
    this.#isSent = false
    this.isPaused = false
    this.#reader.start(exchange.method)
    exchange.connection = this
    try {
      exchange.handler.onRequestStart(exchange)
    } catch (cause) {
      this.abort(cause as Error)
    }
    if (this.#exchange === exchange) this.#write(exchange)
    else if (this.isUsable) this.#owner.onFree(this, undefined)
  }

  /** Head and body in one write. */
  #write({ head, body }: Exchange): void {
    this.#isSent = true
    const socket = this.#socket
    if (body === null) {
      socket.write(head, 'latin1')
      return
    }
    const size = head.length + body.length
    if (size > (this.#isSecure ? MAX_JOINED_TLS_BYTES : MAX_JOINED_BYTES)) {
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(body)
      socket.uncork()
      return
    }
    joined ??= Buffer.allocUnsafeSlow(MAX_JOINED_BYTES)
    const whole = this.#isSecure ? Buffer.allocUnsafe(size) : joined.subarray(0, size)
    whole.write(head, 'latin1')
    whole.set(body, head.length)
    socket.write(whole)
    // What waits will be read from there.
    if (!this.#isSecure && socket.writableLength > 0) joined = undefined
  }

  pause(): void {
    this.isPaused = true
    if (!this.#isReading) this.#socket.pause()
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    if (this.#isReading) return
    this.#settle()
    if (!this.isPaused) this.#socket.resume()
  }

  /** Ends the exchange with this error, and the connection too where something was sent. */
  abort(reason: Error): void {
    const exchange = this.#release()
    if (exchange === undefined) return
    if (this.#isSent) this.#socket.destroy()
    exchange.handler.onResponseError(exchange, reason)
  }

  /** Ends the connection, and its exchange with this error. */
  destroy(reason: Error): void {
    this.#socket.destroy()
    this.abort(reason)
  }

  /** The exchange is over. */
  #release(): Exchange | undefined {
    const exchange = this.#exchange
    this.#exchange = undefined
    this.#held = undefined
    if (exchange !== undefined) exchange.connection = undefined
    if (this.#isClosed) this.#reader.free()
    return exchange
  }

  /** Bytes of a buffer that will be read into again. False where no more are wanted for now. */
  #take(bytes: Buffer, end: number): boolean {
    // Bytes that no one asked for: the next answer would not be the one to the next request.
    if (this.#exchange === undefined || !this.#isSent) this.destroy(surplus())
    else if (this.isPaused) this.#hold(bytes, 0, end)
    else this.#read(bytes, 0, end)
    return !this.isPaused
  }

  /** TLS hands over what it has decrypted, even in a pause. */
  #hold(bytes: Buffer, at: number, end: number): void {
    const more = bytes.subarray(at, end)
    this.#held = this.#held === undefined ? Buffer.from(more) : Buffer.concat([this.#held, more])
  }

  #read(bytes: Buffer, start: number, end: number): void {
    const exchange = this.#exchange
    if (exchange === undefined) return
    const reader = this.#reader
    let at = start
    this.#isReading = true
    try {
      while (at < end && this.#exchange === exchange && !this.isPaused && !reader.isWhole) {
        at = reader.step(bytes, at, end, exchange.handler, exchange)
      }
    } catch (cause) {
      if (this.#exchange === exchange) this.abort(cause as Error)
    } finally {
      this.#isReading = false
    }
    if (this.#exchange !== exchange) return
    if (this.isPaused) {
      if (at < end) this.#hold(bytes, at, end)
    } else if (reader.isWhole) this.#finish(at === end)
  }

  /** Reads on after a pause, and takes note of the connection's end where all bytes before it are read. */
  #settle(): void {
    const exchange = this.#exchange
    if (exchange === undefined) this.#forget()
    if (exchange === undefined || this.isPaused) return
    const held = this.#held ?? NOTHING
    this.#held = undefined
    this.#read(held, 0, held.length)
    if (this.#exchange !== exchange || this.isPaused || !(this.#hasEnded || this.#isClosed)) return
    if (this.#error === undefined && this.#isSent && this.#reader.end()) this.#finish(false)
    else this.abort(this.#error ?? closed())
  }

  /** An idle connection that its upstream has ended. */
  #forget(): void {
    if (this.#hasEnded) this.#socket.destroy()
    if (this.#isClosed) this.#reader.free()
  }

  /**
   * Another exchange may follow, unless this one was answered before its request was taken: the rest of it would be on its way
   * before the next one.
   */
  free(idleMs: number): void {
    if (this.#socket.writableLength === 0 && this.isUsable) this.#owner.onFree(this, idleMs)
    else this.#socket.destroy()
  }

  /** `isClean`: nothing came behind the answer. */
  #finish(isClean: boolean): void {
    const exchange = this.#release()
    if (exchange === undefined) return
    const { idleMs } = this.#reader
    if (!isClean || idleMs <= 0) this.#socket.destroy()
    else if (this.#isSecure && this.#socket.writableLength > 0) this.#owner.onAnswered(this, idleMs)
    else this.free(idleMs)
    try {
      exchange.handler.onResponseEnd(exchange)
    } catch (cause) {
      exchange.handler.onResponseError(exchange, cause as Error)
    }
  }
}

const NOTHING = Buffer.alloc(0)

function closed(): TransportFault {
  return new TransportFault('CONNECTION_CLOSED', 'The upstream closed the connection.')
}

function surplus(): TransportFault {
  return new TransportFault('ANSWER_INVALID', 'The upstream sent bytes that no one asked for.')
}
