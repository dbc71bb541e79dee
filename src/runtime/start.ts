import type { Gateway, StartOptions } from './gateway.js'
import { serveHere } from './gateway.js'
import { openFiles, startOf } from './opening.js'
import type { Supervisor } from './workers/supervisor.js'

/** A gateway that serves, in this process or in several. */
export type Serving = Pick<
  Gateway & Supervisor,
  'loaded' | 'origin' | 'adminOrigin' | 'reload' | 'close' | 'closeNow' | 'closed'
>

/**
 * Serves with as many processes as the configuration says. Throws `ConfigError` or `StartError`. `onOpened`: files and store are
 * there, and from now on it may listen.
 */
export async function startServing(given: StartOptions, onOpened: () => void = () => undefined): Promise<Serving> {
  const options = startOf(given)
  const opened = await openFiles(options)
  onOpened()
  if (opened.running.plan.workers === 1) return serveHere(options, opened)
  const { Supervisor } = await import('./workers/supervisor.js')
  return Supervisor.start(options, opened)
}
