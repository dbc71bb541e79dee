import { Socket } from 'node:net'

/** How often a connection is tried, milliseconds. */
const INTERVAL_MS = 1000
const NOTHING = Buffer.alloc(0)

/** Of TLS, the connection below: a write of no bytes ends above it. */
interface Layered {
  readonly _parent?: Socket | null
}

/**
 * Closes a connection that is not read and has been reset: the event loop does not watch it, but a write fails, even one of
 * no bytes. An end in good order comes behind all that was sent, and stays unknown until that is read. Returns when to try
 * again; `now` is monotonic, milliseconds.
 */
export function tryUnread(connection: object, now: number): number {
  if (connection instanceof Socket && connection.isPaused()) {
    const below = (connection as Layered)._parent ?? connection
    // Bytes that wait to be written are watched.
    if (connection.writable && below.writable && connection.writableLength === 0) below.write(NOTHING)
  }
  return now + INTERVAL_MS
}
