import type { Row, Upstream } from '../types.js'
import type { Level } from './parts.js'

const SLOW_MS = 1000
/** Share of attempts. */
const FAILING = 0.1

/** What an upstream's state is called: "open" would read as good news. */
export function stateOf({ off, health }: Upstream, row?: Row): readonly [Level, string] {
  if (off !== undefined) return ['idle', 'Off']
  if (health?.state === 'open') return ['bad', 'Cut off']
  if (health?.state === 'half_open') return ['probing', 'Probing']
  if (health?.models?.some(({ state }) => state === 'open') === true) return ['warn', 'Some models cut off']
  if (health?.secrets?.some(({ state }) => state === 'open') === true) return ['warn', 'Secrets set aside']
  if (row === undefined || row.requests === 0) return ['idle', 'No traffic']
  if (row.failed / row.requests >= FAILING) return ['warn', 'Failing']
  if ((row.times[1] ?? 0) >= SLOW_MS) return ['warn', 'Slow']
  return ['ok', 'Serving']
}
