import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** What waits until all requests before it are answered. `response`: its own answer, where it may be followed by others. */
interface Waiting {
  readonly act: () => void
  readonly response?: ServerResponse
}

/** Of one connection: with this many in wait nothing more is read. */
const MAX_WAITING = 16

const lines = new WeakMap<Duplex, Waiting[]>()

/** Connections whose next request came before the one in front of it was answered, elsewhere. */
const early = new WeakSet<Duplex>()

/** Says of a connection that `node:http` takes over: its next request did not wait for the answer to the last one. */
export function cameEarly(socket: Duplex): void {
  early.add(socket)
}

/** The answer that `node:http` is sending or waiting for. */
function currentOf(socket: Duplex): ServerResponse | undefined {
  return ('_httpMessage' in socket && (socket._httpMessage as ServerResponse | null)) || undefined
}

/**
 * Serves a request when those that came before it on its connection are answered, and never if the connection ends with one
 * of them: behind a request that is refused, the bytes may be part of it (RFC 9112 §11.2). `node:http` gives requests that
 * come together at once, also behind one that ends the connection.
 */
export function serveInTurn({ socket }: IncomingMessage, response: ServerResponse, serve: () => void): void {
  early.delete(socket)
  if (response.socket === null) waitFor(socket, { act: serve, response })
  else if (socket.writable) serve()
}

/**
 * Does what ends the use of a connection as HTTP: at once, if no request before it waits for its answer. Gives false if one
 * does, or did when this came; `act` is called after it then.
 */
export function endInTurn(socket: Duplex, act: () => void): boolean {
  if (early.delete(socket)) {
    act()
    return false
  }
  const current = currentOf(socket)
  if (current === undefined || !current.req.complete) return true
  const line = lines.get(socket)
  // What ends the connection may be the rest of the last request itself.
  if (line?.at(-1)?.response?.req.complete === false) line.pop()
  if (line?.length === 0) line.push({ act })
  else waitFor(socket, { act })
  return false
}

function waitFor(socket: Duplex, one: Waiting): void {
  const line = lines.get(socket)
  if (line === undefined) {
    lines.set(socket, [one])
    currentOf(socket)?.once('close', () => next(socket))
  } else if (line.at(-1)?.response !== undefined) {
    line.push(one)
    if (line.length === MAX_WAITING) hold(socket)
  }
}

function next(socket: Duplex): void {
  const line = lines.get(socket)
  const one = line?.shift()
  if (line === undefined || one === undefined || !socket.writable) {
    lines.delete(socket)
    return
  }
  if (line.length === 0) lines.delete(socket)
  else one.response?.once('close', () => next(socket))
  if (line.length === MAX_WAITING - 1) letGo(socket)
  one.act()
}

/** Reads nothing more: `node:http` resumes a paused connection at the end of each request, and for each body. */
function hold(socket: Duplex): void {
  socket.pause()
  socket.resume = () => socket
}

function letGo(socket: Duplex): void {
  Reflect.deleteProperty(socket, 'resume')
  socket.resume()
}
