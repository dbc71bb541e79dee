import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { createConnection, type Egress } from './egress.js'
import { Pongs, WebSocket, WebSocketServer, waiting } from './framed-socket.js'
import { Inflow, type Turns } from './inflow.js'
import { MessageQueue } from './message-queue.js'
import { names } from './names.js'

/** Bytes that may wait for a slow side; beyond it `send` asks for a pause. */
const HIGH_WATER_BYTES = 64 * 1024
/** Bytes that are read as messages in one step. Less than what the library takes without a pause of its own. */
const STEP_BYTES = 8 * 1024

/** Events of one side of a session whose messages are passed on, for its owner. */
export interface MessageHandler {
  message(data: Buffer, isText: boolean): void
  /** It has taken what was waiting. */
  drained(): void
  /** Any sign of life. */
  alive(): void
  /** Its close frame arrived and must be answered. `code` is 1005 if the frame has none (RFC 6455 §7.1.5). */
  concluded(code: number, reason: string): void
  /** It broke the protocol (1002, 1007, 1009) or sent a message over the limit (1009). Reading has stopped. */
  fault(code: number, reason: string, overLimit: boolean): void
  /** The connection is gone. */
  gone(): void
}

/** A WebSocket and the connection below it. */
export interface Passed {
  readonly socket: PassedSocket
  readonly connection: Duplex
}

/**
 * One side of a session whose messages are passed on, each of them whole. It is read in steps, which take turns with all
 * other work: a read of the connection can hold thousands of tiny messages. Those of one step all come although the other
 * side is slower, and wait there as bytes, not as that many writes.
 */
export class MessageSocket {
  readonly #socket: PassedSocket
  readonly #connection: Duplex
  readonly #handler: MessageHandler
  readonly #inflow: Inflow
  /** Messages that are not written yet. */
  #unwritten = 0
  #full = false
  /** Messages are gathered for one system call. */
  #gathers = false
  readonly #queue = new MessageQueue()

  constructor({ socket, connection }: Passed, turns: Turns, handler: MessageHandler) {
    this.#socket = socket
    this.#connection = connection
    this.#handler = handler
    this.#inflow = new Inflow(turns, connection, takeReader(socket, connection), STEP_BYTES)
    socket.on('message', (data: Buffer, isBinary: boolean) => handler.message(data, !isBinary))
    const pongs = new Pongs(socket)
    socket.on('ping', (data: Buffer) => {
      handler.alive()
      pongs.answer(data)
    })
    socket.on('pong', () => handler.alive())
    socket.on('concluded', (code: number, reason: string) => handler.concluded(code, reason))
    // Without a code the connection failed; the `end` event reports that.
    socket.on('error', error => {
      if (socket.faultCode === 0) return
      const overLimit = 'code' in error && error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
      handler.fault(socket.faultCode, error.message, overLimit)
    })
    socket.on('close', () => {
      this.#queue.clear()
      handler.gone()
    })
  }

