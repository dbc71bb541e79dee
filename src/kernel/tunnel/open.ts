import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { advance } from '../chain.js'
import type { Kernel } from '../kernel.js'
import type { Pipeline } from '../pipeline.js'
import { SOCKET_METHOD } from '../upgrade.js'
import { HandshakeResponse } from './response.js'
import { CLIENT_SIDE } from './stage.js'

/** Whether the path that a WebSocket is asked for on is one that is passed through. */
export function isTunnel({ generation }: Kernel, { url = '', headers }: IncomingMessage): boolean {
  return generation.plan.match(SOCKET_METHOD, url.split('?', 1)[0] ?? '', headers).route?.tunnel !== undefined
}

/** Sends a client's handshake through the stages of its route. `head` are the bytes that came after it. */
export function openTunnel(
  pipeline: Pipeline,
  kernel: Kernel,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const response = new HandshakeResponse(request, socket)
  const call = pipeline.arrive(kernel, request, response, SOCKET_METHOD)
  call.set(CLIENT_SIDE, { socket, response, head })
  advance(call)
}
