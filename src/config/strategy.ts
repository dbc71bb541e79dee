import { type Strategy, usesWeights } from '../core/strategy.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import { checkNoCredential } from './headers.js'
import type { RawStrategy } from './raw.generated.js'
import { readSize } from './settings.js'

const DEFAULT_PREFIX_BYTES = 4096

/** `strategy` of a model. `weights`: where its targets have some. */
export function readStrategy(
  raw: RawStrategy | undefined,
  weights: readonly Site[],
  site: Site,
  context: Context,
): { strategy?: Strategy } {
  if (raw === undefined || raw === 'order') return {}
  const strategy = strategyOf(raw, site, context)
  for (const place of usesWeights(strategy) ? [] : weights) {
    const message = `the strategy ${strategy.by} does not use weights: remove the weight, or choose weighted, least_in_flight or sticky`
    context.report.error('conflict', place, message)
  }
  return { strategy }
}

function strategyOf(raw: Exclude<RawStrategy, 'order'>, site: Site, context: Context): Strategy {
  if (typeof raw === 'string') return { by: raw }
  const { sticky, header, bytes } = raw
  if (header !== undefined && sticky !== 'conversation') {
    context.report.error(
      'conflict',
      site.child('header'),
      `a header names conversations, not what is sticky by ${sticky}`,
    )
  }
  if (header !== undefined) checkNoCredential(header, site.child('header'), context)
  if (bytes !== undefined && sticky !== 'prefix') {
    context.report.error('conflict', site.child('bytes'), `bytes are of a prefix, not of what is sticky by ${sticky}`)
  }
  return {
    by: 'sticky',
    to: sticky,
    ...(header === undefined ? {} : { header: header.toLowerCase() }),
    prefix: bytes === undefined ? DEFAULT_PREFIX_BYTES : readSize(bytes, site.child('bytes'), context),
  }
}
