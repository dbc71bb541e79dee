import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { outOfDescriptors } from '../core/descriptors.js'
import { type Family, GatewayError } from '../core/errors.js'
import { admitSocket } from '../features/responses/session/admit-socket.js'
import { ResponseSession } from '../features/responses/session/response-session.js'
import { isTunnel, openTunnel } from '../features/tunnels/open.js'
import { TUNNELS, tooManySockets } from '../features/tunnels/tunnels.js'
import type { Kernel } from '../kernel/kernel.js'
import type { Pipeline } from '../kernel/pipeline.js'
import { acceptSocket } from '../net/framed-socket.js'
import { HandshakeExchange } from '../transport/handshake-exchange.js'
import { NodeRequest } from '../transport/node-exchange.js'
import { rawAnswer } from './server.js'

/** How often connections are checked, milliseconds. */
const CHECK_INTERVAL_MS = 1000

/** The WebSockets that clients have opened. */
export class Sockets {
  readonly #kernel: Kernel
  readonly #pipeline: Pipeline
  readonly #sessions = new Set<ResponseSession>()
  #timer: NodeJS.Timeout | undefined
  #onEmpty: () => void = () => undefined

  constructor(kernel: Kernel, pipeline: Pipeline) {
    this.#kernel = kernel
    this.#pipeline = pipeline
  }

  get size(): number {
    return this.#sessions.size
  }

  /** Refuses with a status before the handshake, or completes it: now, or when its turn comes. */
  open(incoming: IncomingMessage, socket: Duplex, head: Buffer, onFault: (error: Error) => void): void {
    socket.on('error', () => socket.destroy())
    if (this.#kernel.crowded.has(socket)) {
      refuse(socket, outOfDescriptors(), 'compatible')
      return
    }
    const request = new NodeRequest(incoming)
    this.#kernel.turns.begin(() => {
      if (!socket.destroyed) this.shake(incoming, request, socket, head).catch(onFault)
    })
  }

  private async shake(incoming: IncomingMessage, request: NodeRequest, socket: Duplex, head: Buffer): Promise<void> {
    if (isTunnel(this.#kernel, request)) {
      openTunnel(this.#pipeline, this.#kernel, new HandshakeExchange(incoming, socket, head))
      return
    }
    const admitted = await admitSocket(this.#kernel, request)
    if ('error' in admitted) return refuse(socket, admitted.error, admitted.family)
    const { route, key } = admitted
    const { sockets } = this.#kernel
    if (!sockets.take(key)) return refuse(socket, tooManySockets(), route.errors)
    const bad = new GatewayError('bad_request', 'The WebSocket handshake is not valid.')
    const opened = await acceptSocket(incoming, socket, head, route.limits.body, () =>
      refuse(socket, bad, route.errors),
    )
    if (opened === undefined) {
      sockets.release(key)
      return
    }
    const session = new ResponseSession(
      opened,
      request,
      route.limits,
      this.#kernel.memory.requests.lease(''),
      this.#kernel.turns,
      this.#kernel.serve,
      () => {
        sockets.release(key)
        this.#sessions.delete(session)
        if (this.#sessions.size === 0) this.#onEmpty()
      },
    )
    this.#sessions.add(session)
    this.#timer ??= setInterval(() => this.check(), CHECK_INTERVAL_MS).unref()
    if (this.#kernel.draining) session.drain()
  }

  /** Idle ones go at once, the others with the end of the answer at hand. */
  drain(): void {
    this.#kernel.need(TUNNELS).drain()
    for (const session of this.#sessions) session.drain()
  }

  /** Resolves when all are closed, or after that many milliseconds. */
  async empty(timeoutMs: number): Promise<void> {
    if (this.#sessions.size === 0) return
    await new Promise<void>(resolve => {
      this.#onEmpty = resolve
      setTimeout(resolve, timeoutMs).unref()
    })
  }

  terminate(): void {
    for (const session of this.#sessions) session.terminate()
    clearInterval(this.#timer)
  }

  private check(): void {
    const now = performance.now()
    for (const session of this.#sessions) session.check(now)
    if (this.#sessions.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

function refuse(socket: Duplex, error: GatewayError, family: Family): void {
  if (socket.writable) socket.end(rawAnswer(error, family), () => socket.destroy())
}
