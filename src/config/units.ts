const SIZES: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }
const DURATIONS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Bytes of a size such as `32MiB` or `1024`; `undefined` where it has another form, is 0, or is not under `bound`. */
export function parseSize(text: string | number, bound = 2 ** 32): number | undefined {
  const match = /^(\d{1,12}) ?(B|KiB|MiB|GiB)?$/.exec(String(text))
  if (match === null) return undefined
  const bytes = Number(match[1]) * (SIZES[match[2] ?? 'B'] ?? 1)
  return bytes >= 1 && bytes < bound ? bytes : undefined
}

/**
 * Milliseconds of a duration such as `500ms`, `30s`, `5m` or `24h`; `undefined` where it has another form, is under
 * 1 ms or over 24 days (timers take no more).
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,12}(?:\.\d{1,3})?) ?(ms|s|m|h)$/.exec(text)
  if (match === null) return undefined
  const milliseconds = Math.round(Number(match[1]) * (DURATIONS[match[2] ?? 'ms'] ?? 1))
  return milliseconds >= 1 && milliseconds <= 24 * 24 * 3_600_000 ? milliseconds : undefined
}

/**
 * Milliseconds since the epoch of `2026-12-31` (the end of that day, UTC) or of `2026-12-31T12:00:00Z` (with a zone);
 * `undefined` if it has another form or is not a day.
 */
export function parseMoment(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/.exec(text)
  if (match === null) return undefined
  const [, day = '', time] = match
  const midnight = Date.parse(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return undefined
  const moment = time === undefined ? midnight + 24 * 3_600_000 : Date.parse(text)
  return Number.isNaN(moment) ? undefined : moment
}

const DAY_MS = 24 * 3_600_000

/** Milliseconds of `90d`; `undefined` where it has another form. */
export function parseDays(text: string): number | undefined {
  const match = /^([1-9]\d{0,4})d$/.exec(text)
  return match === null ? undefined : Number(match[1]) * DAY_MS
}

/** The increase of `+20%`: 0.2; `undefined` where it has another form, or is over 1000%. */
export function parseIncrease(text: string): number | undefined {
  const match = /^\+ ?(\d{1,4}(?:\.\d{1,3})?) ?%$/.exec(text)
  const increase = Number(match?.[1] ?? Number.NaN) / 100
  return increase >= 0 && increase <= 10 ? increase : undefined
}

/** The share of `50%`: 0.5; `undefined` where it has another form, is 0 or is over 100%. */
export function parsePercentage(text: string): number | undefined {
  const match = /^(\d{1,3}(?:\.\d{1,3})?) ?%$/.exec(text)
  const share = Number(match?.[1] ?? Number.NaN) / 100
  return share > 0 && share <= 1 ? share : undefined
}
