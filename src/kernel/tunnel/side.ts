import { Uptake } from '../../net/uptake.js'
import { Keepalive } from '../keepalive.js'

type Connection = ConstructorParameters<typeof Uptake>[0]

/** Whether one side of a tunnel is there: it takes what waits for it, or answers pings where nothing does. */
export class Side {
  /** Something has come from it since it was last looked after: a flag costs less than a look at the clock. */
  active = true
  /** It has ended its connection. */
  gone = false
  /** Bytes that it has been sent. */
  sent = 0
  readonly #keepalive: Keepalive
  readonly #uptake: Uptake

  constructor(connection: Connection, now: number) {
    this.#uptake = new Uptake(connection)
    this.#keepalive = new Keepalive(now)
  }

  /** For how long none of the bytes that wait for it has gone, milliseconds; undefined where none waits. */
  stalledFor(now: number): number | undefined {
    return this.gone ? undefined : this.#uptake.stalledFor(now)
  }

  /**
   * `ask`: a ping is to be sent to it, where one `mayBeAsked`. `dead`: it has answered none. Whose bytes wait, or who is `held`
   * up itself, cannot be heard: the first is told by {@link stalledFor}, the second by the side that holds it up.
   */
  check(now: number, isBlocked: boolean, mayBeAsked: boolean): 'alive' | 'ping' | 'dead' {
    if (this.active) this.#keepalive.received(now, this.sent)
    else if (isBlocked) this.#keepalive.wait(now)
    this.active = false
    return this.#keepalive.check(now, mayBeAsked, this.sent)
  }
}
