import type { Price, PriceUnit, Rates } from './bounds.js'
import type { Usage } from './plan.js'

export type Units = Readonly<Partial<Record<PriceUnit, number>>>
/** The same object wherever nothing is counted. */
export const NO_UNITS: Units = Object.freeze({})

/** Costs and budgets are counted in millionths of a USD. */
export const MICRO_PER_USD = 1_000_000

/** Prices are millionths of a millionth of a USD; costs are millionths. */
const PRICE_PER_COST = 1_000_000
export const PRICE_PER_USD = MICRO_PER_USD * PRICE_PER_COST

/** Which price holds for a unit that has none of its own. */
const INSTEAD: Readonly<Partial<Record<PriceUnit, PriceUnit>>> = {
  cached: 'input',
  cache_write: 'input',
  input_audio: 'input',
  reasoning: 'output',
  output_audio: 'output',
}

/**
 * The tokens of a usage, each in one unit: what came from a cache is not in `input`, and thoughts are not in `output`.
 * Upstreams that report a total alone do not say what it is of: it counts as what costs more. `others`: units beside them.
 */
export function unitsOf(usage: Usage, price: Price | undefined, others = NO_UNITS): Units {
  const { input = 0, output = 0, cached = 0, cacheWrite = 0, reasoning = 0, inputAudio = 0, outputAudio = 0 } = usage
  const rest = restOf(usage)
  const isOutput = usage.output === undefined && (price?.output ?? 0) > (price?.input ?? 0)
  const read = isOutput ? input : input + rest
  const written = isOutput ? output + rest : output
  // As most answers have it: nothing of a kind of its own.
  const isText = cached + cacheWrite + inputAudio + reasoning + outputAudio === 0
  if (isText && usage.seconds === undefined && others === NO_UNITS) return textUnits(read, written)
  return kindsOf(usage, read, written, others)
}

function textUnits(input: number, output: number): Units {
  if (input > 0) return output > 0 ? { input, output } : { input }
  return output > 0 ? { output } : NO_UNITS
}

function kindsOf(usage: Usage, read: number, written: number, others: Units): Units {
  const units: Partial<Record<PriceUnit, number>> = { ...others }
  const put = (unit: PriceUnit, count: number): void => {
    if (count > 0) units[unit] = count
  }
  const { cached = 0, cacheWrite = 0, reasoning = 0, inputAudio = 0, outputAudio = 0 } = usage
  const [fresh, ofCache, intoCache, audio] = parts(read, cached, cacheWrite, inputAudio)
  put('input', fresh)
  put('cached', ofCache)
  put('cache_write', intoCache)
  put('input_audio', audio)
  const [said, thought, spoken] = parts(written, reasoning, outputAudio, 0)
  put('output', said)
  put('reasoning', thought)
  put('output_audio', spoken)
  if (usage.seconds !== undefined) put('audio_second', usage.seconds)
  return units
}

/** All tokens of a usage, as bounds of tokens count them. */
export function tokensOf(usage: Usage): number {
  return (usage.input ?? 0) + (usage.output ?? 0) + restOf(usage)
}

/** What is only in the total, where one side is not reported. */
function restOf({ input, output, total = 0 }: Usage): number {
  if (input !== undefined && output !== undefined) return 0
  return Math.max(0, total - (input ?? 0) - (output ?? 0))
}

/** Splits a number into what is of no kind, and the kinds, which together are never more than it. */
function parts(all: number, first: number, second: number, third: number): [number, number, number, number] {
  const one = Math.min(first, all)
  const two = Math.min(second, all - one)
  const three = Math.min(third, all - one - two)
  return [all - one - two - three, one, two, three]
}

/** Millionths of a USD, rounded up; 0 without a price. */
export function costOf(units: Units, price: Price | undefined): number {
  if (price === undefined || units === NO_UNITS) return 0
  const rates = price.above === undefined ? price : ratesFor(price, price.above, inputOf(units))
  let sum = 0
  for (const unit in units) {
    const one = unit as PriceUnit
    sum += (units[one] ?? 0) * priceOf(rates, one)
  }
  return sum === 0 ? 0 : Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(sum / PRICE_PER_COST))
}

/** All tokens that were read. */
function inputOf({ input = 0, cached = 0, cache_write = 0, input_audio = 0 }: Units): number {
  return input + cached + cache_write + input_audio
}

/** What holds for so many tokens of input. */
function ratesFor(price: Price, steps: NonNullable<Price['above']>, input: number): Rates {
  const step = steps.findLast(({ tokens }) => input > tokens)
  return step === undefined ? price : { ...price, ...step.rates }
}

function priceOf(price: Rates, unit: PriceUnit): number {
  // Names that vary take a look-up each.
  if (unit === 'input') return price.input ?? 0
  if (unit === 'output') return price.output ?? 0
  const own = price[unit]
  if (own !== undefined) return own
  const instead = INSTEAD[unit]
  return instead === undefined ? 0 : (price[instead] ?? 0)
}

/** The most that tokens of either side may cost, each in its dearest unit. */
export function worstCost(input: number, output: number, price: Price | undefined): number {
  if (price === undefined) return 0
  const { above } = price
  if (above === undefined) return worstAt(input, output, price)
  // The input may turn out smaller, and a step may be cheaper.
  const steps = [price, ...above.filter(({ tokens }) => input > tokens).map(({ rates }) => ({ ...price, ...rates }))]
  return Math.max(...steps.map(rates => worstAt(input, output, rates)))
}

function worstAt(input: number, output: number, price: Rates): number {
  const read = Math.max(price.input ?? 0, price.cached ?? 0, price.cache_write ?? 0, price.input_audio ?? 0)
  const written = Math.max(price.output ?? 0, price.reasoning ?? 0, price.output_audio ?? 0)
  return Math.min(Number.MAX_SAFE_INTEGER, Math.ceil((input * read + output * written) / PRICE_PER_COST))
}
