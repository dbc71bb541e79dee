import type { IncomingMessage, ServerResponse } from 'node:http'

/** What is still read of a refused request, so that the client gets to see the answer instead of a reset. */
const MOST_BYTES = 1024 * 1024
const MOST_TIME = 2000

/**
 * Reads and drops the rest of a request that is refused before its end, within bounds; then the connection is closed.
 * Closing at once would make the kernel send RST, which can destroy the answer on its way (RFC 9112 §9.6).
 */
export function linger(request: IncomingMessage, response: ServerResponse): void {
  let left = MOST_BYTES
  const stop = (): void => {
    clearTimeout(timer)
    if (!request.complete) request.socket.destroy()
  }
  const timer = setTimeout(stop, MOST_TIME)
  timer.unref()
  request.unpipe()
  request.removeAllListeners('data')
  request.on('error', () => undefined)
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0 && response.writableFinished) stop()
  })
  request.on('end', () => clearTimeout(timer))
  request.on('close', () => clearTimeout(timer))
  request.resume()
}
