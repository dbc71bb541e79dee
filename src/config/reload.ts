import { DEFAULTS } from '../core/defaults.generated.js'
import type { BackIf, ReloadConfig } from '../core/reload.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import type { RawReload } from './raw.generated.js'
import { readDuration, readShare } from './settings.js'
import { parseIncrease } from './units.js'

/** With more the one that serves has too little to compare. */
const MAX_SHARE = 0.9
const DEFAULT_BACK_IF: BackIf = { errors: 0.01 }

/** How a changed file takes over; nothing where that is at once, with nothing kept. */
export function readReload(
  raw: RawReload | undefined,
  site: Site,
  context: Context,
): { readonly reload?: ReloadConfig } {
  if (raw === undefined) return {}
  const { canary, for: time, back_if, keep = DEFAULTS.reload.keep } = raw
  const lasting = time === undefined ? DEFAULTS.reload.for : readDuration(time, site.child('for'), context)
  if (canary === undefined) {
    const idle = Object.entries({ for: time, back_if }).find(([, value]) => value !== undefined)
    if (idle !== undefined)
      context.report.error('missing-key', site, `"${idle[0]}" needs "canary", the share of the requests`)
    return { reload: { keep } }
  }
  const place = site.child('canary')
  const share = readShare(canary, place, context)
  if (share > MAX_SHARE)
    context.report.error('bad-value', place, `at most ${MAX_SHARE * 100}%: the rest is compared with it`)
  return {
    reload: { keep, canary: { share, for: lasting, backIf: readBackIf(back_if, site.child('back_if'), context) } },
  }
}

function readBackIf(raw: RawReload['back_if'], site: Site, context: Context): BackIf {
  if (raw === undefined) return DEFAULT_BACK_IF
  const { errors, ttft_p95 } = raw
  return {
    ...(errors === undefined ? {} : { errors: readIncrease(errors, site.child('errors'), context) }),
    ...(ttft_p95 === undefined ? {} : { ttft: readIncrease(ttft_p95, site.child('ttft_p95'), context) }),
  }
}

function readIncrease(written: string, site: Site, context: Context): number {
  const increase = parseIncrease(interpolate(written, site, context))
  if (increase === undefined)
    context.report.error('bad-value', site, 'expected an increase up to +1000%, such as +1% or +20%')
  return increase ?? 0
}
