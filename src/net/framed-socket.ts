import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { Uptake } from './uptake.js'

/** The package has one door: this file. */
export { WebSocket, WebSocketServer }

/** Bytes that may wait for a slow side; beyond it `send` asks for a pause. What Node has for other connections. */
const HIGH_WATER_BYTES = 16 * 1024
/** Approximate memory of a waiting message besides its bytes. */
const MESSAGE_OVERHEAD_BYTES = 512
/** Maximum bytes that may wait: a client that reads nothing is disconnected. */
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024
/** Close code of RFC 6455 §7.4.1. */
const CLOSE_POLICY = 1008

/** Events of a connection, for its owner. */
export interface SocketHandler {
  message(text: string): void
  /** A message that is not text. */
  binary(): void
  /** The client has taken what was waiting. */
  drained(): void
  /** Any sign of life. */
  alive(): void
  /** The connection is gone. */
  closed(): void
}

/**
 * A WebSocket that a client opened (RFC 6455), whole messages at a time. Without compression: a small message could
 * unfold to any size. Faults of the protocol close it with their codes (1002, 1007, 1009) without a word here.
 */
export class FramedSocket {
  readonly #socket: WebSocket
  readonly #connection: Duplex
  readonly #uptake: Uptake
  #handler: SocketHandler | undefined
  /** Writes that are not over yet. */
  #unwritten = 0
  #full = false
  #sent = 0

  /** `connection`: the underlying socket. */
  constructor(socket: WebSocket, connection: Duplex) {
    this.#socket = socket
    this.#connection = connection
    this.#uptake = new Uptake(connection)
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) this.#handler?.binary()
      else this.#handler?.message(data.toString('utf8'))
    })
    const pongs = new Pongs(socket)
    socket.on('ping', (data: Buffer) => {
      this.#handler?.alive()
      pongs.answer(data)
    })
    socket.on('pong', () => this.#handler?.alive())
    socket.on('close', () => this.#handler?.closed())
    // Followed by a close, which is all that matters here.
    socket.on('error', () => undefined)
  }

  handle(handler: SocketHandler): void {
    this.#handler = handler
  }

  /**
   * Sends whole text frames in one system call. False if the client is slower: continue after `drained`.
   * Without compression the library writes its own frames at once, so they may be sent between these.
   */
  send(frames: Buffer): boolean {
    if (this.#socket.readyState !== WebSocket.OPEN) return true
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.close(CLOSE_POLICY, 'what waits is not read')
      return true
    }
    this.#unwritten++
    this.#sent += frames.length
    this.#connection.write(frames, this.#taken)
    this.#full ||= waiting(this.#socket, this.#unwritten) > HIGH_WATER_BYTES
    return !this.#full
  }

  /** Whether `drained` is still to come. */
  get full(): boolean {
    return this.#full
  }

  /** Bytes of all messages that it was sent. */
  get sent(): number {
    return this.#sent
  }

  /** As of {@link Uptake}. */
  stalledFor(now: number): number | undefined {
    return this.#uptake.stalledFor(now)
  }

  ping(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping()
  }

  /** Begins the closing handshake; a client that does not answer it is cut off after a while. */
  close(code: number, reason: string): void {
    this.#socket.close(code, reason)
  }

  terminate(): void {
    this.#socket.terminate()
  }

  readonly #taken = (): void => {
    this.#unwritten--
    if (!this.#full || waiting(this.#socket, this.#unwritten) > HIGH_WATER_BYTES / 2) return
    this.#full = false
    this.#handler?.drained()
  }
}

/**
 * Answers the pings of one side. Those that come while a pong waits for it have one answer, that of the last (RFC 6455 §5.5.3): who
 * pings and does not read would have as many wait as it likes.
 */
export class Pongs {
  readonly #socket: WebSocket
  #isWaiting = false
  #next: Buffer | undefined

  constructor(socket: WebSocket) {
    this.#socket = socket
  }

  answer(data: Buffer): void {
    this.#next = this.#isWaiting ? data : undefined
    if (this.#isWaiting || this.#socket.readyState !== WebSocket.OPEN) return
    this.#isWaiting = true
    this.#socket.pong(data, undefined, this.#taken)
  }

  readonly #taken = (): void => {
    this.#isWaiting = false
    if (this.#next !== undefined) this.answer(this.#next)
  }
}

/** What a side holds that is slower than the other one: nothing where all has gone to the system. */
export function waiting({ bufferedAmount }: WebSocket, messages: number): number {
  return bufferedAmount === 0 ? 0 : bufferedAmount + messages * MESSAGE_OVERHEAD_BYTES
}

/** What {@link acceptSocket} has to know. */
interface AcceptOptions {
  /** Of one message, bytes. */
  readonly largest: number
  /** Those that may be selected: the first one that the client offers. */
  readonly subprotocols: readonly string[]
  refuse(): void
}

/**
 * Completes the opening handshake of a request that asks for a WebSocket; undefined where the client has gone, or where the
 * handshake itself is wrong: then `refuse` is called, and nothing has been answered.
 */
export function acceptSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { largest, subprotocols, refuse }: AcceptOptions,
): Promise<FramedSocket | undefined> {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: largest,
    perMessageDeflate: false,
    clientTracking: false,
    autoPong: false,
    // What else a client offers is its key, or meant for others.
    handleProtocols: offered => subprotocols.find(name => offered.has(name)) ?? false,
  })
  return new Promise(resolve => {
    server.on('wsClientError', () => {
      refuse()
      resolve(undefined)
    })
    server.handleUpgrade(request, socket, head, opened => resolve(new FramedSocket(opened, socket)))
    // The library destroys a connection that its client has ended, without an event.
    if (socket.destroyed) resolve(undefined)
  })
}
