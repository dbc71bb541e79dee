import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Received, type SimulatorEntry } from './entry.js'
import { Gate } from './faults/gate.js'
import { handle, type State } from './handle.js'
import { Memory } from './memory.js'
import { openSocket } from './socket/open.js'
import { Tasks } from './tasks/tasks.js'

const DEFAULT_KEPT_ENTRIES = 1000
const KEEP_ALIVE_TIMEOUT_MS = 60_000
/** As much as the largest that any fault or any gateway's limits should put to the test. */
const MAX_HEADER_BYTES = 128 * 1024

export interface SimulatorOptions {
  /** 0, the default, is any free one. */
  readonly port?: number
  /** Loopback by default. */
  readonly host?: string
  /** Most requests that are kept; 1000 by default. */
  readonly keep?: number
  /** Milliseconds since the epoch, for tasks that take their time; the system's clock by default. */
  readonly now?: () => number
  /** The value of the header `x-simulator-key` without which every request is refused; it is asked for where it is given. */
  readonly key?: string
  /** Called with every request when its answer is over. */
  readonly log?: (entry: SimulatorEntry) => void
}

export interface Simulator {
  readonly port: number
  /** `http://127.0.0.1:49152` */
  readonly origin: string
  /** The last requests, oldest first; always the same array. */
  readonly received: readonly SimulatorEntry[]
  /** Cuts every connection and resolves when the port is free. */
  close(): Promise<void>
}

/**
 * Starts an upstream that answers as a real provider would, from the request alone: the same request always gets the
 * same answer. Rejects with the system's error where the port cannot be had.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { port = 0, host = '127.0.0.1', keep = DEFAULT_KEPT_ENTRIES, now = Date.now, key, log } = options
  const state: State = { received: new Received(keep), gate: new Gate(), memory: new Memory(), tasks: new Tasks(), now }
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS, requestTimeout: 0, maxHeaderSize: MAX_HEADER_BYTES },
    (request, response) => {
      if (!admitted(request, key)) return refuse(request, response)
      void serve(request, response, state, log)
    },
  )
  server.maxHeadersCount = 0
  const sockets = new Set<Duplex>()
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (!admitted(request, key)) {
      socket.on('error', () => {})
      socket.end('HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
      return
    }
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    void openSocket(request, socket, head, state).then(entry => log?.(entry))
  })
  server.listen({ port, host })
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  return {
    port: bound,
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    received: state.received.entries,
    close: async () => {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** The header of a simulator's own key. */
const KEY_HEADER = 'x-simulator-key'

/** Whether the request has the simulator's key. Removes it, so that it is never recorded. */
function admitted(request: IncomingMessage, key: string | undefined): boolean {
  if (key === undefined) return true
  const given = request.headers[KEY_HEADER]
  delete request.headers[KEY_HEADER]
  const { rawHeaders } = request
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]?.toLowerCase() === KEY_HEADER) rawHeaders.splice(at, 2)
  }
  return typeof given === 'string' && sameSecret(given, key)
}

/** Compared as digests: how long it takes tells nothing of either. */
function sameSecret(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  request.resume()
  response.writeHead(401, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ error: { message: 'This simulator serves its own gateway alone.' } }))
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  state: State,
  log: SimulatorOptions['log'],
): Promise<void> {
  response.sendDate = false
  response.on('error', () => {})
  request.on('error', () => {})
  if (request.url?.split('?', 1)[0] === CONTROL_PATH) return control(request, response, state)
  const entry = await handle(request, response, state)
  await entry.closed
  log?.(entry)
}

/** Where testers in other processes look at what was received, and forget it. */
const CONTROL_PATH = '/simulator/requests'

/**
 * `GET` lists the requests that are kept, oldest first, credentials and all; `DELETE` forgets them, and the
 * responses and tasks that are kept, and starts every count of faults anew. These requests are not kept themselves.
 */
function control(request: IncomingMessage, response: ServerResponse, { received, gate, memory, tasks }: State): void {
  request.resume()
  if (request.method === 'GET') {
    send(response, 200, { object: 'list', data: received.entries })
  } else if (request.method === 'DELETE') {
    received.clear()
    gate.reset()
    memory.clear()
    tasks.clear()
    send(response, 200, { object: 'list', deleted: true })
  } else {
    response.setHeader('allow', 'GET, DELETE')
    send(response, 405, { error: { message: 'Only GET and DELETE requests are accepted.' } })
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
