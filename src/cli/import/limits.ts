import { MICRO_PER_USD } from '../../core/cost.js'
import type { Json } from '../../core/json.js'
import type { Draft } from './draft.js'
import type { Mark } from './findings.js'
import type { View } from './view.js'
import { onePerWindow } from './windows.js'

type Unit = 'requests' | 'tokens' | 'budget'

interface WindowOfTime {
  readonly word: string
  readonly seconds: number
  /** Whether it begins and ends by the calendar, where other gateways count from any moment. */
  readonly isCalendar: boolean
}

/** The windows of this language, longest first. */
const WINDOWS: readonly WindowOfTime[] = [
  { word: 'month', seconds: 2_592_000, isCalendar: true },
  { word: 'day', seconds: 86_400, isCalendar: true },
  { word: 'hour', seconds: 3600, isCalendar: false },
  { word: 'min', seconds: 60, isCalendar: false },
  { word: 's', seconds: 1, isCalendar: false },
]

/** Seconds of what other gateways call a unit of time: `M` is a month for those that have it. */
const UNIT_SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  M: 2_592_000,
  mo: 2_592_000,
  Y: 31_536_000,
  y: 31_536_000,
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
}

/** How much shorter a window may be than the foreign one: in a much shorter one, a few requests would be too many. */
const MAX_RATIO = 12
const MONTH_DAYS = [28, 29, 30, 31]
const SECONDS_PER_DAY = 86_400
const MAX_AMOUNT = 999_999_999_999

/** `30d`, `1h30m`, `minute`, in seconds. */
function secondsOf(text: string): number | undefined {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)?\s*([A-Za-z]+)/g)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text.trim()) return undefined
  let sum = 0
  for (const [, count = '1', word = ''] of parts) {
    const seconds = UNIT_SECONDS[word]
    if (seconds === undefined) return undefined
    sum += Number(count) * seconds
  }
  return sum > 0 ? sum : undefined
}

/** Limits of a key, a group, a model or an upstream, as they are found, each with what was found. */
export class Limits {
  readonly value: Record<string, Json> = {}
  readonly #holder: string
  readonly #draft: Draft

  constructor(holder: string, draft: Draft) {
    this.#holder = holder
    this.#draft = draft
  }

  get isEmpty(): boolean {
    return Object.keys(this.value).length === 0
  }

  /** An amount in a window that a foreign file calls by its duration; without one the amount is for ever. */
  add(unit: Unit, amount: View, duration: View | string | undefined): void {
    if (!amount.exists) return
    const found = fitted(unit, amount, duration)
    if (typeof found === 'string') amount.find('manual', `write limits { ${unit} } of ${this.#holder}: ${found}`)
    else this.#write(unit, found.text, amount, reasonOf(found))
  }

  /** A bucket: its size and how much comes back in each interval. */
  addBucket(unit: Unit, bucket: View, { size, fill, interval }: { size: View; fill: View; interval: View }): void {
    const [most, back, seconds] = [size.number(), fill.number() ?? 1, secondsOf(interval.text() ?? '1s')]
    if (most === undefined || seconds === undefined || back <= 0) {
      bucket.find('manual', `write limits { ${unit} } of ${this.#holder}`)
      return
    }
    const rate = back / seconds
    const window = [...WINDOWS].reverse().find(one => rate * one.seconds >= Math.max(1, most)) ?? WINDOWS[0]
    if (window === undefined) return
    const amount = Math.floor(rate * window.seconds)
    const isSame = amount === most && window.seconds === seconds
    const reason = isSame ? '' : ': a bucket of another size and the same rate'
    this.#write(unit, written(unit, Math.max(1, amount), window.word), bucket, [
      isSame ? 'exact' : 'approximate',
      reason,
    ])
  }

  /** How many requests may run at once. */
  addInFlight(view: View): void {
    const count = view.number()
    if (count === undefined || !Number.isInteger(count) || count < 1) return
    this.value.in_flight = count
    view.find('exact', `limits { in_flight: ${count} } of ${this.#holder}`)
  }

  #write(unit: Unit, text: string, view: View, [mark, reason]: readonly [Mark, string]): void {
    const before = this.value[unit]
    this.value[unit] = onePerWindow([before ?? [], text].flat().map(String))
    // Models without a price cost nothing elsewhere; here a budget over them has to say so.
    if (unit === 'budget') this.#draft.top.unpriced = 'free'
    const free = unit === 'budget' ? '; models without a price count as nothing' : ''
    const isKept = [this.value[unit]].flat().includes(text)
    const [as, why] = isKept ? [mark, reason] : ['approximate' as const, ': a smaller one of the same window holds']
    view.find(as, `limits { ${unit}: ${text} } of ${this.#holder}${why}${free}`)
  }
}

interface Fitted {
  readonly amount: number
  readonly window: WindowOfTime | undefined
  /** Whether the window is as long as the foreign one. */
  readonly isSame: boolean
}

/** An amount and its window as they are written here, or why they cannot be. */
export function fitted(
  unit: Unit,
  amount: View,
  duration: View | string | undefined,
): (Fitted & { readonly text: string }) | string {
  const count = amount.number()
  const word = typeof duration === 'string' ? duration : duration?.text()
  const seconds = word === undefined ? undefined : secondsOf(word)
  if (count === undefined || (word !== undefined && seconds === undefined))
    return 'its amount or window is not understood'
  const found = seconds === undefined ? { amount: count, window: undefined, isSame: true } : fit(count, seconds, unit)
  const parts = unit === 'budget' ? MICRO_PER_USD : 1
  const whole = Math.floor(found.amount * parts) / parts
  if (whole <= 0) return 'nothing passes one so small; disabled: true stops a key or an upstream'
  if (whole > MAX_AMOUNT) return 'nothing reaches one so large'
  return { ...found, text: written(unit, whole, found.window?.word) }
}

/** The window of this length, or a shorter one of the same rate; a longer one where the shorter would let nothing pass. */
function fit(amount: number, seconds: number, unit: Unit): Fitted {
  const isMonth = MONTH_DAYS.some(days => days * SECONDS_PER_DAY === seconds)
  const same = isMonth ? WINDOWS[0] : WINDOWS.find(one => one.seconds === seconds)
  if (same !== undefined) return { amount, window: same, isSame: true }
  const least = unit === 'budget' ? 1 / MICRO_PER_USD : 1
  const scaled = (window: WindowOfTime): number => (amount * window.seconds) / seconds
  const shorter = WINDOWS.find(one => {
    const ratio = seconds / one.seconds
    return ratio > 1 && (ratio <= MAX_RATIO || one === WINDOWS[0]) && scaled(one) >= least
  })
  const window = shorter ?? [...WINDOWS].reverse().find(one => one.seconds > seconds) ?? WINDOWS[0]
  return { amount: window === undefined ? amount : scaled(window), window, isSame: false }
}

function reasonOf({ window, isSame }: Fitted): readonly [Mark, string] {
  if (!isSame) return ['approximate', ': no window has that length, and this is the same rate']
  if (window?.isCalendar === true) return ['approximate', ': days and months end by the calendar of time_zone']
  return ['exact', '']
}

function written(unit: Unit, amount: number, window: string | undefined): string {
  const number = Number.isInteger(amount) ? String(amount) : amount.toFixed(6).replace(/0+$/, '')
  if (unit === 'budget') return window === undefined ? `${number} USD` : `${number} USD/${window}`
  return `${number}/${window ?? 'total'}`
}
