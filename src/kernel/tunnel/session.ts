import type { GatewayError } from '../../core/errors.js'
import type { Watched } from '../watchdog.js'
import type { Drainable } from './tunnels.js'

/** Two WebSockets between which everything passes, until one of them or the process ends it. */
export interface Session extends Watched, Drainable {
  /** Ends it now, because the process does. */
  cut(error: GatewayError): void
  /** Breaks both connections: the call is over already. */
  terminate(): void
}
