import { DEFAULTS } from '../core/defaults.generated.js'
import type { RouteFraming } from '../core/route-settings.js'
import type { RawFraming } from './raw.generated.js'

/** How the route's streams are cut into messages; events where it does not say. */
export function readFraming(raw: RawFraming | undefined): RouteFraming {
  if (raw === undefined || typeof raw === 'string')
    return { byDefault: raw ?? DEFAULTS.framingChoice.default, parameter: undefined, values: {} }
  return { byDefault: raw.default ?? DEFAULTS.framingChoice.default, parameter: raw.parameter, values: raw.values }
}
