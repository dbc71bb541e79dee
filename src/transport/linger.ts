import type { IncomingMessage, ServerResponse } from 'node:http'

/** How much of a request is still read after the answer; the rest stays at the client. */
const MAX_LINGER_BYTES = 1024 * 1024
/** Time to read the rest of a request that was answered early, milliseconds. */
const MAX_LINGER_MS = 2000

/**
 * Drops the rest of a request that is answered before its end, within bounds. If the answer ends the connection, it is
 * closed in one direction first, and for good only when the client has closed it too, or after a while: closing it with
 * bytes unread would make the system send RST, which can destroy the answer on its way (RFC 9112 §9.6).
 */
export function linger(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  const destroySoon = socket.destroySoon.bind(socket)
  const timer = setTimeout(() => socket.destroy(), MAX_LINGER_MS)
  timer.unref()
  const over = (): void => {
    clearTimeout(timer)
    socket.off('close', over)
    if (socket.destroySoon === endInSteps) Reflect.deleteProperty(socket, 'destroySoon')
  }
  // Node calls this when the last byte of an answer with `connection: close` is out.
  const endInSteps = (): void => {
    if (request.complete || response.destroyed) {
      destroySoon()
      return
    }
    let left = MAX_LINGER_BYTES
    socket.on('data', (chunk: Buffer) => {
      left -= chunk.length
      if (left < 0) socket.pause()
    })
    request.on('end', destroySoon)
    socket.end()
  }
  socket.destroySoon = endInSteps
  socket.once('close', over)
  request.on('end', over)
  request.resume()
}
