import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { outOfDescriptors } from '../core/descriptors.js'
import { GatewayError } from '../core/errors.js'
import { admitSocket } from '../features/responses/session/admit-socket.js'
import { ResponseSession } from '../features/responses/session/response-session.js'
import { isTunnel, openTunnel } from '../features/tunnels/open.js'
import { TUNNELS, tooManySockets } from '../features/tunnels/tunnels.js'
import type { Kernel } from '../kernel/kernel.js'
import type { Pipeline } from '../kernel/pipeline.js'
import { SOCKET_METHOD } from '../kernel/upgrade.js'
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
      if (socket.writable) socket.end(rawAnswer(outOfDescriptors()), () => socket.destroy())
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
    const { sockets } = this.#kernel
    let admitted: Awaited<ReturnType<typeof admitSocket>>
    try {
      admitted = await admitSocket(this.#kernel, this.#pipeline, request)
      if (!sockets.take(admitted.key)) throw tooManySockets()
    } catch (cause) {
      this.refuse(incoming, socket, head, cause)
      return
    }
    const { route, key } = admitted
    const opened = await acceptSocket(incoming, socket, head, {
      largest: route.limits.body,
      subprotocols: route.protocol?.subprotocols?.answer ?? [],
      refuse: () =>
        this.refuse(incoming, socket, head, new GatewayError('bad_request', 'The WebSocket handshake is not valid.')),
    })
    if (opened === undefined) {
      sockets.release(key)
      return
    }
    const session = new ResponseSession(
      opened,
      request,
      { ...route.limits, stall: this.#kernel.generation.plan.limits.stall },
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

  /** Refuses a handshake as any request is refused: in the family of its path, and with a line in the log. */
  private refuse(incoming: IncomingMessage, socket: Duplex, head: Buffer, cause: unknown): void {
    if (socket.destroyed) return
    const exchange = new HandshakeExchange(incoming, socket, head)
    this.#pipeline.arrive(this.#kernel, exchange, SOCKET_METHOD).fail(cause)
  }

  private check(): void {
    const now = performance.now()
    for (const session of this.#sessions) session.check(now)
    if (this.#sessions.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
