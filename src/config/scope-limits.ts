import type { Bound, ScopeLimits } from '../core/bounds.js'
import type { DocumentPath } from '../core/path-text.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import { placeAt } from './placed-rules.js'
import { parseBudget, parseRate } from './rates.js'
import type { RawCallerLimits, RawTargetLimits } from './raw.generated.js'
import type { Report } from './report.js'
import { parseDuration, parseSize } from './units.js'

/** Hears of what is wrong; `path` begins below `limits`. */
type Tell = (path: DocumentPath, rule: string, message: string, meant?: string) => void

type Written = Partial<RawCallerLimits & RawTargetLimits>

const COUNTS = ['in_flight', 'streams', 'max_output'] as const

/** `limits` of a key, group, model or upstream. */
export function readScopeLimits(raw: Written | undefined, site: Site, context: Context): { limits?: ScopeLimits } {
  return raw === undefined ? {} : { limits: readLimitsAt(raw, site.child('limits'), context) }
}

/** The same, where they are written at `place` itself. */
export function readLimitsAt(raw: Written, place: Site, context: Context): ScopeLimits {
  const tell: Tell = (path, rule, message, meant) =>
    context.report.error(rule, place.child(...path), message, meant === undefined ? {} : { meant: () => meant })
  const limits = scopeLimits(interpolate(raw, place, context), tell, place, context.report)
  for (const name of COUNTS) if (limits[name] !== undefined) placeAt(place.child(name), limits.bounds, name)
  return limits
}

function scopeLimits(raw: Written, tell: Tell, place: Site, report: Report): ScopeLimits {
  const limits: { -readonly [K in keyof ScopeLimits]: ScopeLimits[K] } = { bounds: boundsOf(raw, tell, place, report) }
  for (const name of COUNTS) if (raw[name] !== undefined) limits[name] = raw[name]
  if (raw.body !== undefined) {
    const body = parseSize(raw.body)
    if (body !== undefined) limits.body = body
    else if (!report.unfilled.has(String(raw.body)))
      tell(['body'], 'bad-value', 'expected a size such as 32MiB, 16KiB or 1024 (bytes), under 4GiB')
  }
  if (raw.queue !== undefined) {
    const queue = parseDuration(raw.queue)
    if (queue !== undefined) limits.queue = queue
    else if (!report.unfilled.has(raw.queue))
      tell(['queue'], 'bad-value', 'expected a duration such as 500ms, 30s or 5m, from 1ms to 24 days')
  }
  if (raw.unpriced !== undefined) limits.unpriced = raw.unpriced
  if (raw.when_store_fails !== undefined) limits.when_store_fails = raw.when_store_fails
  return limits
}

function boundsOf(raw: Written, tell: Tell, place: Site, report: Report): readonly Bound[] {
  const bounds: Bound[] = []
  for (const unit of ['requests', 'tokens', 'budget'] as const) {
    const written = raw[unit]
    if (written === undefined) continue
    const isOne = typeof written === 'string'
    for (const [index, text] of (isOne ? [written] : written).entries()) {
      const path = isOne ? [unit] : [unit, index]
      // A variable that is not set has already been reported.
      if (report.unfilled.has(text)) continue
      const parsed = unit === 'budget' ? parseBudget(text) : parseRate(text, unit)
      if ('fault' in parsed) tell(path, 'bad-value', parsed.fault, parsed.meant)
      else if (bounds.some(one => one.unit === unit && one.window === parsed.bound.window)) {
        const window = parsed.bound.window === 'total' ? 'in total' : `per ${parsed.bound.window}`
        tell(
          path,
          'repeated-limit',
          `the ${unit === 'budget' ? unit : `limit of ${unit}`} ${window} is set twice; remove one of them`,
        )
      } else {
        placeAt(place.child(...path), parsed.bound)
        bounds.push(parsed.bound)
      }
    }
  }
  return bounds
}
