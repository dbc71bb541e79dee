import { advance } from '../../kernel/chain.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Pipeline } from '../../kernel/pipeline.js'
import { SOCKET_METHOD } from '../../kernel/upgrade.js'
import type { HttpRequest } from '../../transport/exchange.js'
import type { HandshakeExchange } from '../../transport/handshake-exchange.js'

/** Whether the path of a WebSocket request belongs to a tunnel. */
export function isTunnel({ generation }: Kernel, { target, headers }: HttpRequest): boolean {
  return generation.plan.match(SOCKET_METHOD, target.split('?', 1)[0] ?? '', headers).route?.tunnel !== undefined
}

/** Passes a client's handshake through the stages of its route. */
export function openTunnel(pipeline: Pipeline, kernel: Kernel, request: HandshakeExchange): void {
  kernel.choose(request, generation => advance(pipeline.arrive(kernel, request, SOCKET_METHOD, generation)))
}
