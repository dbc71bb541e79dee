import type { RateLimitReset, RateLimits } from '../../core/rate-limits.js'
import type { ResetForm } from '../../core/rate-limits-config.js'

/**
 * The upstream's rate-limit headers under the client protocol's names; those without a name there, and values that
 * cannot be parsed, are omitted. Other headers are kept. Both are flat name, value lists, the names in lower case.
 */
export function renamedLimits(flat: readonly string[], { names, foreign }: RateLimits, now = Date.now()): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [name = '', value = ''] = [flat[i], flat[i + 1]]
    const known = names.get(name)
    if (known === undefined) {
      if (!foreign(name)) kept.push(name, value)
      continue
    }
    const written = known.reset === undefined ? count(value) : reset(value, known.reset.from, known.reset.to, now)
    if (written !== undefined) kept.push(known.name, written)
  }
  return kept
}

/** Milliseconds until the exhausted limits have reset; undefined if none is reported as exhausted. */
export function untilReset(
  headers: Readonly<Record<string, unknown>>,
  resets: readonly RateLimitReset[],
  now = Date.now(),
): number | undefined {
  let longest: number | undefined
  for (const { remaining, reset, form } of resets) {
    const value = headers[reset]
    if (typeof value !== 'string' || headers[remaining] !== '0') continue
    const left = timeLeft(value, form, now)
    if (left !== undefined && left >= 0 && left <= MAX_WAIT_MS && left >= (longest ?? 0)) longest = left
  }
  return longest
}

function timeLeft(value: string, form: ResetForm, now: number): number | undefined {
  const left = form === 'duration' ? milliseconds(value) : Date.parse(value) - now
  return Number.isNaN(left) ? undefined : left
}

function count(value: string): string | undefined {
  return /^\d{1,15}$/.test(value) ? value : undefined
}

function reset(value: string, from: ResetForm, to: ResetForm, now: number): string | undefined {
  const left = timeLeft(value, from, now)
  if (left === undefined || Math.abs(left) > MAX_WAIT_MS) return undefined
  if (from === to) return value
  return to === 'duration' ? duration(Math.max(0, left)) : moment(now + left)
}

/** About one year; larger values are not durations. */
const MAX_WAIT_MS = 366 * 24 * 3_600_000

const UNITS: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  '\u00b5s': 1e-3,
  ns: 1e-6,
}

/** `1m30s`, `4ms`, `7.66s`; a bare number is seconds. */
function milliseconds(value: string): number | undefined {
  if (!/^(?:(?:\d{1,12}(?:\.\d{1,12})?(?:d|h|ms|m|s|us|\u00b5s|ns)){1,8}|\d{1,12}(?:\.\d{1,12})?)$/.test(value))
    return undefined
  const parts = [...value.matchAll(/([\d.]+)([^\d.]*)/g)]
  return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (UNITS[unit || 's'] ?? 0), 0)
}

/** Formats milliseconds as {@link milliseconds} parses them, rounded up: `0s`, `4ms`, `1m30s`, `2h0m5s`. */
export function duration(left: number): string {
  const whole = Math.ceil(left)
  if (whole > 0 && whole < 1000) return `${whole}ms`
  const seconds = Math.ceil(whole / 1000)
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  if (h > 0) return `${h}h${m}m${s}s`
  return m > 0 ? `${m}m${s}s` : `${s}s`
}

/** RFC 3339 in whole seconds, rounded up. */
export function moment(at: number): string {
  return new Date(Math.ceil(at / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}
