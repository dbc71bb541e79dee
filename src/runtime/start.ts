import type { Gateway, StartOptions } from './gateway.js'
import { serveHere } from './gateway.js'
import { openFiles, startOf } from './opening.js'
import type { Supervisor } from './workers/supervisor.js'

/** A gateway that serves, in this process or in several. */
export type Serving = Pick<
  Gateway & Supervisor,
  'loaded' | 'origin' | 'adminOrigin' | 'reload' | 'close' | 'closeNow' | 'closed'
>

/** Serves with as many processes as the configuration says. Throws `ConfigError` or `StartError`. */
export async function startServing(given: StartOptions): Promise<Serving> {
  const options = startOf(given)
  const opened = await openFiles(options)
  if (opened.running.plan.workers === 1) return serveHere(options, opened)
  const { Supervisor } = await import('./workers/supervisor.js')
  return Supervisor.start(options, opened)
}
