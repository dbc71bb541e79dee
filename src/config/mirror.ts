import type { TargetConfig } from '../core/config.js'
import type { Canary, Mirror } from '../core/strategy.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { RawCanary, RawMirror } from './raw.generated.js'
import { readDuration, readShare } from './settings.js'

/** Copies of one model that may be under way at once, where the file says nothing. */
const DEFAULT_IN_FLIGHT = 20

/** With more there would be too little to compare it with. */
const MAX_CANARY_SHARE = 0.9
const DEFAULT_CANARY_SHARE = 0.1
const DEFAULT_REST_MS = 3_600_000

/** `mirror` of a model. */
export function readMirror(
  raw: RawMirror | undefined,
  model: string,
  site: Site,
  context: Context,
): { mirror?: Mirror } {
  if (raw === undefined) return {}
  const { to, share, in_flight = DEFAULT_IN_FLIGHT } = raw
  const part = share === undefined ? 1 : readShare(share, site.child('share'), context)
  return { mirror: { of: model, to, share: part, inFlight: in_flight } }
}

/** `canary` of a model. */
export function readCanary(
  raw: RawCanary | undefined,
  { model, targets }: { readonly model: string; readonly targets: readonly Pick<TargetConfig, 'upstream'>[] },
  site: Site,
  context: Context,
): { canary?: Canary } {
  if (raw === undefined) return {}
  const { to, share, by = 'conversation', rest } = raw
  const part = share === undefined ? DEFAULT_CANARY_SHARE : readShare(share, site.child('share'), context)
  const place = site.child('share')
  if (part > MAX_CANARY_SHARE && share !== undefined) {
    context.report.error('bad-value', place, 'a canary gets at most 90%: the others are what it is compared with')
  }
  const isTarget = targets.some(({ upstream }) => upstream === to)
  if (isTarget && targets.every(({ upstream }) => upstream === to)) {
    const message = `all targets are at ${to}: a canary is compared with the others`
    context.report.error('bad-value', site.child('to'), message)
  }
  const pause = rest === undefined ? DEFAULT_REST_MS : readDuration(rest, site.child('rest'), context)
  return { canary: { of: model, to, isTarget, share: part, by, rest: pause } }
}
