import { DEFAULTS } from '../core/defaults.generated.js'
import type { OverloadConfig } from '../core/priority.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { RawGateway } from './raw.generated.js'
import { readDuration, readShare } from './settings.js'

/** When new requests are shed; nothing where that is off. */
export function readOverload(
  raw: RawGateway['overload'],
  site: Site,
  context: Context,
): { readonly overload?: OverloadConfig } {
  if (raw === 'off') return {}
  const { loop_delay, memory } = raw ?? {}
  return {
    overload: {
      loop_delay:
        loop_delay === undefined
          ? DEFAULTS.overloadBounds.loop_delay
          : readDuration(loop_delay, site.child('loop_delay'), context),
      memory: memory === undefined ? DEFAULTS.overloadBounds.memory : readShare(memory, site.child('memory'), context),
    },
  }
}
