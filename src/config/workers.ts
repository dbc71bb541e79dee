import { DEFAULTS } from '../core/defaults.generated.js'
import { processors } from '../core/processors.js'
import type { StoreConfig } from '../core/store-config.js'
import { MAX_WORKERS, type WorkerCount, workerCount } from '../core/worker-count.js'
import { type Context, interpolate } from './context.js'
import { type Document, Site } from './document.js'
import { sectionOf } from './entries.js'

/** How many processes serve; `given` on the command line wins over the file. They need a store that they share. */
export function readWorkers(
  main: Document,
  given: WorkerCount | undefined,
  store: StoreConfig,
  context: Context,
): number {
  const { report } = context
  const written = sectionOf(main, 'workers')
  const site = new Site(main, ['workers'])
  const text = typeof written === 'string' ? interpolate(written, site, context) : String(written ?? DEFAULTS.workers)
  const own = workerCount(text)
  if (own === undefined && typeof written === 'string' && !report.unfilled.has(text)) {
    report.error('bad-value', site, `this variable has to be auto, or a number from 1 to ${MAX_WORKERS}`)
  }
  const count = given ?? own ?? DEFAULTS.workers
  if (count !== 1 && store.type === 'memory') {
    const place = given === undefined ? site : new Site(main, ['store', 'type'])
    report.error('bad-value', place, SEPARATE_STORES)
  }
  return count === 'auto' ? Math.min(processors(), MAX_WORKERS) : count
}

const SEPARATE_STORES =
  'several workers need a store that they share, and the type memory is for one process: write store: { type: file }'
