import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { MessageQueue } from './message-queue.js'

/** Bytes that may wait for a slow side; with more, `send` asks for a pause. */
const HIGH = 64 * 1024
/** What each message that waits takes besides its bytes, about. */
const MESSAGE_COST = 512
/** Bytes that may wait at all: a client that sends pings and reads nothing is given up. */
const MOST = 64 * 1024 * 1024

/** What a connection tells its owner. */
export interface SocketHandler {
  message(text: string): void
  /** A message that is no text. */
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
  #handler: SocketHandler | undefined
  /** Messages that are not written yet. */
  #unwritten = 0
  #full = false

  constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) this.#handler?.binary()
      else this.#handler?.message(data.toString('utf8'))
    })
    socket.on('ping', (data: Buffer) => this.pong(data))
    socket.on('pong', () => this.#handler?.alive())
    socket.on('close', () => this.#handler?.closed())
    // Followed by a close, which is all that matters here.
    socket.on('error', () => undefined)
  }

  handle(handler: SocketHandler): void {
    this.#handler = handler
  }

  /** False where the client is slower: `drained` tells when to go on. */
  send(text: string): boolean {
    if (this.#socket.readyState !== WebSocket.OPEN) return true
    this.#unwritten++
    this.#socket.send(text, () => this.taken())
    this.#full ||= waiting(this.#socket, this.#unwritten) > HIGH
    return !this.#full
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

  private taken(): void {
    this.#unwritten--
    if (!this.#full || waiting(this.#socket, this.#unwritten) > HIGH / 2) return
    this.#full = false
    this.#handler?.drained()
  }

  private pong(data: Buffer): void {
    this.#handler?.alive()
    if (this.#socket.bufferedAmount > MOST) this.#socket.terminate()
    else if (this.#socket.readyState === WebSocket.OPEN) this.#socket.pong(data)
  }
}

/** What a side holds that is slower than the other one: nothing where all has gone to the system. */
function waiting({ bufferedAmount }: WebSocket, messages: number): number {
  return bufferedAmount === 0 ? 0 : bufferedAmount + messages * MESSAGE_COST
}

/**
 * Completes the opening handshake of a request that asks for a WebSocket; undefined where the client has gone, or where the
 * handshake itself is wrong: then `refuse` is called, and nothing has been answered. `largest` is in bytes of one message.
 */
export function acceptSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  largest: number,
  refuse: () => void,
): Promise<FramedSocket | undefined> {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: largest,
    perMessageDeflate: false,
    clientTracking: false,
    autoPong: false,
    // Whatever a client offers beside its key is for others: none is chosen.
    handleProtocols: () => false,
  })
  return new Promise(resolve => {
    server.on('wsClientError', () => {
      refuse()
      resolve(undefined)
    })
    server.handleUpgrade(request, socket, head, opened => resolve(new FramedSocket(opened)))
    // The library destroys a connection that its client has ended, and tells nobody.
    if (socket.destroyed) resolve(undefined)
  })
}

/** What one side of a session whose messages are passed on tells its owner. */
export interface MessageHandler {
  message(data: Buffer, isText: boolean): void
  /** It has taken what was waiting. */
  drained(): void
  /** Any sign of life. */
  alive(): void
  /** `code` is 1005 or 1006 where there was none (RFC 6455 §7.1.5), 1009 where a message was too large. */
  closed(code: number, reason: string): void
}

/**
 * One side of a session whose messages are passed on, each of them whole. A read of the other side can hold thousands of
 * tiny ones, which all come although it is paused: what this side is too slow for waits as bytes, and not as that many
 * writes.
 */
export class MessageSocket {
  readonly #socket: WebSocket
  readonly #handler: MessageHandler
  /** Messages that are not written yet. */
  #unwritten = 0
  #full = false
  readonly #queue = new MessageQueue()
  #fault = 0

  constructor(socket: WebSocket, handler: MessageHandler) {
    this.#socket = socket
    socket.on('message', (data: Buffer, isBinary: boolean) => handler.message(data, !isBinary))
    socket.on('ping', () => handler.alive())
    socket.on('pong', () => handler.alive())
    socket.on('error', error => {
      const code = 'code' in error ? error.code : undefined
      this.#fault = code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' ? 1009 : 1006
    })
    socket.on('close', (code, reason) => {
      this.#queue.clear()
      handler.closed(this.#fault === 0 ? code : this.#fault, reason.toString('utf8'))
    })
    this.#handler = handler
  }

  /** False where it is slower: `drained` tells when to go on. */
  send(data: Buffer | string, isText: boolean): boolean {
    if (this.#socket.readyState !== WebSocket.OPEN) return true
    if (this.#full) this.#queue.push(typeof data === 'string' ? Buffer.from(data) : data, isText)
    else this.write(data, isText)
    return !this.#full
  }

  private write(data: Buffer | string, isText: boolean): void {
    this.#unwritten++
    this.#socket.send(data, { binary: !isText }, this.#taken)
    this.#full ||= waiting(this.#socket, this.#unwritten) > HIGH
  }

  readonly #taken = (): void => {
    this.#unwritten--
    if (!this.#full || waiting(this.#socket, this.#unwritten) > HIGH / 2) return
    this.#full = false
    while (!this.#full && this.#queue.length > 0) this.#queue.shift((data, isText) => this.write(data, isText))
    if (!this.#full) this.#handler.drained()
  }

  /** What waits goes out, whatever the other side takes: nothing follows it. */
  private flush(): void {
    while (this.#queue.length > 0) this.#queue.shift((data, isText) => this.write(data, isText))
  }

  pause(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.pause()
  }

  resume(): void {
    if (this.#socket.isPaused) this.#socket.resume()
  }

  ping(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping()
  }

  /** Begins the closing handshake; codes that never stand in a frame close without one. */
  close(code: number, reason: string): void {
    this.resume()
    if (this.#socket.readyState === WebSocket.OPEN) this.flush()
    if (code === 1005 || code === 1006) this.#socket.close()
    else this.#socket.close(code, reason)
  }

  terminate(): void {
    this.#socket.terminate()
  }
}

/** What opening a WebSocket to an upstream comes to. */
export interface OpeningHandler {
  /** TCP and TLS stand. */
  connected(): void
  opened(headers: IncomingHttpHeaders, socket: WebSocket): void
  /** The upstream has answered something else. The answer is to be read or destroyed. */
  refused(answer: IncomingMessage): void
  failed(cause: Error): void
}

/** Asks an upstream for a WebSocket. `largest` is in bytes of one message. The way to give it up is returned. */
export function openUpstream(
  asked: { readonly origin: string; readonly path: string; readonly headers: Readonly<Record<string, string>> },
  largest: number,
  handler: OpeningHandler,
): () => void {
  const { 'sec-websocket-protocol': offered, ...headers } = asked.headers
  const socket = new WebSocket(asked.origin.replace(/^http/, 'ws'), offered?.split(', ') ?? [], {
    headers,
    maxPayload: largest,
    perMessageDeflate: false,
    followRedirects: false,
    finishRequest: request => {
      // As it was built: the library would normalise it.
      request.path = asked.path
      request.once('socket', connection => {
        connection.once(asked.origin.startsWith('https:') ? 'secureConnect' : 'connect', () => handler.connected())
      })
      request.end()
    },
  })
  let isOver = false
  let isAnswered = false
  socket.once('upgrade', answer => {
    isAnswered = true
    socket.once('open', () => {
      if (isOver) socket.terminate()
      else handler.opened(answer.headers, socket)
      isOver = true
    })
  })
  socket.on('unexpected-response', (_request, answer) => {
    if (isOver) answer.destroy()
    else handler.refused(answer)
    isOver = true
  })
  socket.on('error', cause => {
    // The library has no code for answers that are none to this handshake.
    if (!isOver) handler.failed(isAnswered ? Object.assign(cause, { code: 'HPE_HANDSHAKE' }) : cause)
    isOver = true
  })
  return () => {
    isOver = true
    socket.terminate()
  }
}

/**
 * Completes the opening handshake with a client whose session is passed on; undefined where it is not valid, or the client
 * has gone. `answer` is further header lines, and the subprotocol that is answered.
 */
export function acceptMessages(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  largest: number,
  answer: { readonly protocol: string | undefined; readonly lines: readonly string[] },
): Promise<WebSocket | undefined> {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: largest,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: () => answer.protocol ?? false,
  })
  server.on('headers', lines => lines.push(...answer.lines))
  return new Promise(resolve => {
    server.on('wsClientError', () => resolve(undefined))
    server.handleUpgrade(request, socket, head, opened => resolve(opened))
    // As above.
    if (socket.destroyed) resolve(undefined)
  })
}
