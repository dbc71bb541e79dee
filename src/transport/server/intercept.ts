import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { HttpExchange } from '../exchange.js'
import { cameEarly } from '../turns.js'
import { Connection, type Host } from './connection.js'

/** How often connections are checked for clients that are late, milliseconds. */
const CHECK_INTERVAL_MS = 1000
/** `node:http` waits so much longer than it tells clients: they may be about to use the connection. */
const KEEP_ALIVE_GRACE_MS = 1000

/** Why a connection failed. `isAnswering`: an answer may have begun on it, so that nothing else may be written. */
export interface ConnectionError extends NodeJS.ErrnoException {
  readonly isAnswering?: boolean
}

/**
 * Serves the plain requests of a server's connections without `node:http`. All other requests, and everything that follows
 * them on their connections, go to the server as if nothing had been read. The server's own settings stay in force, its own
 * answers and events too: a request that cannot be read or is late ends in `clientError`, with a
 * {@link ConnectionError}. Gives false, and changes nothing, for a server that it does not understand.
 */
export function interceptConnections(server: Server | HttpsServer, serve: (exchange: HttpExchange) => void): boolean {
  const event = 'setSecureContext' in server ? 'secureConnection' : 'connection'
  const [own, ...others] = server.listeners(event)
  if (own === undefined || others.length > 0) return false
  const connections = new Connections(server, own as (socket: Socket) => void, serve)
  server.off(event, own as (socket: Socket) => void)
  server.on(event, (socket: Socket) => connections.accept(socket))
  const closeIdle = server.closeIdleConnections.bind(server)
  const closeAll = server.closeAllConnections.bind(server)
  server.closeIdleConnections = () => {
    closeIdle()
    connections.closeIdle()
  }
  server.closeAllConnections = () => {
    closeAll()
    connections.closeAll()
  }
  return true
}

/** The connections of a server that `node:http` does not own. */
class Connections implements Host {
  readonly isEncrypted: boolean
  readonly serve: (exchange: HttpExchange) => void
  readonly #server: Server | HttpsServer
  readonly #own: (socket: Socket) => void
  readonly #all = new Set<Connection>()
  /** Without a request, the one that has waited longest first. */
  readonly #idle = new Set<Connection>()
  /** Whose request has not arrived yet. */
  readonly #arriving = new Set<Connection>()
  /** Connections that `node:http` owns: what it hands back to the server belongs to it as well. */
  readonly #handedOver = new WeakSet<Socket>()
  #timer: NodeJS.Timeout | undefined

  constructor(server: Server | HttpsServer, own: (socket: Socket) => void, serve: (exchange: HttpExchange) => void) {
    this.#server = server
    this.#own = own
    this.serve = serve
    this.isEncrypted = 'setSecureContext' in server
  }

  accept(socket: Socket): void {
    if (this.#handedOver.has(socket)) this.#own.call(this.#server, socket)
    else this.#all.add(new Connection(socket, this))
  }

  get keepAliveTimeout(): number {
    return this.#server.keepAliveTimeout
  }

  get maxHeadBytes(): number {
    const { maxHeaderSize } = this.#server as { readonly maxHeaderSize?: number }
    return maxHeaderSize ?? Number.POSITIVE_INFINITY
  }

  handOver(connection: Connection, bytes: Buffer, isEarly: boolean): void {
    const { socket } = connection
    if (isEarly) cameEarly(socket)
    this.forget(connection)
    this.#handedOver.add(socket)
    this.#own.call(this.#server, socket)
    // The server's listener is in place now, and nothing has been read since.
    socket.emit('data', bytes)
  }

  refuse(socket: Socket, code: string, isAnswering: boolean): void {
    const message = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'Request timeout' : 'Parse Error'
    this.fail(socket, Object.assign(new Error(message), { code, isAnswering }))
  }

  fail(socket: Socket, error: Error): void {
    if (!this.#server.emit('clientError', error, socket)) socket.destroy(error)
  }

  arriving(connection: Connection): void {
    if (this.#arriving.has(connection)) return
    this.#idle.delete(connection)
    this.#arriving.add(connection)
    connection.since = performance.now()
    this.#check()
  }

  arrived(connection: Connection): void {
    this.#idle.delete(connection)
    this.#arriving.delete(connection)
  }

  idle(connection: Connection): void {
    connection.since = performance.now()
    this.#idle.add(connection)
    this.#check()
  }

  forget(connection: Connection): void {
    this.arrived(connection)
    this.#all.delete(connection)
  }

  closeIdle(): void {
    for (const { socket } of this.#idle) socket.destroy()
  }

  closeAll(): void {
    for (const { socket } of this.#all) socket.destroy()
  }

  /** Checks connections as long as there are any to check. */
  #check(): void {
    this.#timer ??= setInterval(() => this.#checkNow(performance.now()), CHECK_INTERVAL_MS).unref()
  }

  #checkNow(now: number): void {
    const { keepAliveTimeout, headersTimeout, requestTimeout } = this.#server
    for (const { since, socket } of this.#idle) {
      if (keepAliveTimeout === 0 || now - since < keepAliveTimeout + KEEP_ALIVE_GRACE_MS) break
      socket.destroy()
    }
    for (const connection of this.#arriving) {
      const age = now - connection.since
      const isLate = headersTimeout > 0 && !connection.hasHead && age > headersTimeout
      if (isLate || (requestTimeout > 0 && age > requestTimeout)) {
        this.#arriving.delete(connection)
        connection.timeOut()
      }
    }
    if (this.#idle.size + this.#arriving.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
