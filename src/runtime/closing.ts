import type { Server } from 'node:net'

/** How long a drain waits for the requests of connections that were opened just before it, milliseconds. */
const FIRST_REQUEST_MS = 500

/** Listens no more, and closes idle connections. Resolves when all others are closed, too. */
export function closing(server: Server): Promise<void> {
  return new Promise(done => server.close(() => done()))
}

/**
 * Connections that were opened just before may have a request on its way: it would be lost. Resolves when all connections are
 * closed, or after half a second, or `limitMs`.
 */
export function firstRequests(closed: Promise<void>, limitMs: number): Promise<void> {
  return new Promise(done => {
    const timer = setTimeout(done, Math.min(FIRST_REQUEST_MS, limitMs))
    void closed.then(() => {
      clearTimeout(timer)
      done()
    })
  })
}
