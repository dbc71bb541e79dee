import type { Hedge } from '../core/limits.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { RawHedge } from './raw.generated.js'
import { readDuration } from './settings.js'

/** `hedge` of a model: when another target is asked, too. A model with one target has none to ask: reported. */
export function readHedge({ after }: RawHedge, targets: number, site: Site, context: Context): Hedge {
  if (targets < 2) context.report.error('conflict', site, 'a hedge asks a second target, and the model has only one')
  return { after: after === 'p95' ? after : readDuration(after, site.child('after'), context) }
}
