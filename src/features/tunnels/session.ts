import type { GatewayError } from '../../core/errors.js'
import type { Watched } from '../../kernel/watchdog.js'
import type { Drainable } from './tunnels.js'

/** Two connected WebSockets, until a side or the process ends the session. */
export interface Session extends Watched, Drainable {
  /** Ends it now, because a limit is reached or the process ends. */
  cut(error: GatewayError): void
  /** Destroys both connections: the call is over already. */
  terminate(): void
}
