import type { WebhookConfig } from '../core/config.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import { checkAllowed } from './media.js'
import type { RawGateway } from './raw.generated.js'
import { readSecret } from './secrets.js'
import { readDuration } from './settings.js'

/** Fewest characters of a secret that is no `whsec_…`. */
const MIN_SECRET_CHARS = 24

/** Whom clients may have told of their tasks. Nobody, unless it is written. */
export function readWebhooks(
  written: RawGateway['webhooks'],
  site: Site,
  context: Context,
): { readonly webhooks?: WebhookConfig } {
  if (written === undefined) return {}
  const { secret: place, timeout, ...rest } = interpolate(written, site, context)
  const at = site.child('secret')
  const result = readSecret(place, at, context)
  if (rest.allow !== undefined) checkAllowed(rest.allow, site.child('allow'), context)
  const secret = result !== 'broken' && 'secret' in result ? result.secret : undefined
  if (secret !== undefined && secret.reveal().length < MIN_SECRET_CHARS) {
    context.report.error('bad-secret', at, `a secret to sign with has at least ${MIN_SECRET_CHARS} characters`)
  }
  if (result !== 'broken' && 'absent' in result) {
    context.report.warn('no-secret', at, `${result.absent}, so nobody is told of tasks`)
  }
  return {
    webhooks: {
      ...DEFAULTS.webhooks,
      ...rest,
      ...(secret === undefined ? {} : { secret }),
      ...(timeout === undefined ? {} : { timeout: readDuration(timeout, site.child('timeout'), context) }),
    },
  }
}
