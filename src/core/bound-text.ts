import type { Bound, Price, Rates, Window } from './bounds.js'
import { PRICE_UNITS, TOKEN_UNITS } from './bounds.js'
import { MICRO_PER_USD } from './cost.js'

const WINDOW_WORDS: Readonly<Record<Window, string>> = {
  second: 's',
  minute: 'min',
  hour: 'hour',
  day: 'day',
  month: 'month',
  total: 'total',
}

/** 000, 001, …, 999, and the same without zeros at the end. */
const DIGITS = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, '0'))
const CUT_DIGITS = DIGITS.map(digits => digits.replace(/0{1,3}$/, ''))

/** A bound as files say it: `600/min`, `2M/day`, `5 USD/month`, `10 USD`. */
export function boundText({ unit, amount, window }: Bound): string {
  if (unit !== 'budget') return `${amountText(amount)}/${WINDOW_WORDS[window]}`
  return window === 'total' ? usdText(amount) : `${usdText(amount)}/${WINDOW_WORDS[window]}`
}

/** Millionths of a USD, as `0.0042 USD`. */
export function usdText(micro: number): string {
  return `${microText(micro)} USD`
}

/** The same as a number alone: of each request, so by parts that are ready. */
export function microText(micro: number): string {
  const rest = micro % MICRO_PER_USD
  const usd = String((micro - rest) / MICRO_PER_USD)
  if (rest === 0) return usd
  const low = rest % 1000
  const high = (rest - low) / 1000
  return low === 0 ? `${usd}.${CUT_DIGITS[high]?.padEnd(2, '0')}` : `${usd}.${DIGITS[high]}${CUT_DIGITS[low]}`
}

/** A price as files say it: `input 2.00, output 8.00`; `free` where nothing is charged. */
export function priceText(price: Price): string {
  const steps = (price.above ?? []).map(({ tokens, rates }) => `; above ${amountText(tokens)}: ${ratesText(rates)}`)
  return (ratesText(price) || 'free') + steps.join('')
}

function ratesText(rates: Rates): string {
  const units = PRICE_UNITS.flatMap(unit => {
    const parts = rates[unit]
    return parts === undefined ? [] : [`${unit} ${decimal(parts, TOKEN_UNITS.has(unit) ? 6 : 12)}`]
  })
  return units.join(', ')
}

function amountText(amount: number): string {
  if (amount >= 1e6 && amount % 1e6 === 0) return `${amount / 1e6}M`
  return amount >= 1e4 && amount % 1e3 === 0 ? `${amount / 1e3}k` : String(amount)
}

/** A whole number of `10^-places`, with at least two places unless it is whole. */
function decimal(parts: number, places: number): string {
  const digits = String(parts).padStart(places + 1, '0')
  let end = digits.length
  while (end > digits.length - places && digits[end - 1] === '0') end--
  const [whole, fraction] = [digits.slice(0, -places), digits.slice(-places, end)]
  return fraction === '' ? whole : `${whole}.${fraction.padEnd(2, '0')}`
}