  /** False if it is slower: continue after `drained`. */
  send(data: Buffer | string, isText: boolean): boolean {
    if (this.#socket.readyState !== WebSocket.OPEN) return true
    if (this.#full) this.#queue.push(typeof data === 'string' ? Buffer.from(data) : data, isText)
    else this.write(data, isText)
    return !this.#full
  }

  private write(data: Buffer | string, isText: boolean): void {
    this.gather()
    this.#unwritten++
    this.#socket.send(data, { binary: !isText }, this.#taken)
    this.#full ||= waiting(this.#socket, this.#unwritten) > HIGH_WATER_BYTES
  }

  /** What follows a message that has just been written goes out together. */
  private gather(): void {
    if (this.#gathers || this.#unwritten === 0) return
    this.#gathers = true
    this.#connection.cork()
    process.nextTick(this.#release)
  }

  readonly #release = (): void => {
    this.#gathers = false
    this.#connection.uncork()
  }

  readonly #taken = (): void => {
    this.#unwritten--
    if (!this.#full || waiting(this.#socket, this.#unwritten) > HIGH_WATER_BYTES / 2) return
    this.#full = false
    while (!this.#full && this.#queue.length > 0) this.#queue.shift((data, isText) => this.write(data, isText))
    if (!this.#full) this.#handler.drained()
  }

  /** Sends everything that waits, even if the other side is slow: nothing follows it. */
  private flush(): void {
    while (this.#queue.length > 0) this.#queue.shift((data, isText) => this.write(data, isText))
  }

  pause(): void {
    this.#inflow.pause()
  }

  resume(): void {
    this.#inflow.resume()
  }

  get isPaused(): boolean {
    return this.#connection.isPaused()
  }

  ping(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping()
  }

  /** Sends or answers the close frame, after everything that waits. Codes that no frame may carry are omitted. */
  close(code: number, reason: string): void {
    this.resume()
    if (this.#socket.readyState === WebSocket.OPEN) this.flush()
    if (code === 1005 || code === 1006) this.#socket.finish()
    else this.#socket.finish(code, reason)
  }

  terminate(): void {
    this.#socket.terminate()
  }
}

/**
 * Takes the library's listener off the connection, and returns it as a function: bytes are read when they are given to it.
 * The library reads nothing after a close frame or a fault.
 */
function takeReader(socket: PassedSocket, connection: Duplex): (bytes: Buffer) => void {
  const [read] = connection.listeners('data')
  if (read === undefined) throw new Error('nothing reads the connection of a WebSocket')
  connection.off('data', read as (bytes: Buffer) => void)
  return bytes => {
    if (!socket.isRead) read.call(connection, bytes)
  }
}

/** The opening handshake towards an upstream. */
export interface TunnelRequest {
  /** `https://host:port`. */
  readonly origin: string
  /** Path and query, as they go out. */
  readonly path: string
  /** Lower-case names. What the handshake itself needs is added. */
  readonly headers: Readonly<Record<string, string>>
  /** Absent: connections leave as the system has it. */
  readonly egress: Egress | undefined
  /** For the proxy, TCP and TLS together, milliseconds. */
  readonly connectMs: number
}

/** The result of opening a WebSocket to an upstream. */
export interface OpeningHandler<Socket> {
  /** TCP and TLS are established. */
  connected(): void
  opened(headers: IncomingHttpHeaders, socket: Socket): void
  /** The upstream sent another answer. `body` is absent if it is too large to be passed on. */
  refused(status: number, headers: IncomingHttpHeaders, body: Buffer | undefined): void
  failed(cause: Error): void
}

/** A refusal with a larger body is reported without it. */
const MAX_REFUSAL_BYTES = 64 * 1024

/** Reads an answer that refuses a WebSocket. */
export function readRefusal(answer: IncomingMessage, handler: Pick<OpeningHandler<never>, 'refused'>): void {
  const chunks: Buffer[] = []
  let size = 0
  answer.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_REFUSAL_BYTES) chunks.push(chunk)
    else answer.destroy()
  })
  answer.once('close', () => {
    const body = size > MAX_REFUSAL_BYTES ? undefined : Buffer.concat(chunks)
    handler.refused(answer.statusCode ?? 0, answer.headers, body)
  })
}

/** Asks an upstream for a WebSocket. `largest` is in bytes of one message. The way to give it up is returned. */
export function openUpstream(asked: TunnelRequest, largest: number, handler: OpeningHandler<Passed>): () => void {
  const { 'sec-websocket-protocol': offered, ...headers } = asked.headers
  const { egress } = asked
  let connection: Duplex | undefined
  const socket = new PassedSocket(asked.origin.replace(/^http/, 'ws'), offered?.split(', ') ?? [], {
    ...PASSED,
    headers,
    maxPayload: largest,
    followRedirects: false,
    ...(egress === undefined
      ? { lookup: names.lookup }
      : { createConnection: createConnection(egress, new URL(asked.origin), asked.connectMs) as never }),
    finishRequest: request => {
      // As it was built: the library would normalise it.
      request.path = asked.path
      request.once('socket', made => {
        connection = made
        if (egress !== undefined) handler.connected()
        else made.once(asked.origin.startsWith('https:') ? 'secureConnect' : 'connect', () => handler.connected())
      })
      request.end()
    },
  })
  let isOver = false
  let isAnswered = false
  socket.once('upgrade', answer => {
    isAnswered = true
    socket.once('open', () => {
      if (isOver || connection === undefined) socket.terminate()
      else handler.opened(answer.headers, { socket, connection })
      isOver = true
    })
  })
  socket.on('unexpected-response', (_request, answer) => {
    if (isOver) answer.destroy()
    else readRefusal(answer, handler)
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
): Promise<Passed | undefined> {
  const server = new WebSocketServer({
    ...PASSED,
    WebSocket: PassedSocket,
    noServer: true,
    maxPayload: largest,
    clientTracking: false,
    handleProtocols: () => answer.protocol ?? false,
  })
  server.on('headers', lines => lines.push(...answer.lines))
  return new Promise(resolve => {
    server.on('wsClientError', () => resolve(undefined))
    server.handleUpgrade(request, socket, head, opened => resolve({ socket: opened, connection: socket }))
    // The library destroys a connection that its client has ended, without an event.
    if (socket.destroyed) resolve(undefined)
  })
}

/** Longer than any session: when a connection is given up is for its owner to say, which sees whether bytes still go. */
const NO_CLOSE_TIMEOUT_MS = 2 ** 31 - 1

/** Options of each WebSocket whose messages are passed on. Without compression: a small message could unfold to any size. */
const PASSED = { autoPong: false, perMessageDeflate: false, closeTimeout: NO_CLOSE_TIMEOUT_MS } as const

/**
 * A WebSocket whose owner decides when to answer a close frame or a fault of the peer. The library calls its own
 * `close` at once for that. It learns of the connection's end only when the connection really ends.
 */
class PassedSocket extends WebSocket {
  /** The code for a peer that broke the protocol, or sent too much; 0 for none. */
  faultCode = 0
  /** A close frame or a fault has been read: nothing more is. */
  isRead = false
  #mayClose = false

  /** What the library calls. A close frame comes with its reason, or with nothing at all; a fault with its code alone. */
  override close(code?: number, reason?: string | Buffer): void {
    this.isRead = true
    if (this.#mayClose) super.close(code, reason)
    else if (code !== undefined && reason === undefined) this.faultCode = code
    else this.emit('concluded', code ?? 1005, String(reason ?? ''))
  }

  /** Sends a close frame, the first or the answer, for which the library ends the connection. */
  finish(code?: number, reason?: string): void {
    this.#mayClose = true
    super.close(code, reason)
  }
}
