import type { Limits, Retry, RetryCondition, Timeouts } from '../core/limits.js'
import type { Context } from './context.js'
import { interpolate } from './context.js'
import type { Site } from './document.js'
import { placeAt } from './placed-rules.js'
import type { RawLimits, RawRetry, RawTimeouts } from './raw.generated.js'
import { parseDuration, parsePercentage, parseSize } from './units.js'

const SIZES: ReadonlySet<string> = new Set([
  'body',
  'field',
  'fields',
  'url',
  'header_bytes',
  'line',
  'event',
  'response',
  'memory',
  'body_memory',
] satisfies (keyof Limits)[])
const COUNTS: ReadonlySet<string> = new Set([
  'header_count',
  'depth',
  'members',
  'conversation_items',
  'values',
  'parts',
  'connections',
  'queue',
  'in_flight',
  'sessions',
] satisfies (keyof Limits)[])

/** The sizes, counts and durations that are written. */
export function readLimits(raw: RawLimits | undefined, site: Site, context: Context): Partial<Limits> {
  const limits: Partial<Record<keyof Limits, number>> = {}
  for (const [name, written] of membersOf(raw)) {
    const place = site.child(name)
    if (COUNTS.has(name)) limits[name] = Number(written)
    else
      limits[name] = SIZES.has(name) ? readSize(written, place, context) : readDuration(String(written), place, context)
  }
  return limits
}

export function readTimeouts(raw: RawTimeouts | undefined, site: Site, context: Context): Partial<Timeouts> {
  const timeouts: Partial<Record<keyof Timeouts, number>> = {}
  for (const [name, written] of membersOf(raw)) {
    const time = readDuration(written, site.child(name), context)
    if (!context.report.unfilled.has(written)) timeouts[name] = time
  }
  return timeouts
}

export function readRetry(raw: RawRetry | undefined, site: Site, context: Context): Partial<Retry> {
  const { budget, wait, max_wait } = raw ?? {}
  return {
    ...(raw?.attempts === undefined ? {} : { attempts: raw.attempts }),
    ...(raw?.on === undefined ? {} : { on: readConditions(raw.on, site.child('on')) }),
    ...(budget === undefined ? {} : { budget: readShare(budget, site.child('budget'), context) }),
    ...(wait === undefined ? {} : { wait: readDuration(wait, site.child('wait'), context) }),
    ...(max_wait === undefined ? {} : { max_wait: readDuration(max_wait, site.child('max_wait'), context) }),
  }
}

function readConditions(raw: NonNullable<RawRetry['on']>, site: Site): Retry['on'] {
  const on = [...new Set(raw.flatMap(expandCondition))]
  for (const [index, written] of raw.entries())
    for (const condition of expandCondition(written)) placeAt(site.child(index), on, condition)
  return on
}

/** `5xx` stands for all hundred statuses. */
function expandCondition(condition: NonNullable<RawRetry['on']>[number]): readonly RetryCondition[] {
  if (condition !== '4xx' && condition !== '5xx') return [condition]
  const first = condition === '4xx' ? 400 : 500
  return Array.from({ length: 100 }, (_, index) => first + index)
}

function membersOf<K extends string, V>(raw: Partial<Readonly<Record<K, V>>> | undefined): [K, V][] {
  return Object.entries(raw ?? {}) as [K, V][]
}

/** Bytes. */
export function readSize(written: string | number, site: Site, context: Context): number {
  return readWith(parseSize, written, 'a size such as 32MiB, 16KiB or 1024 (bytes), under 4GiB', site, context)
}

/** A share, over 0 and at most 1. */
export function readShare(written: string, site: Site, context: Context): number {
  return readWith(parsePercentage, written, 'a share over 0% and up to 100%, such as 50%', site, context)
}

/** Milliseconds. */
export function readDuration(written: string, site: Site, context: Context): number {
  return readWith(
    parseDuration,
    written,
    'a duration such as 500ms, 30s, 5m or 24h, from 1ms to 24 days',
    site,
    context,
  )
}

function readWith<T extends string | number>(
  parse: (text: T) => number | undefined,
  written: T,
  expected: string,
  site: Site,
  context: Context,
): number {
  const text = interpolate(written, site, context)
  const value = parse(text)
  // A variable that is not set has already been reported.
  if (value === undefined && !context.report.unfilled.has(String(text)))
    context.report.error('bad-value', site, `expected ${expected}`)
  return value ?? 1
}
