import { Keepalive } from '../../kernel/keepalive.js'
import { Uptake } from '../../net/uptake.js'

type Connection = ConstructorParameters<typeof Uptake>[0]

/** Whether one side of a tunnel is alive: it reads the data that waits for it, or answers pings if none does. */
export class Side {
  /** Bytes have arrived since the last check: a flag costs less than reading the clock. */
  active = true
  /** It has ended its connection. */
  gone = false
  /** Bytes sent to it. */
  sent = 0
  readonly #keepalive: Keepalive
  readonly #uptake: Uptake

  constructor(connection: Connection, now: number) {
    this.#uptake = new Uptake(connection)
    this.#keepalive = new Keepalive(now)
  }

  /** For how long it has read nothing although data waits for it, milliseconds; undefined if no data waits. */
  stalledFor(now: number): number | undefined {
    return this.gone ? undefined : this.#uptake.stalledFor(now)
  }

  /**
   * `ping`: send it a ping, which is only possible if `mayBeAsked`. `dead`: it has answered none. A side is not expected to
   * answer while it `isBlocked`: data waits for it, which {@link stalledFor} checks, or it is paused for the other side.
   */
  check(now: number, isBlocked: boolean, mayBeAsked: boolean): 'alive' | 'ping' | 'dead' {
    if (this.active) this.#keepalive.received(now, this.sent)
    else if (isBlocked) this.#keepalive.wait(now)
    this.active = false
    return this.#keepalive.check(now, mayBeAsked, this.sent)
  }
}
