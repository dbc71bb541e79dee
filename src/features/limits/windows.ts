import type { Window } from '../../core/bounds.js'

/** One window of the calendar: from `start` up to and without `end`, milliseconds since the epoch. */
export interface Span {
  readonly start: number
  readonly end: number
  /** Its part of an account's name: `2026-11-23`; empty for `total`. */
  readonly label: string
}

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** As late as `Date` goes: the end of what never ends. */
const NEVER_MS = 8.64e15
const TOTAL: Span = { start: -NEVER_MS, end: NEVER_MS, label: '' }
const NONE: Span = { start: 0, end: 0, label: '' }

/**
 * The windows of a time zone. `Intl` is slow, so a window is worked out once, when it begins; a clock that jumps out of it,
 * forwards or backwards, finds another one. Days in which summer time begins or ends have 23 or 25 hours.
 */
export class Windows {
  readonly #format: Intl.DateTimeFormat | undefined
  readonly #current: Record<Exclude<Window, 'total'>, Span> = {
    second: NONE,
    minute: NONE,
    hour: NONE,
    day: NONE,
    month: NONE,
  }

  /** `timeZone`: a name of the IANA database. Throws `RangeError` for an unknown one. */
  constructor(timeZone: string) {
    this.#format =
      timeZone === 'UTC'
        ? undefined
        : new Intl.DateTimeFormat('en-US', {
            ...{ timeZone, hourCycle: 'h23', era: 'short' },
            ...{
              year: 'numeric',
              month: 'numeric',
              day: 'numeric',
              hour: 'numeric',
              minute: 'numeric',
              second: 'numeric',
            },
          })
  }

  /** The window of a kind in which a moment lies: the same object as long as the window lasts. */
  at(window: Window, now: number): Span {
    if (window === 'total') return TOTAL
    const known = this.#current[window]
    if (now >= known.start && now < known.end) return known
    const found = this.find(window, now)
    this.#current[window] = found
    return found
  }

  /** The same without a memory: for moments that are not now. */
  find(window: Window, at: number): Span {
    switch (window) {
      case 'total':
        return TOTAL
      case 'second':
        return spanOf(at, SECOND_MS, 0, 19)
      case 'minute':
        return spanOf(at, MINUTE_MS, 0, 16)
      case 'hour':
        return this.#hour(at)
      case 'day':
        return this.#dates(at, date => date.setUTCDate(date.getUTCDate() + 1), 10)
      case 'month':
        return this.#dates(at, date => date.setUTCMonth(date.getUTCMonth() + 1), 7)
    }
  }

  /** Where the clock is changed by a part of an hour, that moment ends the window. */
  #hour(at: number): Span {
    const past = this.#pastHour(at)
    const whole = spanOf(at, HOUR_MS, past, 16)
    const isSame = (moment: number): boolean => this.#pastHour(moment) === past
    if (isSame(whole.start) && isSame(whole.end - 1)) return whole
    const start = isSame(whole.start) ? whole.start : this.#change(whole.start, at)
    const end = isSame(whole.end - 1) ? whole.end : this.#change(at, whole.end - 1)
    return { start, end, label: new Date(start).toISOString().slice(0, 16) }
  }

  /** What the clock is off from full hours of UTC. */
  #pastHour(at: number): number {
    const offset = this.#offset(at)
    return offset - Math.floor(offset / HOUR_MS) * HOUR_MS
  }

  /** The moment between two at which the clock is changed. */
  #change(from: number, to: number): number {
    const before = this.#offset(from)
    let [low, high] = [from, to]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.#offset(middle) === before) low = middle
      else high = middle
    }
    return high
  }

  /** A window of whole local days; `turn` moves a date to the day after its last. */
  #dates(at: number, turn: (date: Date) => void, labelChars: number): Span {
    const local = new Date(at + this.#offset(at))
    const label = local.toISOString().slice(0, labelChars)
    const first = Date.parse(labelChars === 7 ? `${label}-01` : label)
    const next = new Date(first)
    turn(next)
    return { start: this.#begin(first), end: this.#begin(next.getTime()), label }
  }

  /**
   * The first moment of a local day, which is given as if it were of UTC. Where the clock is put forward at midnight, the day
   * begins later; where it is put back to before midnight, the day begins at the second midnight.
   */
  #begin(day: number): number {
    const offsets = [this.#offset(day - DAY_MS), this.#offset(day + DAY_MS)]
    const moments = offsets.map(offset => day - offset).toSorted((a, b) => a - b)
    const isFirst = (at: number): boolean => at + this.#offset(at) >= day && at - 1 + this.#offset(at - 1) < day
    return moments.find(isFirst) ?? (moments[0] as number)
  }

  /** Local time minus UTC, milliseconds. */
  #offset(at: number): number {
    if (this.#format === undefined) return 0
    const parts: Record<string, string> = {}
    for (const { type, value } of this.#format.formatToParts(at)) parts[type] = value
    const { year, month, day, hour, minute, second } = parts
    const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
    return local - Math.floor(at / SECOND_MS) * SECOND_MS
  }
}

/**
 * A window of an even length. Its label is its start in UTC, because hours and minutes of the local clock come twice when
 * summer time ends.
 */
function spanOf(at: number, length: number, offset: number, labelChars: number): Span {
  const start = Math.floor((at + offset) / length) * length - offset
  return { start, end: start + length, label: new Date(start).toISOString().slice(0, labelChars) }
}
