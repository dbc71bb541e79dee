import type { Bound, Window } from '../core/bounds.js'
import { MICRO_PER_USD } from '../core/cost.js'

/** What a window may be called. */
const WINDOWS: Readonly<Record<string, Window>> = {
  s: 'second',
  sec: 'second',
  second: 'second',
  min: 'minute',
  minute: 'minute',
  h: 'hour',
  hour: 'hour',
  d: 'day',
  day: 'day',
  month: 'month',
  total: 'total',
}

/** What people write for windows, beside {@link WINDOWS}. */
const MEANT: Readonly<Record<string, string>> = {
  '1s': 's',
  secs: 's',
  seconds: 's',
  m: 'min',
  '1m': 'min',
  '60s': 'min',
  mins: 'min',
  minutes: 'min',
  hr: 'hour',
  '1h': 'hour',
  '60m': 'hour',
  hours: 'hour',
  hourly: 'hour',
  '1d': 'day',
  '24h': 'day',
  days: 'day',
  daily: 'day',
  mo: 'month',
  mon: 'month',
  '30d': 'month',
  '1mo': 'month',
  months: 'month',
  monthly: 'month',
  ever: 'total',
  lifetime: 'total',
}

const FACTORS: Readonly<Record<string, number>> = { '': 1, k: 1000, M: 1_000_000 }

/** What a text says, or what is wrong with it and what was probably meant. */
type Parsed = { readonly bound: Bound } | { readonly fault: string; readonly meant: string | undefined }

const RATE_FORM = 'expected an amount and a window, such as 600/min, 10/s, 2M/day or 5M/total'
const BUDGET_FORM = 'expected an amount of USD and a window, such as 500 USD/month, 0.50 USD/day, or 10 USD in total'

/** `600/min`, `2M/day`. */
export function parseRate(text: string, unit: 'requests' | 'tokens'): Parsed {
  const [, number = '', factor = '', word = ''] = /^(\d{1,20}(?:\.\d{1,6})?)([kM]?) ?\/ ?([a-z]+)$/.exec(text) ?? []
  const window = Object.hasOwn(WINDOWS, word) ? WINDOWS[word] : undefined
  if (window === undefined) return { fault: RATE_FORM, meant: rateMeant(text) }
  return bounded({ unit, amount: rounded(Number(number) * (FACTORS[factor] ?? 1)), window })
}

/** `500 USD/month`, `10 USD`. */
export function parseBudget(text: string): Parsed {
  const match = /^(\d{1,20}(?:\.\d{1,6})?) ?USD(?: ?\/ ?([a-z]+))?$/.exec(text)
  const word = match?.[2] ?? 'total'
  const window = Object.hasOwn(WINDOWS, word) ? WINDOWS[word] : undefined
  if (match === null || window === undefined) return { fault: BUDGET_FORM, meant: budgetMeant(text) }
  return bounded({ unit: 'budget', amount: rounded(Number(match[1]) * MICRO_PER_USD), window })
}

/** Products such as 0.07 × 1,000,000 are off by less than a thousandth. */
function rounded(amount: number): number {
  const whole = Math.round(amount)
  return Math.abs(amount - whole) < 0.001 ? whole : amount
}

function bounded(bound: Bound): Parsed {
  const { amount } = bound
  if (amount === 0) return { fault: 'a limit of 0 lets nothing pass; disabled: true refuses a key', meant: undefined }
  if (!Number.isInteger(amount)) return { fault: 'the amount must be a whole number', meant: undefined }
  if (amount > Number.MAX_SAFE_INTEGER) {
    return { fault: 'the amount is more than can be counted (2^53 - 1); leave out what has no limit', meant: undefined }
  }
  return { bound }
}

function rateMeant(text: string): string | undefined {
  const [, number = '', factor = '', word = ''] =
    /^([\d_,]{1,20}(?:\.\d{1,6})?) ?([kKmM]?) ?(?:requests?|tokens?|req|rpm|tpm)? ?(?:\/|per |every |an? )? ?([a-z0-9]*)$/.exec(
      text.trim(),
    ) ?? []
  if (number === '') return undefined
  const window = word === '' ? 'min' : windowMeant(word)
  return window && `${number.replaceAll(/[_,]/g, '')}${factor === 'K' ? 'k' : factor === 'm' ? 'M' : factor}/${window}`
}

function budgetMeant(text: string): string | undefined {
  const [, number = '', word = ''] =
    /^\$? ?([\d_,]{1,16}(?:\.\d{1,6})?) ?(?:USD|\$|dollars?)? ?(?:\/|per |every |an? )? ?([a-z0-9]*)$/i.exec(
      text.trim(),
    ) ?? []
  if (number === '') return undefined
  const window = word === '' ? '' : windowMeant(word.toLowerCase())
  if (window === undefined) return undefined
  return `${number.replaceAll(/[_,]/g, '')} USD${window === '' ? '' : `/${window}`}`
}

function windowMeant(word: string): string | undefined {
  return Object.hasOwn(WINDOWS, word) ? word : Object.hasOwn(MEANT, word) ? MEANT[word] : undefined
}
