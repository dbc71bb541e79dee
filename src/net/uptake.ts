import { Duplex } from 'node:stream'

/** Node's own part of a socket, as its time-outs read it (`Socket#_onTimeout`); of TLS the connection below. */
interface Handle {
  readonly writeQueueSize?: number
  readonly _parent?: { readonly writeQueueSize?: number }
}

/**
 * Whether the receiver of a connection takes what is written to it. A write is over only when its last byte has gone, which
 * of a large message to a slow client takes minutes: so the bytes are watched that wait in this process.
 */
export class Uptake {
  readonly #connection: Duplex
  #since: number | undefined
  #length = 0
  #queue = 0

  constructor(connection: Duplex) {
    this.#connection = connection
  }

  /** For how many milliseconds none of the waiting bytes has gone; undefined where none waits. To be asked now and then. */
  stalledFor(now: number): number | undefined {
    const { writableLength } = this.#connection
    const queue = queued(this.#connection)
    if (writableLength === 0 || this.#connection.destroyed) this.#since = undefined
    else if (this.#since === undefined || queue !== this.#queue || writableLength < this.#length) this.#since = now
    this.#length = writableLength
    this.#queue = queue
    return this.#since === undefined ? undefined : now - this.#since
  }
}

/** That of a connection for which bytes wait; undefined for all other objects. */
export function uptakeOf(connection: object): Uptake | undefined {
  return connection instanceof Duplex && connection.writableLength > 0 ? new Uptake(connection) : undefined
}

/** Bytes of the write at hand that the system has not taken; a number that only its changes matter of. */
function queued(connection: Duplex): number {
  const { _handle: handle } = connection as { readonly _handle?: Handle | null }
  return handle?._parent?.writeQueueSize ?? handle?.writeQueueSize ?? 0
}
