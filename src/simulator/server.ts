import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { CONTROL_PATH, control } from './control.js'
import type { SimulatorEntry } from './entry.js'
import { Gate } from './faults/gate.js'
import { handle, type State } from './handle.js'
import { Memory } from './memory.js'
import { Received } from './received.js'
import { openSocket } from './socket/open.js'
import { Tasks } from './tasks/tasks.js'

const KEPT = 1000
const IDLE = 60_000
/** As much as the largest that any fault or any gateway's limits should put to the test. */
const HEADER_BYTES = 128 * 1024

export interface SimulatorOptions {
  /** 0, the default, is any free one. */
  readonly port?: number
  /** Loopback by default. */
  readonly host?: string
  /** Most requests that are kept; 1000 by default. */
  readonly keep?: number
  /** Milliseconds since the epoch, for tasks that take their time; the system's clock by default. */
  readonly now?: () => number
  /** Told of every request when its answer is over. */
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
  const { port = 0, host = '127.0.0.1', keep = KEPT, now = Date.now, log } = options
  const state: State = { received: new Received(keep), gate: new Gate(), memory: new Memory(), tasks: new Tasks(), now }
  const server = createServer(
    { keepAliveTimeout: IDLE, requestTimeout: 0, maxHeaderSize: HEADER_BYTES },
    (request, response) => {
      void serve(request, response, state, log)
    },
  )
  server.maxHeadersCount = 0
  const sockets = new Set<Duplex>()
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
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
